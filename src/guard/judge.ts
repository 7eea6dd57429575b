import { parse } from 'unbash'
import { categoryOf } from './categories.ts'
import { show, withoutMarks } from './marks.ts'
import { newScope } from './scope.ts'
import { Denied, type GuardContext, type GuardVerdict, type Refusal, refuse } from './verdict.ts'
import { runners } from './walk.ts'

/** Longer ones are not judged. A document of this size may stand in a command; more belongs into a file. */
const longest = 200_000
/** Steps of work for one command: far more than any real one needs, and well below a second. */
const work = 20_000

/**
 * Whether an agent may run this shell command here. Pure: it looks at the text alone. What it cannot read, cannot follow
 * to its end, or cannot know the dangerous place of, it denies.
 */
export function judgeCommand(command: string, context: GuardContext): GuardVerdict {
  if (command.length > longest)
    return denial(refuse('unreadable', `the command has ${command.length} characters`), command, command)
  try {
    const scope = newScope(context, work, runners)
    scope.session.run.script(parse(withoutMarks(command)), scope)
    return { verdict: 'allow' }
  } catch (error) {
    if (error instanceof Denied) return denial(error.refusal, error.part, command)
    return denial(refuse('unreadable', 'the command cannot be followed to its end'), command, command)
  }
}

export function denial({ category, what }: Refusal, part: string, command: string): GuardVerdict {
  const reason = `${what}: ${categoryOf(category).instead}.`
  return { verdict: 'deny', category, reason, part: show(part === '' ? command : part) }
}
