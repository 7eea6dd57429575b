// The sync of `docker sandbox`, as the seed found it: what is written in there comes out; what is new outside goes in; a
// file that is in there already is never overwritten from outside, until the sandbox is started anew.
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'

export function snapshot(folder, workspaces) {
  rmSync(path.join(folder, 'files'), { recursive: true, force: true })
  for (const workspace of workspaces) copy(workspace, within(folder, workspace))
  remember(folder, workspaces)
}

export function pull(folder, workspaces) {
  const known = manifest(folder)
  for (const workspace of workspaces)
    for (const file of walk(workspace)) {
      const inside = path.join(within(folder, workspace), file)
      if (!known[path.join(workspace, file)] && !lstatSync(inside, { throwIfNoEntry: false }))
        copy(path.join(workspace, file), inside)
    }
  remember(folder, workspaces)
}

export function push(folder, workspaces) {
  const known = manifest(folder)
  for (const workspace of workspaces) {
    const inside = within(folder, workspace)
    const now = new Map(
      walk(inside).map(file => [path.join(workspace, file), print(path.join(inside, file))]),
    )
    for (const [file, hash] of now)
      if (known[file] !== hash) copy(path.join(inside, path.relative(workspace, file)), file)
    for (const file of Object.keys(known))
      if (isBelow(file, workspace) && !now.has(file)) rmSync(file, { force: true })
  }
  remember(folder, workspaces)
}

function remember(folder, workspaces) {
  const all = {}
  for (const workspace of workspaces)
    for (const file of walk(within(folder, workspace)))
      all[path.join(workspace, file)] = print(path.join(within(folder, workspace), file))
  writeFileSync(path.join(folder, 'manifest.json'), JSON.stringify(all))
}

function manifest(folder) {
  return JSON.parse(readFileSync(path.join(folder, 'manifest.json'), 'utf8'))
}

function within(folder, workspace) {
  return path.join(folder, 'files', workspace)
}

function isBelow(file, folder) {
  return file.startsWith(`${folder}/`)
}

function walk(folder, prefix = '') {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const name = path.join(prefix, entry.name)
    if (entry.isDirectory()) return walk(path.join(folder, entry.name), name)
    return entry.isFile() || entry.isSymbolicLink() ? [name] : []
  })
}

function print(file) {
  const { mode } = lstatSync(file)
  const content = lstatSync(file).isSymbolicLink() ? readlinkSync(file) : readFileSync(file)
  return `${mode & 0o777}:${createHash('sha1').update(content).digest('hex')}`
}

function copy(from, to) {
  if (!existsSync(from)) return
  mkdirSync(path.dirname(to), { recursive: true })
  rmSync(to, { recursive: true, force: true })
  cpSync(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
}
