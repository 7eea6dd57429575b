import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { UserError } from '../core/errors.ts'

/**
 * A program of ours that lies next to the bundle. This code is in the bundle itself, in a chunk of it, or not built at
 * all.
 */
export function builtProgram(name: string, what: string): string {
  const places = [`./${name}`, `../${name}`, `../../dist/${name}`]
  const files = places.map(place => fileURLToPath(new URL(place, import.meta.url)))
  const found = files.find(file => existsSync(file))
  if (found !== undefined) return found
  throw new UserError(`${what} was not found`, 'Build it with `npm run build`, or install Ralph again.')
}
