import { gemini } from './clis.ts'
import { countsFailures, takesOutages } from './trouble.ts'
import { worksForReal } from './work.ts'

worksForReal(gemini)
takesOutages(gemini)
countsFailures(gemini)
