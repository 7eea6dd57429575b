import { cut, oneLine } from './text.ts'

/** What a template may say, by name. An empty text counts as nothing. */
export type Values = Record<string, string>

/**
 * Fills a prompt template in: `{{name}}` is the value; `{{#name}}…{{/name}}` stands only when there is one, and
 * `{{^name}}…{{/name}}` only when there is none. A mark alone on its line takes the line with it. Values are put in as
 * they are and never read as templates themselves.
 */
export function renderTemplate(template: string, values: Values): string {
  const value = (name: string) => (Object.hasOwn(values, name) ? (values[name] ?? '') : '')
  let text = ''
  // One entry per open section: whether what stands in it is to be shown.
  const shown: boolean[] = []
  for (const part of partsOf(template)) {
    if (part.type === 'open') shown.push((value(part.name) !== '') === part.wanted)
    else if (part.type === 'close') shown.pop()
    else if (shown.every(Boolean)) text += part.type === 'text' ? part.text : value(part.name)
  }
  return `${text.trimEnd()}\n`
}

/** Every problem of a template in words: names nobody fills in, sections that are not closed. */
export function templateProblems(
  template: string,
  names: readonly string[],
): { line: number; message: string }[] {
  const problems: { line: number; message: string }[] = []
  const open: { name: string; line: number }[] = []
  let line = 1
  for (const part of partsOf(template)) {
    if (part.type !== 'text' && !names.includes(part.name))
      problems.push({ line, message: `nothing is known by the name '${part.name}'` })
    if (part.type === 'open') open.push({ name: part.name, line })
    if (part.type === 'close' && open.pop()?.name !== part.name)
      problems.push({ line, message: `'{{/${part.name}}}' closes nothing` })
    line += part.lines
  }
  for (const { name, line } of open) problems.push({ line, message: `'{{#${name}}}' is never closed` })
  return problems
}

type Part = { lines: number } & (
  | { type: 'text'; text: string }
  | { type: 'value'; name: string }
  | { type: 'open'; name: string; wanted: boolean }
  | { type: 'close'; name: string }
)

const mark = /([ \t]*)\{\{([#^/]?)([A-Za-z][\w.-]*)\}\}([ \t]*\n)?/gu

function* partsOf(template: string): Generator<Part> {
  let at = 0
  for (const match of template.matchAll(mark)) {
    const [whole, before = '', sign, name = '', after] = match
    // Only a section's mark, and only when it has the line for itself, takes the line away.
    const first = match.index === 0 || template[match.index - 1] === '\n'
    const alone = sign !== '' && first && after !== undefined
    const start = match.index + (alone ? 0 : before.length)
    const end = match.index + whole.length - (alone ? 0 : (after ?? '').length)
    yield textPart(template.slice(at, start))
    const lines = alone ? 1 : 0
    if (sign === '#' || sign === '^') yield { type: 'open', name, wanted: sign === '#', lines }
    else if (sign === '/') yield { type: 'close', name, lines }
    else yield { type: 'value', name, lines }
    at = end
  }
  yield textPart(template.slice(at))
}

function textPart(text: string): Part {
  return { type: 'text', text, lines: text.split('\n').length - 1 }
}

/** One line, in which tags that an agent or a log put there no longer are tags. */
export function quiet(text: string, most: number): string {
  return oneLine(text.replace(/<(\/?(?:ralph|promise))>/giu, '[$1]').replace(/\p{Cc}+/gu, ' '), most)
}

/** As a quotation, which is never taken for the agent's own word; bounded. */
export function quotation(text: string, indent = ''): string[] {
  const short = cut(text.trim(), 60)
  if (short === '') return []
  return short
    .slice(-6000)
    .split('\n')
    .map(line => `${indent}> ${quiet(line, 400)}`)
}

/** A list, bounded in length; empty when there is nothing to list. */
export function bullets(items: readonly string[], limits: { items: number; characters: number }): string {
  return items
    .slice(-limits.items)
    .map(item => `- ${quiet(item, limits.characters)}`)
    .join('\n')
}

export type EarlierFailure = { attempt: number; stage: string; reason: string; detail: string }

/** The last failures, oldest first, each with its reason and the output that shows it. */
export function failuresText(failures: readonly EarlierFailure[]): string {
  return failures
    .slice(-3)
    .map(({ attempt, stage, reason, detail }) => {
      const why = quiet(reason, 500) || 'no reason given'
      return [`- Attempt ${attempt}, stage ${quiet(stage, 60)}: ${why}`, ...quotation(detail, '  ')].join(
        '\n',
      )
    })
    .join('\n\n')
}

/** What every prompt may draw on, whatever the preset. */
export type PromptFacts = {
  id: string
  label: string
  title: string
  noun: string
  stage: string
  role: string
  /** The agent that will read it, where that is known. */
  agent?: string
  spec: string
  /** The verify commands that the engine will run itself. */
  commands: readonly string[]
  /** The project's own rules. */
  rules: readonly string[]
  failures: readonly EarlierFailure[]
  learnings: readonly string[]
  /** What a person wants the agent to know. */
  steering: readonly string[]
  /** Tries at the task; 0 = without limit. */
  attempt: number
  attempts: number
  /** Times this stage was entered, and its limit; 0 = none. */
  iteration: number
  iterations: number
  /** The run's own count, and its limit; 0 = none. */
  runIteration: number
  runIterations: number
  /** The same error came back again and again. */
  stuck: boolean
  /** The commit the attempt began with; empty before the first stage. */
  base: string
  /** Files changed so far in this attempt. */
  files: readonly string[]
}

/** The names a template can use in every preset. Their sizes are bounded, but for the spec's. */
export function commonValues(facts: PromptFacts): Values {
  const last = facts.failures.at(-1)
  const count = (value: number) => (value > 0 ? String(value) : '')
  const again = facts.attempt > 1 || facts.failures.length > 0
  return {
    id: facts.id,
    label: facts.label,
    title: quiet(facts.title, 300),
    noun: facts.noun,
    stage: facts.stage,
    role: facts.role,
    spec: facts.spec.trimEnd(),
    commands: facts.commands.map(command => `- \`${quiet(command, 2000)}\``).join('\n'),
    checks: checksText(facts.commands),
    rules: facts.rules.map(rule => `- ${quiet(rule, 2000)}`).join('\n'),
    again: again ? 'yes' : '',
    failures: failuresText(facts.failures),
    reason: last ? quiet(last.reason, 500) : '',
    findings: last ? quotation(last.detail || last.reason).join('\n') : '',
    learnings: bullets(facts.learnings, { items: 20, characters: 300 }),
    steering: bullets(facts.steering, { items: 5, characters: 2000 }),
    attempt: String(facts.attempt),
    attempts: count(facts.attempts),
    iteration: String(Math.max(1, facts.iteration)),
    iterations: count(facts.iterations),
    runIteration: String(facts.runIteration),
    runIterations: count(facts.runIterations),
    stuck: facts.stuck ? 'yes' : '',
    base: facts.base,
    files: bullets(facts.files, { items: 50, characters: 200 }),
  }
}

function checksText(commands: readonly string[]): string {
  if (commands.length === 0)
    return "run the project's own checks and tests (for example `npm run check` and `npm test`)"
  return `run ${commands.map(command => `\`${quiet(command, 2000)}\``).join(' and ')}`
}

/** Every name that a template can use in every preset. */
export const commonNames: readonly string[] = Object.keys(
  commonValues({
    ...{ id: '', label: '', title: '', noun: '', stage: '', role: '', spec: '', base: '' },
    ...{ commands: [], rules: [], failures: [], learnings: [], steering: [], files: [] },
    ...{ attempt: 1, attempts: 0, iteration: 0, iterations: 0, runIteration: 0, runIterations: 0 },
    stuck: false,
  }),
)
