import type { CommandResult, TestCounts } from './outcome.ts'
import { plural } from './text.ts'

export type { TestCounts } from './outcome.ts'

export type GateJudgement = { command: string; verdict: 'pass' | 'fail'; reason: string; note: string }

/**
 * Judges the commands against how they stood before the task. What was red before is reported, not blamed; but red
 * before and red after proves nothing either, unless more tests pass than before and every failure is an old one. A
 * command of the task's own spec is its acceptance: for it only green counts.
 */
export function judgeCommands(now: CommandResult[], before: CommandResult[] | null): GateJudgement[] {
  return now.map(result => judgeCommand(result, before?.find(one => one.command === result.command) ?? null))
}

function judgeCommand(now: CommandResult, before: CommandResult | null): GateJudgement {
  const { reason, note } = judge(now, before)
  return { command: now.command, verdict: reason === '' ? 'pass' : 'fail', reason, note }
}

/** A reason means failure; a note is worth telling in spite of the pass. */
type Judged = { reason: string; note: string }

function judge(now: CommandResult, before: CommandResult | null): Judged {
  if (now.ended === 'timeout' || now.ended === 'idle') return fail(`\`${now.command}\` did not end in time`)
  if (now.ended === 'stopped') return fail(`\`${now.command}\` was stopped`)
  if (now.exit === null) return fail(`\`${now.command}\` was killed`)
  // The counts of a run that was cut off say nothing about how many tests there are.
  const whole = before?.ended === 'exit' ? before : null
  return now.exit === 0 ? judgeGreen(now, whole) : judgeRed(now, before, whole)
}

function judgeGreen(now: CommandResult, before: CommandResult | null): Judged {
  const failed = now.tests?.failed ?? 0
  const shrunk = shrunkenTests(now, before)
  if (shrunk) return fail(shrunk)
  if (failed === 0) return pass()
  // A pipe, `|| true` or `;` swallows the exit code; the runner's own word still stands.
  const seenBefore = before?.exit === 0 && before.tests !== null && before.tests.failed >= failed
  const text = `\`${now.command}\` ends with exit code 0 although ${plural(failed, 'test')} failed${named(now)}`
  return seenBefore ? pass(`${text} (as before this task)`) : fail(text)
}

function judgeRed(now: CommandResult, before: CommandResult | null, whole: CommandResult | null): Judged {
  const text = `with exit code ${now.exit}${counted(now)}`
  if (!before || before.exit === 0) return fail(`\`${now.command}\` fails ${text}`)
  const still = fail(`\`${now.command}\` still fails ${text} (it failed before this task too)`)
  if (now.own || !whole) return still
  const shrunk = shrunkenTests(now, whole)
  if (shrunk) return fail(shrunk)
  return onlyOldFailures(now, whole)
    ? pass(
        `\`${now.command}\` still fails in tests that failed before this task: ${listed(now.tests?.names ?? [])}`,
      )
    : still
}

/** "0 tests ran", fewer tests than before, or more skipped ones: a run that proves less than it did. */
function shrunkenTests(now: CommandResult, before: CommandResult | null): string | null {
  const old = before?.tests ?? null
  if (!now.tests) {
    const vanished = old && !old.partial && ran(old) > 0 && now.exit === 0
    return vanished ? `\`${now.command}\` reported ${amount(old)} before this task and none now` : null
  }
  if (now.tests.partial) return null
  if (ran(now.tests) === 0 && now.exit === 0) return `\`${now.command}\` ran 0 tests`
  if (!old || old.partial) return null
  if (ran(now.tests) < ran(old)) {
    return `\`${now.command}\` ran ${amount(now.tests)}; before this task it ran ${ran(old)}`
  }
  if (now.tests.skipped > old.skipped && !filtersByName.test(now.command)) {
    return `\`${now.command}\` skips ${plural(now.tests.skipped, 'test')}; before this task it skipped ${old.skipped}`
  }
  return null
}

/** Such a command counts every test it leaves out as skipped, so a new test elsewhere is one more. */
const filtersByName = /\s(?:-t|-g|--grep|--testNamePattern|--test-name-pattern)(?:[\s=]|$)/u

/** A failure without a name could be any, so every one must be named. */
function onlyOldFailures(now: CommandResult, before: CommandResult): boolean {
  if (!now.tests || !before.tests || now.tests.names.length === 0) return false
  if (now.tests.names.length < now.tests.failed || now.tests.failed > before.tests.failed) return false
  const old = new Set(before.tests.names)
  return now.tests.names.every(name => old.has(name)) && now.tests.passed > before.tests.passed
}

function fail(reason: string): Judged {
  return { reason, note: '' }
}

function pass(note = ''): Judged {
  return { reason: '', note }
}

function ran(tests: TestCounts): number {
  return tests.passed + tests.failed
}

function amount(tests: TestCounts): string {
  return plural(ran(tests), tests.unit === 'packages' ? 'package' : 'test')
}

function counted(result: CommandResult): string {
  return result.tests && result.tests.failed > 0 ? `, ${result.tests.failed} of ${amount(result.tests)}` : ''
}

function named(result: CommandResult): string {
  const names = result.tests?.names ?? []
  return names.length > 0 ? `: ${listed(names)}` : ''
}

function listed(names: string[]): string {
  return names.length <= 3 ? names.join(', ') : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`
}
