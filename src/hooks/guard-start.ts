import { join } from 'node:path'
import { runCompiled } from '../compiled-code.ts'

// The guard is one file that can be copied anywhere. Started from here it comes compiled: an agent asks it before every
// tool call. Whatever goes wrong here ends with a code that is no leave to go on.
runCompiled(join(__dirname, 'guard-hook.js'), 'hook')
