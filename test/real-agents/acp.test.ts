import { acp } from './clis.ts'
import { countsFailures, takesOutages } from './trouble.ts'
import { worksForReal } from './work.ts'

worksForReal(acp)
takesOutages(acp)
countsFailures(acp)
