import { cut, oneLine } from '../../core/text.ts'

export type StoryPrompt = {
  id: string
  /** The whole file, front matter and all. */
  spec: string
  /** The verify commands that the engine will run afterwards. */
  commands: string[]
  /** The project's own rules; none = the seed's. */
  rules: string[]
  /** The last failed attempts, oldest first. */
  failures: { attempt: number; stage: string; reason: string; detail: string }[]
  learnings: string[]
  /** What a person wants the agent to know. */
  steering: string[]
  attempt: number
  /** 0 = without limit. */
  attempts: number
  /** The same error came back again and again. */
  stuck?: boolean
}

/** The seed's rules but one: "integer cents for money" is a rule of its own project (S4-55). */
export const defaultRules: readonly string[] = [
  'Complete this one story fully before you claim that it is done. Do not begin another one.',
  'Follow the acceptance criteria exactly.',
  'Write all the tests that the story specifies.',
  'You must use your tools to read, write and run things. Text alone changes nothing.',
]

/**
 * What the agent receives (S4-53). No tag stands alone on a line or can be read as a signal, so that an agent which only
 * repeats its prompt claims nothing. Apart from the spec the size is bounded, however long the history is (G-09).
 */
export function storyPrompt(story: StoryPrompt): string {
  const sections = [
    `You are Ralph, an autonomous implementation agent. Your task is to implement story ${story.id}, completely and on your own.`,
    `## STORY SPECIFICATION\n\n${story.spec.trimEnd()}`,
    `## WORKFLOW\n\n${workflow(story)}`,
    `## CRITICAL RULES\n\n${rules(story)}`,
    earlier(story),
    bullets('## LEARNINGS FROM EARLIER ATTEMPTS', story.learnings.slice(-20), 300),
    bullets('## A PERSON ASKS YOU TO CONSIDER', story.steering.slice(-5), 2000),
  ]
  return `${sections.filter(Boolean).join('\n\n')}\n`
}

function workflow({ id, commands }: StoryPrompt): string {
  const checks =
    commands.length > 0
      ? `run ${commands.map(command => `\`${quiet(command, 2000)}\``).join(' and ')}`
      : "run the project's own checks and tests (for example `npm run check` and `npm test`)"
  return [
    '1. Read the existing code first, until you know where this story belongs.',
    '2. Implement the story by writing and editing files.',
    `3. Validate: ${checks}. Correct your work until everything passes.`,
    `4. On success: commit with git, adding only the files that you changed yourself, each by name. Then print the tag \`<ralph>DONE ${id}</ralph>\` on a line of its own, outside any code block, as the last thing you say.`,
    // Split over two lines, or a line of it that is repeated would itself be a signal.
    `5. On failure: take your own changes back (\`git checkout .\`). Then print a line of its own that begins with \`<ralph>FAIL ${id}:\``,
    '   and, after the reason in one sentence, ends with `</ralph>`.',
    '6. For each insight that will help later work, print a line of its own that begins with `<ralph>LEARN:`',
    '   and, after the insight, ends with `</ralph>`.',
  ].join('\n')
}

function rules({ rules, commands }: StoryPrompt): string {
  const verified =
    commands.length > 0
      ? 'Your claim will be verified: the commands of step 3 are run again after you, and a claim without a real change, or with a failing command, counts as a failed attempt.'
      : 'Your claim will be verified: a claim without a real change counts as a failed attempt.'
  const own = rules.length > 0 ? rules : defaultRules
  return [
    ...own.map(rule => `- ${quiet(rule, 2000)}`),
    '- Do not touch the story specs in `specs/`, the state files (`.ralph/`, `progress.txt`, `ralph.log`) or the scripts and settings of the checks. Do not delete, skip or weaken tests.',
    `- ${verified}`,
  ].join('\n')
}

function earlier({ failures, attempt, attempts, stuck }: StoryPrompt): string {
  const last = failures.slice(-3)
  if (attempt <= 1 && last.length === 0) return ''
  const head = `This is attempt ${attempt}${attempts > 0 ? ` of ${attempts}` : ''}. What earlier attempts changed has been taken back; they failed as follows:`
  const shift =
    'The same error came back several times. Do not repeat that approach: question its assumptions and try something fundamentally different.'
  const rows = last.map(({ attempt, stage, reason, detail }) => {
    const why = quiet(reason, 500) || 'no reason given'
    return [`- Attempt ${attempt}, stage ${quiet(stage, 60)}: ${why}`, ...quoted(detail)].join('\n')
  })
  return ['## EARLIER ATTEMPTS', head, ...rows, ...(stuck ? [shift] : [])].join('\n\n')
}

/** As a quotation, which is never taken for the agent's own word. */
function quoted(detail: string): string[] {
  const text = cut(detail.trim(), 60)
  if (text === '') return []
  return text
    .slice(-6000)
    .split('\n')
    .map(line => `  > ${quiet(line, 400)}`)
}

function bullets(title: string, items: string[], most: number): string {
  if (items.length === 0) return ''
  return [title, items.map(item => `- ${quiet(item, most)}`).join('\n')].join('\n\n')
}

/** One line, in which tags that an agent or a log put there no longer are tags. */
function quiet(text: string, most: number): string {
  return oneLine(text.replace(/<(\/?(?:ralph|promise))>/giu, '[$1]').replace(/\p{Cc}+/gu, ' '), most)
}
