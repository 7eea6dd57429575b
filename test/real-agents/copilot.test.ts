import { copilot } from './clis.ts'
import { countsFailures, takesOutages } from './trouble.ts'
import { worksForReal } from './work.ts'

worksForReal(copilot)
takesOutages(copilot)
countsFailures(copilot)
