import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from './schema.ts'

/**
 * What a configuration was read to, by the bytes of it: the two libraries that read it cost as much as all the rest of a
 * start. It lies where the compiled code lies (see `compiled-code.ts`), so whoever can change it can change the program
 * as well; never in the project, where an agent could loosen its own rules by it.
 */
export function readParsed(text: string): Config | null {
  try {
    return JSON.parse(readFileSync(placeOf(text), 'utf8')) as Config
  } catch {
    return null
  }
}

export function keepParsed(text: string, config: Config): void {
  const place = placeOf(text)
  // Made by the program when it is built into one; the sources have none.
  if (!existsSync(dirname(place))) return
  const json = JSON.stringify(config)
  if (!isDeepStrictEqual(JSON.parse(json), config)) return
  try {
    const draft = `${place}.${process.pid}`
    writeFileSync(draft, json)
    renameSync(draft, place)
    dropOldest(dirname(place))
  } catch {
    // Read-only, or full: it is read again next time.
  }
}

/** Projects that a person works on in turn; all others are read again. */
const most = 50

function dropOldest(folder: string): void {
  const files = readdirSync(folder).filter(name => name.startsWith(prefix))
  if (files.length <= most) return
  const aged = files.map(name => ({ name, at: statSync(join(folder, name)).mtimeMs }))
  aged.sort((a, b) => b.at - a.at)
  for (const { name } of aged.slice(most)) rmSync(join(folder, name), { force: true })
}

const prefix = 'config-'

function placeOf(text: string): string {
  const folder = fileURLToPath(new URL('../cache', import.meta.url))
  return join(folder, `${prefix}${createHash('sha256').update(text).digest('hex')}`)
}
