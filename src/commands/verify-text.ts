import type { CommandResult } from '../core/outcome.ts'
import { duration, plural } from '../core/text.ts'
import type { Style } from '../reporters/style.ts'
import type { Verified } from './verify-judge.ts'

/** One command, as soon as it has ended. */
export function gateRunText(result: CommandResult, style: Style): string {
  const green = result.exit === 0 && result.ended === 'exit'
  const tests = result.tests ? `, ${result.tests.passed} passed, ${result.tests.failed} failed` : ''
  return `${green ? style.green('✓') : style.red('✗')} ${result.command} (${duration(result.ms)}${tests})`
}

/** What holds and what no longer does. Tasks that hold take one line. */
export function verifiedText(tasks: Verified[], style: Style): string {
  const lines = tasks.flatMap(task => {
    const bad = task.checks.filter(check => !check.holds)
    const notes = task.checks.filter(check => check.holds && (check.name === 'record' || tasks.length === 1))
    const word = task.holds
      ? task.proof === 'unverified'
        ? style.yellow('unverified')
        : style.green('holds')
      : style.red('no longer holds')
    return [
      `${task.holds ? style.green('✓') : style.red('✗')} ${task.id} ${task.title}: ${word}`,
      ...bad.map(check => `    ${style.red('✗')} ${check.text}`),
      ...notes.map(check => `    ${style.dim(`· ${check.text}`)}`),
    ]
  })
  const broken = tasks.filter(task => !task.holds)
  const first = broken[0]
  lines.push(
    first
      ? `${broken.length} of ${plural(tasks.length, 'task')} no longer hold\n  → ralph evidence ${first.id}    ralph retry ${first.id}`
      : `${plural(tasks.length, 'task')} verified again: all hold`,
  )
  return `${lines.join('\n')}\n`
}
