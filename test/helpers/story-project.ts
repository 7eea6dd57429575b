import { createProject, type TestProject } from './ralph.ts'

/** What an agent does in one rule of a script, as the scripted agent reads it. */
export type Behaviours = Record<string, unknown>[]

export type Rule = { on?: Record<string, string | number>; do: Behaviours }

/** The check of these projects: every story N.M must have left `answer N.M` in work/N.M.txt. */
const check = `#!/bin/sh
# Checks the work of every story whose spec is done or under way.
for story in \${STORIES:-1.1}; do
  grep -q "^answer $story$" "work/$story.txt" 2>/dev/null || { echo "no answer for $story"; exit 1; }
done
echo "all answers found"
`

/** A project with stories, a check that is red until the first story's work is there, and a user's own untracked file. */
export function storyProject(options: {
  stories?: string[]
  script: Rule[]
  config?: string
  verify?: string
  files?: Record<string, string>
}): TestProject {
  const stories = options.stories ?? ['1.1']
  const project = createProject({
    'CLAUDE.md': '# Project\n',
    'check.sh': check,
    'src/existing.txt': 'as it was\n',
    'ralph.config.yaml': [
      'agent: { name: scripted, script: agent.json }',
      `verify: ${options.verify ?? '["sh check.sh"]'}`,
      'protect: ["specs/**", "agent.json"]',
      'sandbox: none',
      options.config ?? '',
    ].join('\n'),
    'agent.json': JSON.stringify(options.script, null, 2),
    ...Object.fromEntries(stories.map(id => [specPath(id), spec(id)])),
    ...options.files,
  })
  project.write('notes of the user.txt', 'never touch this\n')
  return project
}

export function specPath(id: string): string {
  return `specs/epic-${id.split('.')[0]}/story-${id}-answer-${id.replace('.', '-')}.md`
}

function spec(id: string): string {
  return `---\nstatus: pending\npriority: 1\n---\n# Answer ${id}\n\nWrite \`answer ${id}\` to work/${id}.txt.\n\n## Acceptance criteria\n- [ ] it is there\n`
}

/** An honest attempt: the work, a commit of just that, the claim. */
export function honest(id = '{{task}}'): Behaviours {
  return [
    { write: { path: `work/${id}.txt`, text: `answer ${id}\n` } },
    { commit: { message: `feat: answer ${id}`, paths: [`work/${id}.txt`] } },
    { done: true },
  ]
}

export function state(project: TestProject): {
  completed_stories: string[]
  current_story: string | null
  retry_count: number
} {
  return JSON.parse(project.read('.ralph/state.json'))
}
