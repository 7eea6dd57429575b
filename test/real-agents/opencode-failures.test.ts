import { opencode } from './clis.ts'
import { countsFailures } from './trouble.ts'

countsFailures(opencode)
