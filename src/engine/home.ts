import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../store/atomic-file.ts'
import { openStore, type Store } from '../store/sqlite.ts'
import { StoreError } from '../store/store-error.ts'

/** The engine's folder in a project; never committed, whatever the project's own ignore rules say. */
export function ralphHome(root: string): string {
  return join(root, '.ralph')
}

export function makeHome(root: string): string {
  const home = ralphHome(root)
  makeFolder(home)
  const ignore = join(home, '.gitignore')
  // An empty one is what a full disk or a kill in the middle of the first write left.
  if (!statSync(ignore, { throwIfNoEntry: false })?.size) writeFileSync(ignore, '*\n')
  return home
}

export async function openProjectStore(root: string): Promise<Store> {
  const home = makeHome(root)
  const path = join(home, 'ralph.db')
  // An empty file would be taken for a new journal; where steps have run, it is what is left of one.
  if (statSync(path, { throwIfNoEntry: false })?.size === 0 && hasSteps(home) && !existsSync(`${path}-wal`))
    throw new StoreError('corrupt', path, 'it is empty')
  return openStore(path)
}

function hasSteps(home: string): boolean {
  return existsSync(join(home, 'runs')) && readdirSync(join(home, 'runs')).length > 0
}
