#!/usr/bin/env node
import { keepCompiled } from './compiled-code.ts'

// Before anything else is loaded, so that all of it comes compiled.
keepCompiled(__dirname, process.argv[2])

// Node leaves with 0 when nothing is left to wait for, finished or not; 0 must mean that all is done.
let finished = false
process.once('exit', code => {
  if (finished || code !== 0) return
  process.stderr.write('ralph: internal error: it ended in the middle of its work\n')
  process.exitCode = 1
})

void import('./main.ts')
  .then(({ main }) => main())
  .then(() => {
    finished = true
  })
