import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import type { TestProject } from './ralph.ts'

/** A PATH with every program of this machine but these. */
export function pathWithout(project: TestProject, names: readonly string[]): string {
  const folder = path.join(project.home, 'bin-without')
  mkdirSync(folder)
  const taken = new Set(names)
  for (const from of [path.dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin']) {
    for (const name of readdirSync(from)) {
      if (taken.has(name)) continue
      taken.add(name)
      symlinkSync(path.join(from, name), path.join(folder, name))
    }
  }
  return folder
}
