import { type Proof, proofOf } from '../core/evidence.ts'
import type { CommandResult } from '../core/outcome.ts'
import type { TaskState } from '../core/state.ts'
import { gateCommands } from '../gates/verify.ts'

/** One of `tasks` in what `ralph verify --json` prints. */
export type Verified = { id: string; title: string; proof: Proof; holds: boolean; checks: Held[] }

export type Held = { name: 'record' | 'commit' | 'files' | 'gate'; holds: boolean; text: string }

export type Today = {
  /** The gates as they stand now, by command. */
  results: Map<string, CommandResult>
  /** The project's commands of today. */
  commands: string[]
  isInHistory: (commit: string) => boolean
  exists: (path: string) => boolean
  /** The last done task that touched a file, when it is another and later one. */
  touchedBy: (path: string, task: string) => { task: string; how: 'added' | 'modified' | 'deleted' } | null
}

/** Says of one done task what of its evidence still holds. */
export function judgeToday(state: TaskState, today: Today): Verified {
  const checks = [
    ...recordCheck(state),
    ...commitCheck(state, today),
    ...fileChecks(state, today),
    ...gateChecks(state, today),
  ]
  const { id, title } = state.task
  return { id, title, proof: proofOf(state.evidence), holds: checks.every(check => check.holds), checks }
}

function recordCheck({ evidence }: TaskState): Held[] {
  if (evidence.gates && !evidence.gates.unverified) return []
  const text = evidence.gates
    ? 'was accepted by the agent’s word only; there is no proof that could still hold'
    : `was recorded in ${evidence.recorded ?? 'the preset’s files'} before this journal began; only the gates can be run`
  return [{ name: 'record', holds: true, text }]
}

function commitCheck({ evidence: { head } }: TaskState, { isInHistory }: Today): Held[] {
  if (!head) return []
  const short = head.slice(0, 12)
  return isInHistory(head)
    ? [{ name: 'commit', holds: true, text: `${short} is in the history of HEAD` }]
    : [
        {
          name: 'commit',
          holds: false,
          text: `${short} is not in the history of HEAD: it was rewritten, or another branch is checked out`,
        },
      ]
}

function fileChecks({ task, evidence }: TaskState, { exists, touchedBy }: Today): Held[] {
  const files = evidence.change?.files ?? []
  const gone = files.filter(file => (file.how === 'deleted') === exists(file.path))
  const lost = gone.filter(file => touchedBy(file.path, task.id) === null)
  if (files.length === 0) return []
  const kept: Held = {
    name: 'files',
    holds: true,
    text: `${files.length - gone.length} of ${files.length} changed files are as the task left them or changed since`,
  }
  const replaced = gone.flatMap((file): Held[] => {
    const later = touchedBy(file.path, task.id)
    return later
      ? [{ name: 'files', holds: true, text: `${file.path} was ${later.how} by ${later.task} since` }]
      : []
  })
  const missing = lost.map(
    (file): Held => ({
      name: 'files',
      holds: false,
      text:
        file.how === 'deleted'
          ? `${file.path} is there again, although the task deleted it`
          : `${file.path} is gone`,
    }),
  )
  return [...(lost.length === files.length ? [] : [kept]), ...replaced, ...missing]
}

function gateChecks({ task, evidence }: TaskState, { results, commands }: Today): Held[] {
  const wanted = gateCommands(commands, task.verify).map(one => one.command)
  const then = new Map((evidence.gates?.results ?? []).map(result => [result.command, result]))
  const run = wanted.flatMap(command => {
    const now = results.get(command)
    return now ? [judgeGate(now, then.get(command) ?? null)] : []
  })
  const dropped = [...then.keys()].filter(command => !wanted.includes(command))
  return [
    ...run,
    ...dropped.map(
      (command): Held => ({
        name: 'gate',
        holds: true,
        text: `\`${command}\` proved it then and is no gate any more; it was not run`,
      }),
    ),
  ]
}

function judgeGate(now: CommandResult, then: CommandResult | null): Held {
  const name = `\`${now.command}\``
  if (now.ended !== 'exit') return { name: 'gate', holds: false, text: `${name} did not end in time` }
  if (now.exit !== 0) {
    // What was red before the task and stayed red was never part of what the task proved.
    return then && then.exit !== 0
      ? { name: 'gate', holds: true, text: `${name} is red, as it was when the task was done` }
      : {
          name: 'gate',
          holds: false,
          text: `${name} is red: exit code ${now.exit ?? 'none (killed)'}${failedTests(now)}`,
        }
  }
  const ran = now.tests ? now.tests.passed + now.tests.failed : null
  if (ran === 0) return { name: 'gate', holds: false, text: `${name} ran 0 tests` }
  const before = then?.tests ? then.tests.passed + then.tests.failed : null
  if (before !== null && before > 0 && ran === null)
    return {
      name: 'gate',
      holds: false,
      text: `${name} reports no tests; it ran ${before} when the task was done`,
    }
  if (before !== null && ran !== null && ran < before)
    return {
      name: 'gate',
      holds: false,
      text: `${name} ran ${ran} tests; it ran ${before} when the task was done`,
    }
  return { name: 'gate', holds: true, text: `${name} is green${ran === null ? '' : `, ${ran} tests`}` }
}

function failedTests({ tests }: CommandResult): string {
  return tests && tests.failed > 0 ? `, ${tests.failed} of ${tests.passed + tests.failed} tests fail` : ''
}

/** Who touched each file last, by the journal: a later task may rightly have removed what an earlier one made. */
export function lastTouches(done: TaskState[]): Today['touchedBy'] {
  const last = new Map<string, { task: string; how: 'added' | 'modified' | 'deleted'; at: number }>()
  for (const { task, evidence, endedAt } of done) {
    for (const { path, how } of evidence.change?.files ?? []) {
      const known = last.get(path)
      if (!known || known.at <= endedAt) last.set(path, { task: task.id, how, at: endedAt })
    }
  }
  return (path, task) => {
    const found = last.get(path)
    return found && found.task !== task ? { task: found.task, how: found.how } : null
  }
}
