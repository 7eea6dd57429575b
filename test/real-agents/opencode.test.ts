import { opencode } from './clis.ts'
import { worksForReal } from './work.ts'

worksForReal(opencode)
