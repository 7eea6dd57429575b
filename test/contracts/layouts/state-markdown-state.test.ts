import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newTaskState, type TaskState } from '../../../src/core/state.ts'
import { parseState } from '../../../src/layouts/state-markdown/state-file.ts'
import { stateText } from '../../../src/layouts/state-markdown/state-text.ts'
import { stateMarkdown } from '../../../src/layouts/state-markdown.ts'
import { gated } from '../../../src/presets/gated.ts'
import { put, tempProject } from './temp-project.ts'

/** The seed's own example, byte for byte, but for its hash in the head, which is none of its last attempt's (C-37). */
const sample = `---
task_id: auth-feature
iteration: 3
max_iterations: 5
last_gate: spec-review
exit_code: 1
error_hash: c4d5e6f7
timestamp: 2026-01-21T10:30:00Z
stuck_count: 0
strategy_shifts: 0
files_modified:
  - src/auth.ts
  - tests/auth.test.ts
---

## Spec Reviewer Output (verbatim)
\`\`\`
Missing: password reset flow (spec line 24)
Extra: added --json flag (not requested)
\`\`\`

## Test Output (verbatim)
\`\`\`
FAIL src/auth.test.ts
  ✕ should reject expired token
    Expected: 401, Received: 200
\`\`\`

## Attempt History
| # | Gate | Error Hash | Strategy Shift |
|---|------|------------|----------------|
| 1 | tests | a3f2b7c1 | no |
| 2 | tests | a3f2b7c1 | no |
| 3 | spec | c4d5e6f7 | yes |
`

const at = Date.parse('2026-01-21T10:30:00Z')
const tests = 'FAIL src/auth.test.ts\n  ✕ should reject expired token\n    Expected: 401, Received: 200'
const spec = 'Missing: password reset flow (spec line 24)\nExtra: added --json flag (not requested)'
const task = {
  id: 'auth-feature',
  title: 'Auth',
  spec: 'plan.md',
  needs: [],
  order: 0,
  verify: [],
  allows: [],
}

const failure = (
  attempt: number,
  stage: string,
  detail: string,
  when: number,
  reason = detail.split('\n')[0] ?? '',
) => ({
  ...{ attempt, stage, reason, detail, fault: null, at: when },
})
const row = (attempt: number, stage: string, fingerprint: string, when: number, shift = false) => ({
  ...{ attempt, stage, fingerprint, shift, reason: '', at: when },
})

const red = '`npm test` fails with exit code 1'
const state: TaskState = {
  ...newTaskState(task),
  failures: 3,
  stuck: { fingerprint: 'c4d5e6f7', same: 1, shifts: 0 },
  recent: [
    failure(1, 'tests', `$ npm test\n${tests}`, at - 2, red),
    failure(2, 'tests', `$ npm test\n${tests}`, at - 1, red),
    { ...failure(3, 'spec', spec, at), files: ['src/auth.ts', 'tests/auth.test.ts'] },
  ],
  history: [
    row(1, 'tests', 'a3f2b7c1', at - 2),
    row(2, 'tests', 'a3f2b7c1', at - 1),
    row(3, 'spec', 'c4d5e6f7', at, true),
  ],
}

describe('.ralph_state.md', () => {
  it('S3-20 S3-22 S3-24 C-36 C-37 is the seed’s file, byte for byte; the head has the hash of the last attempt', () => {
    expect(stateText(state, 5)).toBe(sample)
  })

  it('S3-21 S3-27 the error hash of the last attempt is what stands in the head', () => {
    expect(/^error_hash: ([0-9a-f]{8})$/mu.exec(stateText(state, 5))?.[1]).toBe(
      state.history.at(-1)?.fingerprint,
    )
  })

  it('is read again as it was written: a file of the seed’s own runner is gone on with', () => {
    const stored = parseState(sample)
    expect(stored).toMatchObject({ id: 'auth-feature', iteration: 3, most: 5 })
    expect(stored?.history).toEqual(state.history.map(one => ({ ...one, at })))
    expect(stored?.recent.map(({ attempt, stage, detail }) => [attempt, stage, detail])).toEqual([
      [2, 'tests', tests],
      [3, 'spec', spec],
    ])
    const root = tempProject({ '.ralph_state.md': sample })
    const continued = stateMarkdown.continued?.({ root, settings: {} }) ?? []
    expect(continued[0]).toMatchObject({ id: 'auth-feature', source: '.ralph_state.md' })
    expect(stateMarkdown.leftover?.({ root, settings: {} })).toBe(
      '.ralph_state.md holds auth-feature, iteration 3/5',
    )
    const again: TaskState = {
      ...state,
      recent: continued[0]?.recent ?? [],
      history: continued[0]?.history ?? [],
    }
    expect(
      stateText(again, 5).replace(
        'files_modified: []',
        'files_modified:\n  - src/auth.ts\n  - tests/auth.test.ts',
      ),
    ).toBe(sample)
  })

  it('S3-26 S3-T15 shows the last three attempts verbatim, and keeps every row of the history', () => {
    const many: TaskState = {
      ...state,
      recent: [3, 4, 5].map(number => failure(number, 'tests', `output of ${number}`, at + number)),
      history: [1, 2, 3, 4, 5].map(number => row(number, 'tests', `${number}`.repeat(8), at + number)),
    }
    const text = stateText(many, 5)
    const outputs = [3, 4, 5]
      .map(number => `Attempt ${number}:\n\`\`\`\noutput of ${number}\n\`\`\`\n`)
      .join('')
    expect(text).toContain(`## Test Output (verbatim)\n${outputs}\n## Attempt History\n`)
    expect(text.match(/^\| \d \| tests \|/gmu)).toHaveLength(5)
  })

  it('S3-25 S3-T15 a block of 100 lines stays whole, one of more was cut around its mark', () => {
    const lines = (count: number) =>
      Array.from({ length: count }, (_, index) => `line ${index + 1}`).join('\n')
    const block = (detail: string) => {
      const one = { ...state, recent: [failure(3, 'tests', `$ npm test\n${detail}`, at, red)] }
      return /```\n([\s\S]*?)\n```/u.exec(stateText(one, 5))?.[1]
    }
    expect(block(lines(100))).toBe(lines(100))
    const many = block(`${lines(150)}\n\n$ other\n${lines(150)}`)?.split('\n') ?? []
    expect(many).toHaveLength(101)
    expect(many[50]).toMatch(/^\[\.\.\. \d+ lines truncated \.\.\.\]$/u)
  })

  it('says what Ralph itself found above the output, and closes a fence that the output does not', () => {
    const text = stateText(
      {
        ...state,
        recent: [
          failure(3, 'implement', 'All done!\n```js\nx\n```', at, 'Changed the protected file plan.md'),
        ],
      },
      5,
    )
    expect(text).toContain(
      '## Implementer Output (verbatim)\nChanged the protected file plan.md\n````\nAll done!\n```js\nx\n```\n````\n',
    )
  })

  it('S3-13 counts equal errors, ten and more too; a new one counts as none', () => {
    const count = (same: number) =>
      /^stuck_count: (\d+)$/mu.exec(
        stateText({ ...state, stuck: { fingerprint: 'x', same, shifts: 0 } }, 5),
      )?.[1]
    expect([1, 2, 3, 9, 10, 12].map(count)).toEqual(['0', '2', '3', '9', '10', '12'])
  })

  const view = (tasks: TaskState[]) =>
    ({
      tasks,
      events: [],
      attempts: 5,
      rules: { workflow: gated, verify: 'none' },
      end: null,
      now: at,
    }) as never

  it('S3-07 S3-12 belongs to the task under work, else to the one given up last, and goes with success', async () => {
    const root = tempProject({ 'plan.md': '## Task 1: A\n## Task 2: B\n## Task 3: C\n' })
    const place = { root, settings: {} }
    const one = (id: string, over: Partial<TaskState>): TaskState => ({
      ...state,
      task: { ...task, id },
      ...over,
    })
    const owner = () => /task_id: (.*)/u.exec(readFileSync(join(root, '.ralph_state.md'), 'utf8'))?.[1]
    await stateMarkdown.write(
      place,
      view([one('a', { status: 'failed' }), one('b', { status: 'open' }), one('c', { history: [] })]),
    )
    expect(owner()).toBe('b')
    await stateMarkdown.write(
      place,
      view([one('a', { status: 'failed' }), one('b', { status: 'done' }), one('c', { history: [] })]),
    )
    expect(owner()).toBe('a')
    await stateMarkdown.write(
      place,
      view([one('a', { status: 'done' }), one('b', { status: 'done' }), one('c', { history: [] })]),
    )
    expect(() => owner()).toThrow('ENOENT')
    // What belongs to nobody here is not ours to delete.
    put(root, { '.ralph_state.md': sample })
    await stateMarkdown.write(place, view([one('a', { status: 'done' })]))
    expect(owner()).toBe('auth-feature')
  })

  it('S3-08 S3-09 the lock holds the runner’s PID, and its refusal is the seed’s', () => {
    const { lock } = stateMarkdown
    expect(lock?.file).toBe('.ralph.lock')
    expect(lock?.text({ root: '', settings: {} }, { pid: 4711, now: 0 })).toBe('4711\n')
    expect([lock?.holder('4711\n'), lock?.holder('4711'), lock?.holder('x')]).toEqual([4711, 4711, null])
    expect(lock?.refusal(4711)).toBe('ERROR: Another Ralph loop active (PID 4711)')
  })
})
