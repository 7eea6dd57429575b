import { codex } from './clis.ts'
import { countsFailures, takesOutages } from './trouble.ts'
import { worksForReal } from './work.ts'

worksForReal(codex)
takesOutages(codex)
countsFailures(codex)
