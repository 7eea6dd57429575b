// A file of its own: opencode starts slowly, and waits more than a minute before it gives up on a broken line.
import { opencode } from './clis.ts'
import { takesOutages } from './trouble.ts'

takesOutages(opencode)
