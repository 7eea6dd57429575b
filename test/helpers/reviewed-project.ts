import { createProject, type TestProject } from './ralph.ts'
import type { Behaviours, Rule } from './story-project.ts'

export type StoryFields = {
  id: string
  title: string
  description?: string
  acceptanceCriteria: string[]
  priority: number
  passes: boolean
  reviewStatus: string | null
  reviewCount: number
  reviewFeedback: string
  notes: string
  dependsOn: string[]
}

/** A story as the planner leaves it; what is given stands for the default. */
export function aStory(id: string, more: Partial<StoryFields> = {}): StoryFields {
  return {
    id,
    title: `Answer ${id}`,
    description: `Write \`answer ${id}\` to work/${id}.txt.`,
    acceptanceCriteria: [`work/${id}.txt holds "answer ${id}"`],
    priority: 1,
    passes: false,
    reviewStatus: null,
    reviewCount: 0,
    reviewFeedback: '',
    notes: '',
    dependsOn: [],
    ...more,
  }
}

/** `tasks.json` as the seed's template is laid out: two spaces, a newline at the end. */
export function tasksText(stories: StoryFields[], more: Record<string, unknown> = {}): string {
  const top = { project: 'Answers', branchName: 'ralph/answers', description: 'All the answers' }
  return `${JSON.stringify({ ...top, verifyCommands: [], ...more, userStories: stories }, null, 2)}\n`
}

/** Green once every work/<story>.txt that exists holds its answer. */
const check = `#!/bin/sh
for file in work/*.txt; do
  [ -e "$file" ] || exit 0
  name=$(basename "$file" .txt)
  grep -q "^answer $name$" "$file" || { echo "wrong answer in $file"; exit 1; }
done
`

/** A project of the preset \`reviewed\` with a scripted agent, and a user's own untracked file. */
export function reviewedProject(options: {
  stories?: StoryFields[]
  script?: Rule[]
  config?: string
  /** Top-level fields of tasks.json. */
  tasks?: Record<string, unknown>
  files?: Record<string, string>
}): TestProject {
  const stories = options.stories ?? [aStory('US-001')]
  const project = createProject({
    'check.sh': check,
    'src/existing.txt': 'as it was\n',
    '.gitignore': '.ralph-active\nseen/\n',
    'ralph.config.yaml': [
      'preset: reviewed',
      'agent: { name: scripted, script: agent.json }',
      'sandbox: none',
      options.config ?? '',
    ].join('\n'),
    'agent.json': JSON.stringify(options.script ?? honestScript(), null, 2),
    'ralph/prd.md': '# PRD\n\nAll answers are lower case.\n',
    'ralph/prompt.md': '# Iteration $RALPH_ITERATION of $RALPH_MAX_ITERATIONS\n\nDo your best.\n',
    'ralph/progress.txt':
      '# Ralph Progress Log\nStarted: 2026-01-30\nPRD: Answers\n\n## Codebase Patterns\n- (Reusable patterns discovered during this loop)\n\n---\n',
    'ralph/tasks.json': tasksText(stories, { verifyCommands: ['sh check.sh'], ...options.tasks }),
    ...options.files,
  })
  project.write('notes of the user.txt', 'never touch this\n')
  return project
}

export function stories(project: TestProject): StoryFields[] {
  return JSON.parse(project.read('ralph/tasks.json')).userStories
}

export function story(project: TestProject, id: string): StoryFields {
  const found = stories(project).find(one => one.id === id)
  if (!found) throw new Error(`no story ${id}`)
  return found
}

/** The story's review fields, in the order of the seed's tables. */
export function mark(project: TestProject, id = 'US-001'): [boolean, string | null, number] {
  const { passes, reviewStatus, reviewCount } = story(project, id)
  return [passes, reviewStatus, reviewCount]
}

/**
 * Sets fields of a story in tasks.json; of the story that the call is for, if none is named. `reviewCount: '+1'` counts
 * up. Written as a program, because an agent's edit depends on what it finds.
 */
export function edit(fields: Record<string, unknown>, id = ''): Record<string, unknown> {
  const program = `
const { readFileSync, writeFileSync } = require('node:fs')
const [fields, id] = process.argv.slice(1)
const file = 'ralph/tasks.json'
const backlog = JSON.parse(readFileSync(file, 'utf8'))
const story = backlog.userStories.find(one => one.id === (id || process.env.RALPH_TASK))
for (const [name, value] of Object.entries(JSON.parse(fields)))
  story[name] = value === '+1' ? story[name] + 1 : value
writeFileSync(file, JSON.stringify(backlog, null, 2) + '\\n')
`
  return { run: { command: ['node', '-e', program, JSON.stringify(fields), id] } }
}

/** Adds a story as an agent may, or as it may not. */
export function add(added: StoryFields): Record<string, unknown> {
  const program = `
const { readFileSync, writeFileSync } = require('node:fs')
const backlog = JSON.parse(readFileSync('ralph/tasks.json', 'utf8'))
backlog.userStories.push(JSON.parse(process.argv[1]))
writeFileSync('ralph/tasks.json', JSON.stringify(backlog, null, 2) + '\\n')
`
  return { run: { command: ['node', '-e', program, JSON.stringify(added)] } }
}

/** Copies tasks.json and the marker aside as the agent sees them when it starts. */
export function look(name = '{{call}}'): Behaviours {
  return [
    { mkdir: 'seen' },
    { run: `cp ralph/tasks.json seen/tasks-${name}.json && cp .ralph-active seen/active-${name}.json` },
    { 'write-prompt': `seen/prompt-${name}.md` },
  ]
}

const records = ['ralph/tasks.json', 'ralph/progress.txt']
const entry = { append: { path: 'ralph/progress.txt', text: '\n## {{task}} - {{stage}}\n- done\n' } }

export function work(id = '{{task}}'): Record<string, unknown> {
  return { write: { path: `work/${id}.txt`, text: `answer ${id}\n` } }
}

export function commit(message: string, paths: string[] = []): Record<string, unknown> {
  return { commit: { message, paths: [...paths, ...records] } }
}

/** An honest implementer: the work, the mark, the log, one commit. */
export function implement(id = '{{task}}'): Behaviours {
  return [
    work(id),
    edit({ reviewStatus: 'needs_review', notes: 'written' }),
    entry,
    commit(`feat: [${id}] - Answer ${id}`, [`work/${id}.txt`]),
    { say: 'Handed in for review.' },
  ]
}

export function approve(id = '{{task}}'): Behaviours {
  return [
    edit({ reviewCount: '+1', reviewStatus: 'approved', passes: true }),
    entry,
    commit(`review: [${id}] - approved`),
    { say: 'Approved.' },
  ]
}

export function reject(reviewFeedback: string, id = '{{task}}'): Behaviours {
  return [
    edit({ reviewCount: '+1', reviewStatus: 'changes_requested', reviewFeedback }),
    entry,
    commit(`review: [${id}] - changes requested`),
    { say: 'Changes requested.' },
  ]
}

export function fix(id = '{{task}}'): Behaviours {
  return [
    { append: { path: `work/${id}.txt`, text: 'mended\n' } },
    edit({ reviewStatus: 'needs_review', reviewFeedback: '' }),
    entry,
    commit(`fix: [${id}] - address review feedback`, [`work/${id}.txt`]),
    { say: 'Feedback addressed.' },
  ]
}

/** What an honest agent does in each stage. */
export function honestScript(): Rule[] {
  return [
    { on: { stage: 'implement' }, do: implement() },
    { on: { stage: 'review' }, do: approve() },
    { on: { stage: 'review-fix' }, do: fix() },
  ]
}
