import { lstatSync, readdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../config/settings.ts'
import { errorText, UserError } from '../core/errors.ts'
import { ago, plural } from '../core/text.ts'
import { sandboxFor } from '../engine/box.ts'
import { verifyCommands } from '../engine/prepare.ts'
import { missingText } from '../sandbox/registry.ts'
import { isSound } from '../store/check.ts'
import { inspectDatabase } from '../store/doctor.ts'
import { chooseDriver } from '../store/driver.ts'
import { gitFacts, toleratedFiles } from './git-facts.ts'
import { engineNow, journalPath, openForLooking, withStore } from './look.ts'

/** One line of `ralph doctor`. */
export type Check = { name: string; state: 'ok' | 'warning' | 'problem'; text: string; fix: string }

export const ok = (name: string, text: string): Check => ({ name, state: 'ok', text, fix: '' })
export const warning = (name: string, text: string, fix = ''): Check => ({
  name,
  state: 'warning',
  text,
  fix,
})
export const problem = (name: string, text: string, fix: string): Check => ({
  name,
  state: 'problem',
  text,
  fix,
})

export function nodeCheck(): Check {
  try {
    const driver = chooseDriver()
    return ok('node', `${process.versions.node}, journal by ${driver === 'node' ? 'node:sqlite' : 'libsql'}`)
  } catch (error) {
    return problem(
      'node',
      `${process.versions.node}: ${errorText(error)}`,
      error instanceof UserError ? error.fix : 'Install Ralph again.',
    )
  }
}

export async function gitChecks(root: string, settings: Settings | null): Promise<Check[]> {
  const {
    version,
    problem: trouble,
    branch,
    dirty,
  } = await gitFacts(root, settings ? await toleratedFiles(root, settings) : [])
  if (trouble) return [problem('git', `${version ? `${version}, ` : ''}${trouble.message}`, trouble.fix)]
  const where = branch ? `on ${branch}` : 'no branch is checked out'
  if (dirty.length === 0) return [ok('git', `${version}, ${where}, nothing uncommitted`)]
  const files = dirty.slice(0, 3).join(', ') + (dirty.length > 3 ? `, and ${dirty.length - 3} more` : '')
  return [
    warning(
      'git',
      `${version}, ${where}, uncommitted changes in ${plural(dirty.length, 'tracked file')}: ${files}`,
      'Commit them, or run with --worktree <name> or --in-place; otherwise `ralph run` refuses.',
    ),
  ]
}

export function verifyCheck(root: string, settings: Settings): Check {
  try {
    const { commands, detected } = verifyCommands(settings, root)
    if (commands === 'none')
      return warning(
        'verify',
        'none: tasks end as done, unverified',
        'Name a command that proves the work in ralph.config.yaml.',
      )
    return ok('verify', `${commands.join(', ')}${detected ? ` (${detected})` : ''}`)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return problem('verify', error.message, error.fix)
  }
}

/** Each provider is tried for real, whatever is configured; what counts is whether a run would go on. */
export async function sandboxCheck(root: string, settings: Settings): Promise<Check> {
  const exposed =
    'the agent has your rights: it can read your home folder and your keys, use the network, and change any file that you can'
  const { use } = settings.sandbox
  try {
    const { sandbox, version, missing } = await sandboxFor(root, settings, process.env)
    if (sandbox) return ok('sandbox', `${sandbox.name}${version ? ` ${version}` : ''}, seen to work`)
    const why = use === 'none' ? '' : ` (${missingText(missing)})`
    return warning(
      'sandbox',
      `direct mode${why}: ${exposed}. Guarded are the journal, the specs, the gates, your branches and uncommitted work (what an agent does to them is undone).`,
      missing.map(one => one.fix).find(Boolean) ??
        'Set `sandbox: auto`, or run Ralph inside a container or a virtual machine of your own.',
    )
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return problem('sandbox', error.message, error.fix)
  }
}

/** Is the file sound, are the events as they were written, are the folds what they amount to? */
export function journalCheck(root: string): Check {
  const inspection = inspectDatabase(journalPath(root))
  const mend =
    'Save what can be saved: ralph doctor --salvage saved.db, then put saved.db in the place of .ralph/ralph.db.'
  const moveAway = 'Move it away; the preset’s own files are enough to go on with `ralph run`.'
  switch (inspection.type) {
    case 'missing':
      return ok('journal', 'none yet; the first `ralph run` makes it')
    case 'unreadable':
      return problem('journal', `.ralph/ralph.db cannot be read: ${inspection.problem}`, moveAway)
    case 'readable': {
      if (isSound(inspection))
        return ok(
          'journal',
          `${plural(inspection.events, 'event')}, whole, and the states are what they amount to`,
        )
      const { damage, events, unusable, lost, differing } = inspection
      const found = [
        damage[0] ? `damaged (${damage[0]})` : '',
        lost > 0 ? `${plural(lost, 'row')} lost` : '',
        unusable.length > 0
          ? `${plural(unusable.length, 'event')} not as written (first: ${unusable[0]?.stream} ${unusable[0]?.seq}: ${unusable[0]?.why})`
          : '',
        differing.length > 0 ? `not what the events amount to: ${differing.slice(0, 5).join(', ')}` : '',
      ]
      const anything = events > unusable.length
      return problem('journal', found.filter(Boolean).join('; '), anything ? mend : moveAway)
    }
    default:
      return inspection satisfies never
  }
}

/** Only on a sound journal: a damaged one may not open. */
export async function leaseCheck(root: string): Promise<Check> {
  const store = await openForLooking(root)
  if (!store) return ok('engine', 'none is running')
  return withStore(store, async ({ dispatch }) => {
    const now = Date.now()
    const engine = await engineNow(dispatch, now)
    if (!engine) return ok('engine', 'none is running')
    const { what, pid, since } = engine.holder
    if (engine.alive) return ok('engine', `${what} (pid ${pid}) has been working for ${ago(now - since)}`)
    return warning(
      'engine',
      `${what} (pid ${pid}) is gone and left its lease`,
      'Nothing to do: the next `ralph run` takes over at once.',
    )
  })
}

export function spaceCheck(root: string): Check {
  const home = join(root, '.ralph')
  const size = sizeOf(home)
  const { bavail, bsize } = statfsSync(root)
  const free = bavail * bsize
  const text = `${bytes(size)} in .ralph/, ${bytes(free)} free`
  if (free < 100 * 1024 * 1024) return problem('space', text, 'Free some disk space before a run.')
  if (size > 5 * 1024 ** 3)
    return warning(
      'space',
      text,
      'Old folders under .ralph/runs/ may be deleted; the journal does not need them.',
    )
  return ok('space', text)
}

function sizeOf(path: string): number {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat?.isDirectory()) return stat?.size ?? 0
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}

function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const power = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(count) / 10))
  return `${(count / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`
}
