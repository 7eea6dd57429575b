import { describe, expect, it } from 'vitest'
import { commonValues, type PromptFacts, renderTemplate, templateProblems } from '../../../src/core/prompt.ts'
import { readSignals } from '../../../src/core/signals.ts'
import { type Failure, newTaskState, type TaskState } from '../../../src/core/state.ts'
import { missingThings } from '../../../src/layouts/state-markdown/missing.ts'
import { stateMarkdown } from '../../../src/layouts/state-markdown.ts'
import { gated } from '../../../src/presets/gated.ts'
import consensus from '../../../templates/engine/consensus.md?raw'
import { itClaimsNothing, plainFacts } from './prompt-contract.ts'
import { tempProject } from './temp-project.ts'

const plan =
  '## Task 3: Add authentication {#auth}\n\nLog in.\n\n### Success Criteria\n- [ ] tokens expire\n- [ ] tested\n'
const task = {
  id: 'auth',
  title: 'Add authentication',
  spec: 'plan.md',
  needs: [],
  order: 0,
  verify: [],
  allows: [],
}
const rules = { workflow: gated, verify: ['npm test'] }

function prompt(
  stage: string,
  over: Partial<TaskState> = {},
  more: { facts?: Partial<PromptFacts>; files?: Record<string, string> } = {},
): string {
  const project = { root: tempProject({ 'plan.md': plan, ...more.files }), settings: {} }
  const state = { ...newTaskState(task), ...over }
  const facts: PromptFacts = {
    ...plainFacts,
    ...{ id: 'auth', label: 'auth', title: task.title, stage, role: 'x' },
    spec: stateMarkdown.spec(project, task),
    ...{ commands: ['npm test'], failures: state.recent, attempt: state.failures + 1, attempts: 5 },
    ...{ stuck: state.stuck.same >= 3, base: 'abc123', files: ['src/auth.ts'] },
    ...more.facts,
  }
  const values = stateMarkdown.values?.(project, facts, { state, rules, stage }) ?? {}
  return renderTemplate(stateMarkdown.templates[stage] ?? '', { ...commonValues(facts), ...values })
}

const trace = 'FAIL test/auth.test.ts\n  TypeError: tokens is not iterable\n    at src/auth.ts:12:3'
const failure = (attempt: number, detail = trace): Failure => ({
  ...{
    attempt,
    stage: 'tests',
    reason: '`npm test` fails with exit code 1',
    detail: `$ npm test\n${detail}`,
  },
  ...{ fault: null, files: ['src/auth.ts'], at: attempt },
})
const row = (attempt: number) => ({
  ...{ attempt, stage: 'tests', fingerprint: 'a3f2b7c1', shift: attempt > 3, reason: '', at: attempt },
})
const failed = (count: number, detail?: string): Partial<TaskState> => ({
  failures: count,
  recent: [1, 2, 3, 4].slice(Math.max(0, count - 3), count).map(number => failure(number, detail)),
  history: [1, 2, 3, 4].slice(0, count).map(row),
  stuck: { fingerprint: 'a3f2b7c1', same: count, shifts: Math.max(0, count - 3) },
})

const titles = (text: string) => text.match(/^##? .*$/gmu)

describe('the implementer’s prompt', () => {
  it('S3-33 S3-47 S3-50 has the seed’s sections in the seed’s order, the spec and the criteria in them', () => {
    const text = prompt('implement')
    expect(titles(text)).toEqual([
      '# Task Implementation',
      '## Your Task',
      '## Success Criteria (you must satisfy ALL)',
      '## Previous Attempts',
      '## Process',
      '## Exit Signals',
      '## Rules',
    ])
    expect(text).toContain('## Your Task\nTask 3: Add authentication\n\nLog in.\n')
    expect(text).toContain(
      '## Success Criteria (you must satisfy ALL)\n- [ ] tokens expire\n- [ ] tested\n\n',
    )
    expect(text).toContain('## Previous Attempts\nFirst attempt\n\n## Process\n')
  })

  it('S3-48 has the seven steps of the process', () => {
    expect(prompt('implement')).toContain(`## Process
1. Read relevant source files
2. If previous attempts exist, understand what failed and why
3. Write tests FIRST (TDD)
4. Implement the feature/fix
5. Run tests, ensure passing
6. Self-review against success criteria
7. Commit with descriptive message
`)
  })

  it('S3-49 H-34 has the exit signals, and says that the gates decide', () => {
    const text = prompt('implement')
    expect(text).toContain(
      '## Exit Signals\n- Tests pass AND spec criteria met → exit 0\n- Tests fail OR spec criteria not met → exit 1\n',
    )
    expect(text).toContain('What decides are the gates')
  })

  it('S3-32 has the content of the state file once there is one', () => {
    const text = prompt('implement', failed(2))
    expect(text).toContain(
      '## Previous Attempts\n---\ntask_id: auth\niteration: 2\nmax_iterations: 5\nlast_gate: tests\n',
    )
    expect(text).toContain(
      '## Test Output (verbatim)\n```\nFAIL test/auth.test.ts\n  TypeError: tokens is not iterable\n',
    )
    expect(text).not.toContain('Strategy Shift Required')
  })

  it('S3-29 when stuck it has the directive in the seed’s words, the error itself and what is forbidden', () => {
    const text = prompt('implement', failed(3))
    const [, directive = ''] = text.split('## IMPORTANT: Strategy Shift Required\n')
    expect(directive).toContain(
      "You're stuck. Previous approach failed 3x with same error. Try fundamentally different approach.\n",
    )
    expect(directive).toContain(
      'You have failed 3x with the same error. Your previous approach does not work.\nYou MUST try a fundamentally different approach. Do NOT:\n- repeat what ends in: `npm test` fails with exit code 1 (FAIL test/auth.test.ts)\n- change src/auth.ts in the way that failed 3 times\n',
    )
    expect(directive).toContain('> TypeError: tokens is not iterable')
    expect(directive).toContain('\nConsider completely different solutions.\n')
    expect(text.indexOf('## IMPORTANT')).toBeGreaterThan(text.indexOf('## Previous Attempts'))
    expect(text.indexOf('## IMPORTANT')).toBeLessThan(text.indexOf('## Process'))
  })

  it('S3-30 S3-T17 C-38 on the second shift an error that says something is missing brings files that have to do with it', () => {
    const files = {
      'src/token-store.js': 'export const tokens = []\n',
      'src/auth.js': "import './token-store.js'\n",
      'node_modules/x/token-store.js': 'no',
    }
    const gap = "Error: Cannot find module './token-store' imported from src/login.js"
    expect(prompt('implement', failed(3, gap), { files })).not.toContain('## Additional File Context')
    const second = prompt('implement', failed(4, gap), { files })
    expect(second).toContain('## Additional File Context\n')
    expect(second).toContain('Missing: `./token-store`\n\n- src/token-store.js\n- src/auth.js:1: import')
    expect(second).not.toContain('node_modules')
    expect(prompt('implement', failed(4), { files })).not.toContain('## Additional File Context')
  })

  it.each([
    ["ModuleNotFoundError: No module named 'app.tokens'", 'app.tokens'],
    ["ImportError: cannot import name 'Store' from 'app'", 'Store'],
    ["NameError: name 'store' is not defined", 'store'],
    ["FileNotFoundError: [Errno 2] No such file or directory: 'data/in.csv'", 'data/in.csv'],
    ['ReferenceError: store is not defined', 'store'],
    ["Error: ENOENT: no such file or directory, open 'a/b.json'", 'a/b.json'],
    ["src/a.ts(1,2): error TS2304: Cannot find name 'Store'.", 'Store'],
    ['./main.go:4:2: undefined: store.Open', 'store.Open'],
    ['error[E0432]: unresolved import `crate::store`', 'crate::store'],
    ['java.lang.ClassNotFoundException: org.x.Store', 'org.x.Store'],
    ['NameError: uninitialized constant Store', 'Store'],
  ])('S3-30 %s is an information gap', (error, thing) => {
    expect(missingThings(error)).toContain(thing)
  })

  it.each([
    'AssertionError: expected 401 to be 200',
    'TypeError: x is not a function',
    'Timeout after 600s',
    '1 failing',
  ])('S3-30 %s is none', error => {
    expect(missingThings(error)).toEqual([])
  })
})

describe('the reviewers’ prompts', () => {
  it('S3-35 S3-50 S3-T10 the spec reviewer gets the task and the change, and nothing of what the implementer said or tried', () => {
    const text = prompt('spec', failed(3))
    expect(text).toContain('Task 3: Add authentication\n\nLog in.\n')
    expect(text).toContain('- [ ] tokens expire\n')
    expect(text).toContain('git diff abc123')
    expect(text).toContain('- src/auth.ts')
    expect(text).toContain('in doubt it is a fail')
    for (const word of ['TypeError', 'attempt', 'task_id', 'Attempt History'])
      expect(text).not.toContain(word)
  })

  it('S3-36 the quality reviewer is told that it blocks nothing, and how to warn', () => {
    const text = prompt('quality', failed(2))
    expect(text).toContain('block nothing')
    expect(text).toContain('`WARNING:`')
    expect(text).not.toContain('TypeError')
  })
})

describe('every prompt of the preset', () => {
  it('S3-04 uses only names that are filled in', () => {
    const project = { root: tempProject({ 'plan.md': plan }), settings: {} }
    const facts = { ...({} as PromptFacts), id: 'auth', rules: [], stuck: false, attempts: 5 }
    const own =
      stateMarkdown.values?.(project, facts, { state: newTaskState(task), rules, stage: 'implement' }) ?? {}
    const names = [
      ...Object.keys(own),
      'spec',
      'stuck',
      'checks',
      'rules',
      'learnings',
      'steering',
      'base',
      'files',
    ]
    expect(Object.keys(stateMarkdown.templates).slice(0, 3)).toEqual(['implement', 'spec', 'quality'])
    for (const name of ['implement', 'spec', 'quality'])
      expect(templateProblems(stateMarkdown.templates[name] ?? '', names)).toEqual([])
  })

  itClaimsNothing(
    'is no signal when an agent repeats it, whole or any line of it, whatever logs and learnings hold',
    {
      id: 'auth',
      promises: ['P'],
      stages: ['implement', 'spec', 'quality'],
      prompt: (stage, { reason, detail, some, more }) => {
        const recent = [{ ...failure(4), reason, detail }]
        const facts = { learnings: some, steering: more, failures: recent }
        return prompt(stage, { ...failed(4), recent }, { facts })
      },
      runs: 150,
    },
  )

  it('G-13 the final reviewers’ prompt is no verdict either, whole or line by line', () => {
    expect(readSignals(consensus, '')).toEqual([])
    for (const line of consensus.split('\n')) expect(readSignals(line.trim(), '')).toEqual([])
    const names = ['reviewer', 'reviewers', 'quorum', 'tasks', 'base', 'head', 'files', 'checks']
    expect(templateProblems(consensus, names)).toEqual([])
  })

  it('stays bounded however long the history is', () => {
    const noise = Array.from({ length: 101 }, () => 'x'.repeat(150)).join('\n')
    const recent = [1, 2, 3].map(number => ({
      ...failure(number, noise),
      files: Array.from({ length: 50 }, () => 'y'.repeat(60)),
    }))
    const history = Array.from({ length: 100 }, (_, index) => ({
      ...row(index),
      fingerprint: String(10_000_000 + index),
    }))
    const text = prompt('implement', { ...failed(4), recent, history })
    expect(text.length).toBeLessThan(80_000)
  })
})
