import fs from 'node:fs'
import path from 'node:path'
import type { Repository } from './repository-type.ts'

/** Where HEAD and the references stand, as they are listed. */
export type RefList = {
  /** Empty when the branch has no commit. */
  head: string
  branch: string | null
  refs: Map<string, string>
  /** Those that other worktrees have checked out. */
  elsewhere: Set<string>
}

/**
 * Reads the references from their files, as git does it. Null when git must be asked: they are kept otherwise
 * (reftable), one names another, or something is not as git writes it.
 */
export function readRefFiles(repository: Repository, namespaces: string[]): RefList | null {
  const { commonDir, gitDir } = repository
  if (fs.existsSync(path.join(commonDir, 'reftable'))) return null
  try {
    const refs = new Map<string, string>()
    const wanted = (name: string) => namespaces.some(start => name === start || name.startsWith(`${start}/`))
    for (const [name, id] of packedRefs(path.join(commonDir, 'packed-refs')))
      if (wanted(name)) refs.set(name, id)
    for (const name of namespaces) collect(commonDir, name, refs)
    const sorted = new Map([...refs].sort(([a], [b]) => (a < b ? -1 : 1)))
    const here = headOf(gitDir)
    const named = here.ref === null ? here.id : (refs.get(here.ref) ?? '')
    const branch = here.ref?.startsWith('refs/heads/') ? here.ref.slice('refs/heads/'.length) : null
    // HEAD names something that is no branch.
    if (here.ref !== null && branch === null) return null
    return { head: named, branch, refs: sorted, elsewhere: checkedOutElsewhere(repository, here.ref) }
  } catch (error) {
    if (error instanceof Unusual || isFileError(error)) return null
    throw error
  }
}

/** Something git must see to. */
class Unusual extends Error {}

const id = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/u
/** Names without anything that has a meaning in git's rules for them; git judges the others. */
const plainName = /^[\p{L}\p{N}_@+=,#%&()!$;-][\p{L}\p{N}._@+=,#%&()!$;-]*$/u

function collect(commonDir: string, name: string, refs: Map<string, string>): void {
  const file = path.join(commonDir, name)
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (!stat) return
  if (stat.isFile()) refs.set(name, idIn(file))
  else if (!stat.isDirectory()) throw new Unusual()
  else collectFolder(commonDir, name, refs)
}

function collectFolder(commonDir: string, folder: string, refs: Map<string, string>): void {
  for (const entry of fs.readdirSync(path.join(commonDir, folder), { withFileTypes: true })) {
    if (entry.name.endsWith('.lock')) continue
    if (!plainName.test(entry.name) || entry.name.includes('..') || entry.name.endsWith('.'))
      throw new Unusual()
    const name = `${folder}/${entry.name}`
    if (entry.isDirectory()) collectFolder(commonDir, name, refs)
    else if (entry.isFile()) refs.set(name, idIn(path.join(commonDir, name)))
    else throw new Unusual()
  }
}

function idIn(file: string): string {
  const text = fs.readFileSync(file, 'latin1').trimEnd()
  if (!id.test(text) || /^0+$/u.test(text)) throw new Unusual()
  return text
}

function packedRefs(file: string): [string, string][] {
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#') && !line.startsWith('^'))
  return lines.map(line => {
    const cut = line.indexOf(' ')
    if (!id.test(line.slice(0, cut)) || line.includes('\uFFFD')) throw new Unusual()
    return [line.slice(cut + 1), line.slice(0, cut)]
  })
}

function headOf(folder: string): { ref: string | null; id: string } {
  const file = path.join(folder, 'HEAD')
  if (!fs.lstatSync(file).isFile()) throw new Unusual()
  const text = fs.readFileSync(file, 'utf8').trimEnd()
  if (id.test(text)) return { ref: null, id: text }
  const [, ref] = /^ref: (refs\/\S+)$/u.exec(text) ?? []
  if (ref === undefined || ref.includes('\uFFFD')) throw new Unusual()
  return { ref, id: '' }
}

function checkedOutElsewhere(repository: Repository, here: string | null): Set<string> {
  const { commonDir, gitDir } = repository
  const folder = path.join(commonDir, 'worktrees')
  if (!fs.existsSync(folder)) return new Set()
  const linked = fs.readdirSync(folder).map(name => path.join(folder, name))
  const found = [commonDir, ...linked]
    .filter(one => one !== gitDir && (one === commonDir || fs.existsSync(path.join(one, 'gitdir'))))
    .flatMap(one => headOf(one).ref ?? [])
  return new Set(found.filter(name => name !== here))
}

function isFileError(error: unknown): boolean {
  return error instanceof Error && 'code' in error
}
