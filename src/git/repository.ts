import fs from 'node:fs'
import path from 'node:path'
import { UserError } from '../core/errors.ts'
import { git, gitEnvironment } from './git.ts'
import { openObjectStore } from './object-store.ts'
import { createPackReader } from './pack-reader.ts'
import { prepareScratch, rawDir } from './private-dir.ts'
import type { Repository } from './repository-type.ts'
import { createRunner } from './runner.ts'
import { readConfiguration, settingsFrom } from './settings.ts'
import { openTrees } from './tree-object.ts'

export type OpenOptions = {
  /** Default: `.ralph` in the project. */
  scratch?: string
  own?: string[]
  /** Many calls are to come: start them through a helper. */
  busy?: boolean
  /** Recovery opens a repository in whatever state an interrupted agent left it. */
  recovering?: boolean
  /** What was asked of git ahead of time. */
  discovered?: Discovery
}

/** What git says about a folder; nothing is changed by asking. */
export type Discovery = Promise<{
  root: string
  version: string
  found: Found
  tree: string
  configuration: [string, string][]
}>

/** Three git processes side by side, which may run while the caller does something else. */
export function discoverRepository(folder: string): Discovery {
  const discovery = ask(folder)
  // Whoever opens the repository is told what is wrong.
  discovery.catch(() => undefined)
  return discovery
}

async function ask(folder: string): Discovery {
  if (!fs.existsSync(folder))
    throw new UserError(`${folder} does not exist.`, 'Name an existing folder with -C.', 2)
  const root = fs.realpathSync(folder)
  const [version, { found, tree }, configuration] = await Promise.all([
    git({ cwd: root }, ['version']),
    discover(root),
    readConfiguration({ cwd: root }),
  ])
  return { root, version: version.stdout, found, tree, configuration }
}

export async function openRepository(folder: string, options: OpenOptions = {}): Promise<Repository> {
  const discovered = await (options.discovered ?? discoverRepository(folder))
  const { root, version, found, tree, configuration } = discovered
  checkVersion(version)
  if (found.head === '' && !options.recovering) throw noCommitYet(found.top)
  const scratch = path.resolve(root, options.scratch ?? '.ralph')
  const repository: Repository = {
    root,
    ...found,
    scratch,
    own: options.own ?? [],
    runner: options.busy ? createRunner(gitEnvironment(found.top, false)) : null,
    settings: settingsFrom(configuration, found.commonDir),
    trees: openTrees(
      openObjectStore({
        folder: path.join(found.commonDir, 'objects'),
        objectFormat: found.objectFormat,
        packs: options.busy ? createPackReader(() => rawDir(repository)) : async () => null,
      }),
    ),
    cache: {
      tree: null,
      indexIdentity: null,
      userIndex: null,
      forced: null,
      model: null,
      trackedNames: null,
      commitIndex: null,
      headTrees: new Map(found.head === '' ? [] : [[found.head, tree]]),
      memo: new Map(),
      starts: new Map(),
      queue: Promise.resolve(),
    },
  }
  const unfinished = unfinishedOperation(repository)
  if (unfinished && !options.recovering) {
    throw new UserError(
      `A ${unfinished} is in progress in ${found.top}.`,
      `Finish it or end it (\`git ${unfinished} ${unfinished === 'bisect' ? 'reset' : '--abort'}\`), then run Ralph again.`,
    )
  }
  prepareScratch(repository)
  // Left by an engine that was killed; only one engine works in a worktree.
  for (const name of ['index.lock', 'commit-index.lock'])
    fs.rmSync(path.join(repository.scratch, 'git', name), { force: true })
  return repository
}

/** One call after the other: they share the private index. */
export async function exclusively<T>(repository: Repository, work: () => Promise<T>): Promise<T> {
  const mine = repository.cache.queue.then(work)
  repository.cache.queue = mine.catch(() => undefined)
  return mine
}

/** Asks once for what cannot change. */
export async function remembered<T>(repository: Repository, key: string, ask: () => Promise<T>): Promise<T> {
  const { memo } = repository.cache
  const known = memo.get(key) as Promise<T> | undefined
  if (known) return known
  const answer = ask()
  memo.set(key, answer)
  answer.catch(() => memo.delete(key))
  const [oldest] = memo.keys()
  if (memo.size > 16 && oldest !== undefined) memo.delete(oldest)
  return answer
}

/** The operation that waits to be finished, by the name of its command. */
export function unfinishedOperation(repository: Pick<Repository, 'gitDir'>): string | null {
  const marks: [string, string][] = [
    ['rebase-merge', 'rebase'],
    ['rebase-apply', 'rebase'],
    ['MERGE_HEAD', 'merge'],
    ['CHERRY_PICK_HEAD', 'cherry-pick'],
    ['REVERT_HEAD', 'revert'],
    ['BISECT_LOG', 'bisect'],
  ]
  return marks.find(([mark]) => fs.existsSync(path.join(repository.gitDir, mark)))?.[1] ?? null
}

type Found = Pick<Repository, 'top' | 'prefix' | 'gitDir' | 'commonDir' | 'objectFormat' | 'head' | 'branch'>

async function discover(root: string): Promise<{ found: Found; tree: string }> {
  const result = await git(
    { cwd: root },
    [
      'rev-parse',
      '--path-format=absolute',
      '--is-bare-repository',
      '--is-inside-work-tree',
      '--show-object-format',
      '--absolute-git-dir',
      '--git-common-dir',
      '--show-prefix',
      '--show-toplevel',
      'HEAD^{commit}',
      'HEAD^{tree}',
      '--symbolic-full-name',
      'HEAD',
    ],
    // `safe.directory` is the user's own word on foreign folders.
    { userConfig: true },
  )
  const [
    bare,
    inside,
    objectFormat = 'sha1',
    gitDir = '',
    commonDir = '',
    prefix = '',
    top = '',
    head = '',
    tree = '',
    name = '',
  ] = result.stdout.split('\n')
  if (bare === undefined || bare === '') throw notARepository(root, result.stderr)
  if (bare === 'true')
    throw new UserError(
      `${root} is a bare repository: it has no files.`,
      'Run Ralph in a clone or a worktree of it.',
    )
  if (inside !== 'true')
    throw new UserError(`${root} lies inside a .git folder.`, 'Run Ralph in the project folder.')
  const born = /^[0-9a-f]{40,}$/u.test(head)
  const found = {
    top,
    prefix,
    gitDir,
    commonDir,
    objectFormat,
    head: born ? head : '',
    branch: name.startsWith('refs/heads/') ? name.slice('refs/heads/'.length) : null,
  }
  return { found, tree }
}

function noCommitYet(top: string): UserError {
  return new UserError(
    `The repository ${top} has no commit yet.`,
    'Make one: git add -A && git commit -m "Start"',
  )
}

function notARepository(root: string, stderr: string): UserError {
  if (stderr.includes('dubious ownership')) {
    return new UserError(
      `${root} belongs to another user.`,
      `git config --global --add safe.directory '${root}'`,
    )
  }
  if (stderr.includes('not a git repository')) {
    return new UserError(
      `${root} is not a git repository.`,
      'git init && git add -A && git commit -m "Start"',
    )
  }
  return new UserError(
    `git cannot open ${root}: ${stderr.trim().split('\n')[0]}`,
    'See what `git status` says there.',
  )
}

function checkVersion(text: string): void {
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/u.exec(text) ?? []).map(Number)
  if (major > 2 || (major === 2 && minor >= 32)) return
  throw new UserError(
    `This git is too old: ${text.trim() || 'version unknown'}.`,
    'Install git 2.32 or newer.',
  )
}
