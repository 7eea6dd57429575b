import fs from 'node:fs'
import path from 'node:path'
import { fsPath } from './bytes.ts'
import { type IgnoreRules, judge, parseIgnoreRules } from './ignore-rules.ts'
import type { FileLook, IndexEntry } from './index-file.ts'
import type { ObjectStore } from './object-store.ts'
import { OnlyGitKnows, unlessOnlyGit } from './only-git.ts'
import type { Repository } from './repository-type.ts'
import { inScratch, ownPatterns } from './scope.ts'

/** What is in the private index, by path. */
export type IndexModel = Map<string, IndexEntry>

/** Above this git is quicker than we are. */
export const scanLimit = 1_000

/**
 * What `git ls-files -t -m -d -o --exclude-standard` says, without a process: `R` gone, `C` changed, `?` new. Entries
 * that only look different get their new look. Throws `OnlyGitKnows` when something is out of the ordinary.
 */
export function scanWithoutGit(repository: Repository, model: IndexModel): string[] {
  const { core } = repository.settings
  const usual =
    repository.prefix === '' &&
    core['core.filemode'] !== 'false' &&
    core['core.symlinks'] !== 'false' &&
    (core['core.ignorecase'] ?? 'false') === 'false' &&
    (core['core.precomposeunicode'] ?? 'false') === 'false' &&
    model.size <= scanLimit
  if (!usual) throw new OnlyGitKnows()
  return [...differing(repository, model), ...untracked(repository, model)]
}

/** The content of a file or link as it is stored. Null: gone, a folder or something else. Throws when it is not ours to read. */
export function readContent(
  top: string,
  name: string,
): { body: Buffer; mode: string; look: FileLook | null } | null {
  const file = fsPath(top, name)
  const before = lookOf(file)
  if (!before || before.kind === 'other') return null
  if (before.look.size > largest) throw new OnlyGitKnows()
  const began = BigInt(Date.now()) * 1_000_000n
  try {
    const body = before.kind === 'link' ? fs.readlinkSync(file, { encoding: 'buffer' }) : readRegular(file)
    const after = lookOf(file)
    // Changed lately, it may change again within the same tick of its time stamp and look the same.
    const settled = after !== null && sameLook(before.look, after.look) && after.look.ctimeNs < began - tick
    return { body, mode: before.mode, look: settled ? before.look : null }
  } catch {
    throw new OnlyGitKnows()
  }
}

/** Whether a file looks as it did. */
export function looksAs(top: string, entry: { path: string; mode: string; look: FileLook }): boolean {
  const now = unlessOnlyGit(() => lookOf(fsPath(top, entry.path)))
  return now?.mode === entry.mode && sameLook(now.look, entry.look)
}

const largest = 8 * 1024 * 1024
/** Time stamps of file systems are that coarse at most, and then some. */
const tick = 100_000_000n

type Look = { kind: 'file' | 'link' | 'other'; mode: string; look: FileLook }

function* differing({ top, trees }: Repository, model: IndexModel): Generator<string> {
  for (const entry of model.values()) {
    const now = lookOf(fsPath(top, entry.path))
    if (!now) yield `R ${entry.path}`
    else if (now.mode !== entry.mode) yield `C ${entry.path}`
    else if (entry.look && sameLook(entry.look, now.look)) continue
    else if (!sameContent(trees.objects, top, entry)) yield `C ${entry.path}`
  }
}

/** Also gives the entry its new look when only that is different. */
function sameContent(objects: ObjectStore, top: string, entry: IndexEntry): boolean {
  const content = readContent(top, entry.path)
  if (content?.mode !== entry.mode || objects.idOf('blob', content.body) !== entry.id) return false
  entry.look = content.look
  return true
}

type Layer = { folder: string; rules: IgnoreRules }

function untracked(repository: Repository, model: IndexModel): string[] {
  const patterns = ownPatterns(repository).filter(one => one !== '-x')
  const first = parseIgnoreRules(patterns.join('\n'))
  const last = parseIgnoreRules(repository.settings.excludes)
  const found: string[] = []
  let seen = 0
  const isIgnored = (name: string, isFolder: boolean, layers: Layer[]) => {
    const told = judge(first, name, isFolder)
    if (told !== null) return told
    for (const { folder, rules } of layers) {
      const said = judge(rules, name.slice(folder.length), isFolder)
      if (said !== null) return said
    }
    return judge(last, name, isFolder) ?? false
  }
  const walk = (folder: string, above: Layer[]) => {
    const place = path.join(repository.top, folder)
    const entries = fs.readdirSync(place, { withFileTypes: true })
    seen += entries.length
    if (seen > scanLimit * 2) throw new OnlyGitKnows()
    const rules = entries.find(entry => entry.name === '.gitignore')
    const layers = rules ? [{ folder, rules: readRules(place, rules) }, ...above] : above
    for (const entry of entries) {
      if (entry.name === '.git') {
        if (folder === '') continue
        // A repository within this one.
        throw new OnlyGitKnows()
      }
      if (strange.test(entry.name)) throw new OnlyGitKnows()
      const name = folder + entry.name
      if (entry.isDirectory()) {
        if (!inScratch(repository, name) && !isIgnored(name, true, layers)) walk(`${name}/`, layers)
      } else if (entry.isFile() || entry.isSymbolicLink()) {
        if (!model.has(name) && !isIgnored(name, false, layers)) found.push(`? ${name}`)
      } else if (!entry.isFIFO() && !entry.isSocket() && !entry.isCharacterDevice() && !entry.isBlockDevice())
        throw new OnlyGitKnows()
    }
  }
  try {
    walk('', [])
  } catch (error) {
    // A folder that cannot be read, or that is going away just now.
    throw error instanceof OnlyGitKnows ? error : new OnlyGitKnows()
  }
  return found
}

/** Bytes that are not UTF-8, signs that do not show, and what other systems take for `.git`: git refuses some of them. */
const strange = /\uFFFD|\p{Cf}|^\.git[\s.:]|^git~/iu

function readRules(folder: string, entry: fs.Dirent): IgnoreRules {
  // git does not follow a link here.
  if (!entry.isFile()) throw new OnlyGitKnows()
  return parseIgnoreRules(fs.readFileSync(path.join(folder, entry.name), 'utf8'))
}

function lookOf(file: string | Buffer): Look | null {
  let stat: fs.BigIntStats | undefined
  try {
    stat = fs.lstatSync(file, { bigint: true, throwIfNoEntry: false })
  } catch (error) {
    // A file stands where a folder was.
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return null
    throw new OnlyGitKnows()
  }
  if (!stat) return null
  const kind = stat.isFile() ? 'file' : stat.isSymbolicLink() ? 'link' : 'other'
  const executable = (stat.mode & 0o100n) !== 0n
  return {
    kind,
    mode: kind === 'link' ? '120000' : kind === 'other' ? '' : executable ? '100755' : '100644',
    look: {
      ctimeNs: stat.ctimeNs,
      mtimeNs: stat.mtimeNs,
      ino: Number(BigInt.asUintN(32, stat.ino)),
      uid: Number(BigInt.asUintN(32, stat.uid)),
      gid: Number(BigInt.asUintN(32, stat.gid)),
      size: Number(BigInt.asUintN(32, stat.size)),
    },
  }
}

function sameLook(a: FileLook, b: FileLook): boolean {
  return (
    a.ctimeNs === b.ctimeNs &&
    a.mtimeNs === b.mtimeNs &&
    a.size === b.size &&
    a.ino === b.ino &&
    a.uid === b.uid &&
    a.gid === b.gid
  )
}

/** Never through a link that was put there in the meantime, and never waiting for the other end of a pipe. */
function readRegular(file: string | Buffer): Buffer {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants
  const handle = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    return fs.readFileSync(handle)
  } finally {
    fs.closeSync(handle)
  }
}
