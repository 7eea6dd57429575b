import { claude } from './clis.ts'
import { countsFailures, takesOutages } from './trouble.ts'
import { worksForReal } from './work.ts'

worksForReal(claude)
takesOutages(claude)
countsFailures(claude)
