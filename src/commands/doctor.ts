import { resolve } from 'node:path'
import { UserError } from '../core/errors.ts'
import { plural } from '../core/text.ts'
import type { Style } from '../reporters/style.ts'
import { agentChecks } from './doctor-agents.ts'
import {
  type Check,
  gitChecks,
  journalCheck,
  leaseCheck,
  nodeCheck,
  sandboxCheck,
  spaceCheck,
  verifyCheck,
} from './doctor-checks.ts'
import { journalPath } from './look.ts'
import { type ProjectOption, projectRoot, projectSettings } from './project.ts'
import { printJson, terminal } from './terminal.ts'

export type DoctorOptions = ProjectOption & { salvage?: string; json?: boolean }

/** `ralph doctor`: what works here, what does not, how to mend it. Exit code 1 when something does not. */
export async function doctor(options: DoctorOptions): Promise<void> {
  const root = projectRoot(options)
  if (options.salvage !== undefined) return saveJournal(root, options.salvage, options.json === true)
  const screen = terminal()
  const checks = await patiently(
    () => screen.err('Starting the agents as a run would; this takes some seconds …\n'),
    () => examine(root),
  )
  const healthy = checks.every(check => check.state !== 'problem')
  if (options.json) printJson({ ok: healthy, checks })
  else screen.out(checksText(checks, screen.style))
  if (!healthy) process.exitCode = 1
}

async function examine(root: string): Promise<Check[]> {
  const { settings, check: config } = await configCheck(root)
  const journal = journalCheck(root)
  return [
    nodeCheck(),
    ...(await gitChecks(root, settings)),
    config,
    ...(settings
      ? [
          ...(await agentChecks(root, settings)),
          verifyCheck(root, settings),
          await sandboxCheck(root, settings),
        ]
      : []),
    journal,
    ...(journal.state === 'ok' ? [await leaseCheck(root)] : []),
    spaceCheck(root),
  ]
}

/** Says something when the work takes more than a second. */
async function patiently<T>(say: () => void, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(say, 1000)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}

async function configCheck(root: string) {
  try {
    const settings = await projectSettings(root)
    return {
      settings,
      check: {
        name: 'config',
        state: 'ok',
        text: `preset ${settings.workflow.name}`,
        fix: '',
      } satisfies Check,
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const text = error.message.split('\n').join('; ')
    return {
      settings: null,
      check: { name: 'config', state: 'problem', text, fix: error.fix } satisfies Check,
    }
  }
}

export function checksText(checks: Check[], style: Style): string {
  const marks = { ok: style.green('✓'), warning: style.yellow('!'), problem: style.red('✗') }
  const width = Math.max(...checks.map(check => check.name.length))
  const lines = checks.flatMap(({ name, state, text, fix }) => [
    `${marks[state]} ${name.padEnd(width)}  ${text}`,
    ...(fix ? [`  ${' '.repeat(width)}  → ${fix}`] : []),
  ])
  const bad = checks.filter(check => check.state === 'problem').length
  lines.push(bad === 0 ? 'Ready to run.' : `${plural(bad, 'problem')} to mend before a run.`)
  return `${lines.join('\n')}\n`
}

/** `--salvage`: copies what can be believed of a damaged journal into a new file. */
async function saveJournal(root: string, to: string, json: boolean): Promise<void> {
  const { salvage } = await import('../store/doctor.ts')
  const saved = await salvage(journalPath(root), resolve(to))
  if (json) return printJson({ file: to, ...saved })
  const { out } = terminal()
  out(`saved ${plural(saved.events, 'event')} of ${plural(saved.tasks, 'task')} to ${to}\n`)
  if (saved.rebuilt > 0)
    out(`${plural(saved.rebuilt, 'start of a run', 'starts of runs')} made anew from what was cached\n`)
  if (saved.lost > 0) out(`${plural(saved.lost, 'row')} could not be read\n`)
  for (const { stream, seq, why } of saved.unusable.slice(0, 20))
    out(`left behind: ${stream} ${seq}: ${why}\n`)
  if (saved.unusable.length > 20) out(`… and ${saved.unusable.length - 20} more\n`)
  out(
    '  → look at it, then put it in the place of .ralph/ralph.db (delete ralph.db-wal and ralph.db-shm beside it)\n',
  )
}
