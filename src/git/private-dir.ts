import fs from 'node:fs'
import path from 'node:path'
import type { Place } from './git.ts'
import type { Repository } from './repository-type.ts'

/**
 * Everything that reads or writes working files runs in git directories of our own, which share only the objects with
 * the user's repository. So nothing an agent wrote into `.git/config`, `.git/info` or a hook is ever looked at, and
 * attributes of `.gitattributes` cannot name a program: the programs are defined in configuration alone.
 *
 * `raw`: no conversion at all, what is stored is what lies in the folder, byte for byte. For snapshots and for putting back.
 * `plain`: line ends, encodings and `$Id$` as the user's attributes say, so that commits look like his. No filters.
 *
 * Each is looked through whenever a call of git is about to use it, and only then: most iterations need none.
 */
export function rawDir(repository: Repository): Place {
  return place(repository, 'raw', privateIndex(repository))
}

export function plainDir(repository: Repository): Place {
  return place(repository, 'plain', commitIndex(repository))
}

/**
 * The user's own index, but in our directory: whoever writes an index compares files that changed in the second they
 * were staged, and would run filters for that.
 */
export function userIndexDir(repository: Repository): Place {
  return place(repository, 'plain', path.join(repository.gitDir, 'index'))
}

/** The user's git directory: references and worktrees, and to look into his index. Nothing that reads or writes files. */
export function realDir(repository: Repository): Place {
  return {
    ...helped(repository),
    cwd: repository.top,
    env: { GIT_DIR: repository.gitDir, GIT_WORK_TREE: repository.top },
  }
}

export function privateIndex(repository: Repository): string {
  return path.join(repository.scratch, 'git', 'index')
}

export function commitIndex(repository: Repository): string {
  return path.join(repository.scratch, 'git', 'commit-index')
}

/** The ignore rules as they were when the repository was opened, whatever became of `.git/info/exclude`. */
export function excludeFile(repository: Repository): string {
  return path.join(prepare(repository, 'raw'), 'info/exclude')
}

/** Where our own index lies. Asked for before it is written: through a link that somebody planted we would write elsewhere. */
export function prepareScratch(repository: Repository): void {
  const above = path.join(repository.scratch, 'git')
  const there = fs.lstatSync(above, { throwIfNoEntry: false })
  if (there?.isDirectory()) return
  if (there) fs.rmSync(above, { force: true })
  fs.mkdirSync(above, { recursive: true })
}

/** Writes a directory, or writes it again when somebody has changed it. */
function prepare(repository: Repository, kind: 'raw' | 'plain'): string {
  prepareScratch(repository)
  const folder = path.join(repository.scratch, 'git', kind)
  const files = contents(repository, kind)
  if (isIntact(folder, files)) return folder
  fs.rmSync(folder, { recursive: true, force: true })
  for (const name of ['info', 'refs', 'objects']) fs.mkdirSync(path.join(folder, name), { recursive: true })
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text)
  return folder
}

function helped({ runner }: Repository): Pick<Place, 'runner'> {
  return runner ? { runner } : {}
}

function place(repository: Repository, kind: 'raw' | 'plain', index: string): Place {
  return {
    ...helped(repository),
    cwd: repository.top,
    env: {
      GIT_DIR: prepare(repository, kind),
      GIT_WORK_TREE: repository.top,
      GIT_OBJECT_DIRECTORY: path.join(repository.commonDir, 'objects'),
      GIT_INDEX_FILE: index,
    },
  }
}

function contents(repository: Repository, kind: 'raw' | 'plain'): Record<string, string> {
  const { settings } = repository
  const core = Object.entries(settings.core)
    .filter(([key]) => kind === 'plain' || !conversions.includes(key))
    .map(([key, value]) => `\t${key.replace('core.', '')} = ${quoted(value)}\n`)
    .join('')
  const attributesFile = kind === 'plain' ? settings.attributesFile : '/dev/null'
  const files: Record<string, string> = {
    HEAD: 'ref: refs/heads/none\n',
    config:
      `[core]\n\trepositoryformatversion = 1\n\tbare = false\n\texcludesFile = /dev/null\n` +
      `\tattributesFile = ${quoted(attributesFile)}\n${core}[extensions]\n\tobjectFormat = ${repository.objectFormat}\n`,
    'info/attributes':
      kind === 'plain' ? settings.attributes : '* -text !eol -filter -ident !working-tree-encoding !diff\n',
    'info/exclude': settings.excludes,
  }
  const shallow = path.join(repository.commonDir, 'shallow')
  if (fs.existsSync(shallow)) files.shallow = fs.readFileSync(shallow, 'utf8')
  return files
}

const conversions = ['core.autocrlf', 'core.eol']

function quoted(value: string): string {
  return `"${value.replace(/["\\]/gu, '\\$&').replace(/\n/gu, '\\n')}"`
}

function isIntact(folder: string, files: Record<string, string>): boolean {
  try {
    const expected = [...Object.keys(files), 'info', 'objects', 'refs'].sort()
    const found = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
    return (
      expected.length === found.length &&
      expected.every((name, index) => name === found[index]) &&
      Object.entries(files).every(([name, text]) => fs.readFileSync(path.join(folder, name), 'utf8') === text)
    )
  } catch {
    return false
  }
}
