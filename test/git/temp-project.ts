import { execFileSync } from 'node:child_process'
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** A real repository in a folder of its own, and a home of its own, so that the machine's configuration does not matter. */
export type TempProject = {
  root: string
  /** Runs git as a person or an agent would, with whatever configuration there is. */
  git: (...args: string[]) => string
  /** The same, but a failure is no surprise. */
  tryGit: (...args: string[]) => boolean
  write: (file: string, content: string | Buffer) => void
  read: (file: string) => string
  exists: (file: string) => boolean
  remove: (file: string) => void
}

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'ralph-home-'))
const folders = [home]

for (const name of Object.keys(process.env)) if (name.startsWith('GIT_')) delete process.env[name]
Object.assign(process.env, {
  HOME: home,
  XDG_CONFIG_HOME: path.join(home, '.config'),
  GIT_CONFIG_GLOBAL: path.join(home, '.gitconfig'),
  GIT_CONFIG_NOSYSTEM: '1',
})
resetUserConfig()

/** The user's global configuration; `extra` is appended. */
export function resetUserConfig(extra = ''): void {
  const text =
    '[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n'
  fs.writeFileSync(path.join(home, '.gitconfig'), text + extra)
}

export function userHome(): string {
  return home
}

/** A repository with one commit that holds `files`. */
export function tempProject(files: Record<string, string> = { 'a.txt': 'one\n' }): TempProject {
  const project = projectAt(tempFolder())
  project.git('init', '-q', '--template=')
  for (const [file, content] of Object.entries(files)) project.write(file, content)
  project.git('add', '-A')
  project.git('commit', '-q', '--allow-empty', '-m', 'Start')
  return project
}

export function projectAt(root: string): TempProject {
  const git = (...args: string[]) =>
    execFileSync('git', args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 1 << 26,
    })
  return {
    root,
    git,
    tryGit: (...args) => {
      try {
        git(...args)
        return true
      } catch {
        return false
      }
    },
    write: (file, content) => {
      fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
      fs.writeFileSync(path.join(root, file), content)
    },
    read: file => fs.readFileSync(path.join(root, file), 'utf8'),
    exists: file => fs.lstatSync(path.join(root, file), { throwIfNoEntry: false }) !== undefined,
    remove: file => fs.rmSync(path.join(root, file), { recursive: true, force: true }),
  }
}

export function tempFolder(): string {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'ralph-git-')))
  folders.push(folder)
  return folder
}

/** For `afterAll`. */
export function removeTempFolders(): void {
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true })
}

/** Every file with type, execute bit and content; `.git` and `.ralph` left out. */
export function files(root: string, folder = ''): Record<string, string> {
  const found: Record<string, string> = {}
  for (const entry of fs.readdirSync(path.join(root, folder), { withFileTypes: true })) {
    const name = path.posix.join(folder, entry.name)
    if (name === '.git' || name === '.ralph') continue
    const place = path.join(root, name)
    if (entry.isSymbolicLink()) found[name] = `link ${fs.readlinkSync(place)}`
    else if (entry.isDirectory()) Object.assign(found, files(root, name))
    else if (entry.isFile())
      found[name] = `${isExecutable(place) ? 'x' : '-'} ${sha1(fs.readFileSync(place))}`
    else found[name] = 'other'
  }
  return found
}

/** A copy, so that a setting that takes many calls is made once. */
export function copyProject(project: TempProject): TempProject {
  const root = tempFolder()
  fs.cpSync(project.root, root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
  return projectAt(root)
}

/** Everything about a repository that is the user's, as git itself tells it. */
export function repositoryState(project: TempProject): Record<string, string> {
  return {
    files: JSON.stringify(files(project.root), null, 1),
    status: project.git('status', '--porcelain=v2', '-z', '--branch'),
    staged: project.git('diff', '--cached', '--binary'),
    index: project.git('ls-files', '-s', '-z'),
    refs: project.git(
      'for-each-ref',
      '--format=%(objectname) %(refname)',
      'refs/heads',
      'refs/tags',
      'refs/stash',
      'refs/notes',
    ),
    stash: project.git('stash', 'list', '--format=%H %gs'),
  }
}

function isExecutable(file: string): boolean {
  return (fs.statSync(file).mode & 0o100) !== 0
}

function sha1(bytes: Buffer): string {
  return crypto.createHash('sha1').update(bytes).digest('hex')
}
