import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newTaskState, type TaskState } from '../../../src/core/state.ts'
import { parsePlan } from '../../../src/layouts/state-markdown/plan.ts'
import { withStatus } from '../../../src/layouts/state-markdown/plan-status.ts'
import { stateMarkdown } from '../../../src/layouts/state-markdown.ts'
import { tempProject } from './temp-project.ts'

const plan = `# Plan

Words about it all.

## Task 1: Set up the store

Make it.

## Task 2: Rate limiting {#ratelimit}

Depends on: Task 1
Verify: \`npm test -- limit\`, \`npm run lint\`
Allows: package.json

A token bucket.

\`\`\`md
## Task 9: not a task, but code
\`\`\`

### Success Criteria

- [ ] 10 requests pass, the 11th
      is refused
- [x] the bucket fills up again

### Notes

- [ ] no criterion

### Task 3: Add authentication
**Id:** auth
**Depends on:** ratelimit and Task 1

**Acceptance Criteria:**
* expired tokens are rejected

## Afterwards

Not a part of any task.
`

function project(files: Record<string, string>, settings: Record<string, unknown> = {}) {
  return { root: tempProject(files), settings }
}

describe('the plan', () => {
  it('reads tasks in order with ids, needs, commands and allowed files', () => {
    const { tasks } = stateMarkdown.read(project({ 'plan.md': plan }))
    expect(tasks).toEqual([
      {
        id: 'set-up-the-store',
        title: 'Set up the store',
        spec: 'plan.md',
        needs: [],
        order: 0,
        verify: [],
        allows: [],
      },
      {
        ...{
          id: 'ratelimit',
          title: 'Rate limiting',
          spec: 'plan.md',
          needs: ['set-up-the-store'],
          order: 1,
        },
        ...{ verify: ['npm test -- limit', 'npm run lint'], allows: ['package.json'] },
      },
      {
        ...{ id: 'auth', title: 'Add authentication', spec: 'plan.md', order: 2 },
        ...{ needs: ['ratelimit', 'set-up-the-store'], verify: [], allows: [] },
      },
    ])
  })

  it('takes the section of a task, whole, for its spec, and nothing of the next', () => {
    const place = project({ 'plan.md': plan })
    const [, limit, auth] = stateMarkdown.read(place).tasks
    if (!limit || !auth) throw new Error('no tasks')
    const spec = stateMarkdown.spec(place, limit)
    expect(spec.startsWith('Task 2: Rate limiting\n\nDepends on: Task 1\n')).toBe(true)
    expect(spec).toContain('## Task 9: not a task, but code')
    expect(spec).toContain('### Notes\n\n- [ ] no criterion\n')
    expect(spec).not.toContain('authentication')
    expect(stateMarkdown.spec(place, auth)).not.toContain('Not a part of any task')
  })

  it('finds the criteria under their heading, with and without boxes', () => {
    const { tasks } = parsePlan(plan)
    expect(tasks.map(task => task.criteria.map(one => one.text))).toEqual([
      [],
      ['10 requests pass, the 11th is refused', 'the bucket fills up again'],
      ['expired tokens are rejected'],
    ])
  })

  it('is the first of plan.md, docs/plan.md and PLAN.md, or the one that is named', () => {
    const one = '## Task 1: A\n'
    const ids = (files: Record<string, string>, settings = {}) =>
      stateMarkdown.read(project(files, settings)).tasks.map(task => task.spec)
    expect(ids({ 'docs/plan.md': one, 'PLAN.md': one })).toEqual(['docs/plan.md'])
    expect(ids({ 'PLAN.md': one })).toEqual(['PLAN.md'])
    expect(ids({ 'plan.md': one, 'my/own.md': one }, { plan: './my/own.md' })).toEqual(['my/own.md'])
    const none = project({})
    expect(stateMarkdown.prerequisites(none)[0]?.message).toBe(
      'no plan: plan.md or docs/plan.md or PLAN.md not found',
    )
    expect(stateMarkdown.protects?.(project({}, { plan: 'my/own.md' }))).toEqual(['/my/own.md'])
  })

  it('says what is wrong with it, with the line', () => {
    const text =
      '## Task 1: A\n\nVerify: look at it\nDepends on: Task 7\n\n## Task 2: A\n\n### Success Criteria\n- x\n'
    const found = stateMarkdown.validate(project({ 'plan.md': text, '.gitignore': '.ralph*\n' }))
    expect(found.map(({ severity, line, message }) => `${severity} ${line}: ${message}`)).toEqual([
      "warning 1: task 'a' has no success criteria",
      "warning 3: task 'a': no command after Verify:",
      "warning 4: task 'a' depends on 'Task 7', which is not in the plan",
      "error 6: two tasks have the id 'a'",
    ])
  })

  it('says when git would let an agent commit the state and the lock', () => {
    const found = (ignore: string) =>
      stateMarkdown
        .validate(project({ 'plan.md': '## Task 1: A\n### Success Criteria\n- x\n', '.gitignore': ignore }))
        .map(one => one.message)
    expect(found('# .ralph_state.md\n')).toEqual(['git does not ignore .ralph_state.md and .ralph.lock'])
    expect(found('.ralph_state.md\n/.ralph.lock\n')).toEqual([])
  })

  const state = (id: string, over: Partial<TaskState>): TaskState => ({
    ...newTaskState({ id, title: id, spec: 'plan.md', needs: [], order: 0, verify: [], allows: [] }),
    ...over,
  })

  it('S3-37 is the to-do list: done is marked completed with its boxes ticked, given up is marked failed', () => {
    const text =
      '# P\n\n## Task 1: A\n\nDo.\n\n### Success Criteria\n- [ ] one\n- [ ] two\n\n## Task 2: B\nDo.\n## Task 3: C\n'
    const once = withStatus(text, [
      state('a', { status: 'done' }),
      state('b', { status: 'failed' }),
      state('c', { status: 'open' }),
    ])
    expect(once).toBe(
      '# P\n\n## Task 1: A\n\nStatus: completed\n\nDo.\n\n### Success Criteria\n- [x] one\n- [x] two\n\n## Task 2: B\n\nStatus: failed\n\nDo.\n## Task 3: C\n',
    )
    const all = withStatus(once, [
      state('a', { status: 'open' }),
      state('b', { status: 'done' }),
      state('c', { status: 'done' }),
    ])
    expect(all).toBe(
      '# P\n\n## Task 1: A\n\nStatus: pending\n\nDo.\n\n### Success Criteria\n- [ ] one\n- [ ] two\n\n## Task 2: B\n\nStatus: completed\n\nDo.\n## Task 3: C\n\nStatus: completed\n',
    )
    const place = project({ 'plan.md': all })
    expect(stateMarkdown.recorded(place)).toEqual([
      { id: 'b', source: 'plan.md' },
      { id: 'c', source: 'plan.md' },
    ])
  })

  it('leaves every other byte as it is: line ends, byte order mark, bytes that are no UTF-8', async () => {
    const bytes = Buffer.concat([
      Buffer.from('\ufeff## Task 1: A\r\n\r\n**Status:** open\r\n\r\n'),
      Buffer.from([0xe4, 0x0a]),
    ])
    const root = tempProject({ 'plan.md': bytes })
    const { tasks } = stateMarkdown.read({ root, settings: {} })
    const view = {
      tasks: tasks.map(task => ({ ...newTaskState(task), status: 'done' as const })),
      attempts: 5,
    }
    await stateMarkdown.write({ root, settings: {} }, view as never)
    const wanted = Buffer.concat([
      Buffer.from('\ufeff## Task 1: A\r\n\r\n**Status:** completed\r\n\r\n'),
      Buffer.from([0xe4, 0x0a]),
    ])
    expect(readFileSync(join(root, 'plan.md')).equals(wanted)).toBe(true)
  })

  it('gives every task an id of its own, whatever the plan looks like, and a status changes no other task', () => {
    const line = fc.constantFrom(
      '## Task 1: A',
      '## Task 2: A',
      '### Task x: B {#b}',
      'Status: done',
      'Status: x',
      '',
      'text',
      '```',
      '# H',
      '- [ ] c',
      'Success Criteria:',
      'Id: b',
      '\r',
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 14 }), lines => {
        const text = lines.join('\n')
        const { tasks } = parsePlan(text)
        expect(new Set(tasks.map(task => task.id)).size).toBe(tasks.length)
        const done = tasks.map(task => state(task.id, { status: 'done' }))
        const marked = withStatus(text, done)
        expect(withStatus(marked, done)).toBe(marked)
        expect(parsePlan(marked).tasks.map(task => task.id)).toEqual(tasks.map(task => task.id))
      }),
    )
  })
})
