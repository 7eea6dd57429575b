import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { tempFolder } from './temp-project.ts'

/** The commands that git is called with while `work` runs, seen by a program of the same name that stands before it. */
export async function gitCalls(work: () => Promise<unknown>): Promise<string[]> {
  const folder = tempFolder()
  const log = path.join(folder, 'calls')
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  fs.writeFileSync(path.join(folder, 'git'), `#!/bin/sh\necho "$1" >> '${log}'\nexec '${real}' "$@"\n`, {
    mode: 0o755,
  })
  const before = process.env.PATH
  process.env.PATH = `${folder}${path.delimiter}${before}`
  try {
    await work()
  } finally {
    process.env.PATH = before
  }
  return fs.existsSync(log) ? fs.readFileSync(log, 'utf8').trim().split('\n').sort() : []
}
