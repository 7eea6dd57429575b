import { createProject, type TestProject } from './ralph.ts'
import type { Behaviours, Rule } from './story-project.ts'

/** The check of these projects: every task whose work was begun must have left `answer <id>` in work/<id>.txt. */
const check = `#!/bin/sh
for file in work/*.txt; do
  [ -e "$file" ] || continue
  id=$(basename "$file" .txt)
  grep -q "^answer $id$" "$file" || { echo "FAIL work/$id.txt"; echo "  Expected: answer $id"; echo "  Received: $(head -1 "$file")"; exit 1; }
done
echo "all answers are right"
`

/** A project with a plan, a check of whatever lies in work/, and a user's own untracked file. */
export function gatedProject(options: {
  /** Ids; the tasks are numbered in this order. */
  tasks?: string[]
  script: Rule[]
  config?: string
  verify?: string
  files?: Record<string, string>
}): TestProject {
  const tasks = options.tasks ?? ['auth']
  const project = createProject({
    'plan.md': planOf(tasks),
    'check.sh': check,
    'src/existing.txt': 'as it was\n',
    '.gitignore': '.ralph/\n.ralph_state.md\n.ralph.lock\nralph.log\nseen*\ngo\n',
    'ralph.config.yaml': [
      'preset: gated',
      'agent: { name: scripted, script: agent.json }',
      `verify: ${options.verify ?? '["sh check.sh"]'}`,
      'protect: ["agent.json"]',
      'sandbox: none',
      options.config ?? '',
    ].join('\n'),
    'agent.json': JSON.stringify(options.script, null, 2),
    ...options.files,
  })
  project.write('notes of the user.txt', 'never touch this\n')
  return project
}

export function planOf(tasks: string[]): string {
  const sections = tasks.map(
    (id, index) => `## Task ${index + 1}: Answer ${id} {#${id}}

Write \`answer ${id}\` to work/${id}.txt.

### Success Criteria

- [ ] work/${id}.txt holds the answer
- [ ] nothing else is changed
`,
  )
  return `# Plan\n\n${sections.join('\n')}`
}

/** What an honest implementer does: the work, a commit of just that. */
export function implemented(id = '{{task}}'): Behaviours {
  return [
    { write: { path: `work/${id}.txt`, text: `answer ${id}\n` } },
    // An earlier attempt may have committed the same.
    { run: `git add work && { git diff --cached --quiet || git commit -q -m 'feat: answer ${id}'; }` },
    { say: `Wrote the answer ${id}.` },
  ]
}

/** What an honest reviewer does who finds nothing. */
export function approves(): Behaviours {
  return [{ say: 'Read it all; nothing is missing, nothing is extra.' }, { verdict: 'pass' }]
}

/** An honest agent in every stage of the preset. */
export function honest(): Rule[] {
  return [
    { on: { stage: 'implement' }, do: implemented() },
    { on: { stage: 'spec' }, do: approves() },
    { on: { stage: 'quality' }, do: approves() },
    { do: approves() },
  ]
}

/** An attempt that leaves wrong work behind, committed; the check says what it found. */
export function wrong(text: string, id = '{{task}}'): Behaviours {
  return [
    { write: { path: `work/${id}.txt`, text: `${text}\n` } },
    { run: `git add work && git commit -q --allow-empty -m 'try: ${text}'` },
    { say: 'I think that this is right.' },
  ]
}
