import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { UserError } from '../../../src/core/errors.ts'
import type { AgentOutcome } from '../../../src/core/outcome.ts'
import type { Task } from '../../../src/core/task.ts'
import type { Layout } from '../../../src/layouts/layout.ts'
import { specflow } from '../../../src/layouts/specflow.ts'
import { pipeline } from '../../../src/presets/pipeline.ts'
import { aChange, anAgent, promised } from '../../core/build.ts'
import { type FakeJournal, fakeJournal } from './fake-journal.ts'
import { put, tempProject } from './temp-project.ts'

const spec = '# What is wanted\n'
const files = (tasks: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(tasks).flatMap(([id, task]) => [
      [`.specflow/tasks/${id}.json`, typeof task === 'string' ? task : JSON.stringify(task, null, 2)],
      [`.specflow/specs/${id}.md`, spec],
    ]),
  )
const read = (root: string) => specflow.read({ root, settings: {} })
const task: Task = {
  id: 'TASK-001',
  title: 'One',
  spec: '.specflow/specs/TASK-001.md',
  needs: [],
  order: 0,
  verify: [],
  allows: [],
}

describe('the backlog', () => {
  it('has the tasks in natural order, with title, spec, needs, own commands and allowed files', () => {
    const root = tempProject({
      ...files({ 'TASK-10': { title: 'Ten' }, 'TASK-2': { title: 'Two' }, 'TASK-001': { title: 'One' } }),
      '.specflow/tasks/API-1.json': JSON.stringify({
        ...{ id: 'API-1', title: 'Api', status: 'todo', spec: 'docs/api.md', dependencies: ['TASK-2'] },
        ...{ verify: ['npm run api'], allows: ['package.json'], priority: 3 },
      }),
      'docs/api.md': spec,
      '.specflow/tasks/README.md': 'no task',
    })
    const { tasks, problems, missing } = read(root)
    expect(problems).toEqual([])
    expect(missing).toEqual([])
    expect(tasks.map(one => one.id)).toEqual(['API-1', 'TASK-001', 'TASK-2', 'TASK-10'])
    expect(tasks[0]).toEqual({
      ...{ id: 'API-1', title: 'Api', spec: 'docs/api.md', needs: ['TASK-2'], order: 0 },
      ...{ verify: ['npm run api'], allows: ['package.json'] },
    })
    expect(specflow.spec({ root, settings: {} }, tasks[0] ?? task)).toBe(spec)
  })

  it('names every problem with file and line', () => {
    const root = tempProject({
      '.specflow/tasks/A.json': '{\n  "id": "B",\n  "title": "x",\n  "dependencies": "A"\n}',
      '.specflow/tasks/C.json': '{\n  "title": "x",\n}',
      '.specflow/tasks/D.json': '{ "title": "x", "spec": "../secret.md" }',
      '.specflow/tasks/E.json': '{ "title": "x", "dependencies": ["Z"] }',
      '.specflow/specs/A.md': spec,
      '.specflow/specs/E.md': spec,
    })
    const { problems, missing } = read(root)
    expect(missing).toEqual(['D'])
    expect(problems.map(one => `${one.file}:${one.line ?? ''} ${one.message}`)).toEqual([
      ".specflow/tasks/A.json:2 the id 'B' is not the file's name",
      ".specflow/tasks/A.json:4 'dependencies' is not a list of texts",
      expect.stringMatching(/^\.specflow\/tasks\/C\.json:\d* is not valid JSON$/u),
      ".specflow/tasks/D.json:1 the spec '../secret.md' lies outside the project",
      '.specflow/tasks/D.json: has no spec: .specflow/specs/D.md is not there',
      ".specflow/tasks/E.json: needs 'Z', which is not in the backlog",
    ])
    expect(specflow.validate({ root, settings: {} })).toEqual(problems)
  })

  it('knows what is done by the word of its files alone', () => {
    const root = tempProject(files({ A: { title: 'a', status: 'done' }, B: { title: 'b', status: 'todo' } }))
    expect(specflow.recorded({ root, settings: {} })).toEqual([{ id: 'A', source: '.specflow/tasks/A.json' }])
    expect(specflow.prerequisites({ root, settings: {} })).toEqual([])
    expect(specflow.prerequisites({ root: tempProject(), settings: {} })).toMatchObject([
      { message: 'no .specflow/tasks/ directory' },
    ])
  })

  it('a new project has the seed’s settings and a task that is valid', () => {
    const root = tempProject()
    const options = { name: 'Log in', date: '2026-01-30', verify: null, agents: [] }
    const { files: made } = specflow.skeleton({ root, settings: {} }, options)
    put(root, made)
    expect(Object.keys(made)).toEqual([
      '.specflow/config.yaml',
      '.specflow/tasks/TASK-001.json',
      '.specflow/specs/TASK-001.md',
    ])
    expect(read(root)).toMatchObject({
      tasks: [{ id: 'TASK-001', title: 'Log in' }],
      missing: [],
      problems: [],
    })
    expect(specflow.configure?.({ root, settings: {} }, pipeline)).toEqual(pipeline)
    expect(Object.keys(specflow.skeleton({ root, settings: {} }, options).files)).toEqual([
      '.specflow/config.yaml',
    ])
  })

  it('`ralph new task` writes a task, once', () => {
    const root = tempProject()
    const create = (id: string, title: string) =>
      (specflow as Required<Layout>).create({ root, settings: {} }, { id, title })
    expect(create('TASK-002', 'Log\nout')).toBe('.specflow/specs/TASK-002.md')
    expect(read(root).tasks).toMatchObject([{ id: 'TASK-002', title: 'Log out' }])
    for (const [id, title] of [
      ['TASK-002', 'x'],
      ['../x', 'x'],
      ['TASK-003', ' '],
    ] as const)
      expect(() => create(id, title)).toThrow(UserError)
  })
})

/** A journal of one task of the pipeline, and what its files say. */
function loop(json: unknown = { id: 'TASK-001', title: 'One', status: 'todo' }, workflow = pipeline) {
  const root = tempProject(files({ 'TASK-001': json }))
  const journal: FakeJournal = fakeJournal([task], { workflow, start: '2024-01-15T10:29:58Z' })
  let steps = 0
  const text = () => readFileSync(join(root, '.specflow/tasks/TASK-001.json'), 'utf8')
  return {
    journal,
    text,
    start: () => {
      const stage = journal.state('TASK-001').stage ?? ''
      const base = { head: 'h', branch: 'main', tree: 't', snapshot: '' }
      journal.record('TASK-001', { type: 'step.started', step: `r/${++steps}`, stage, base })
    },
    finish: (over: Partial<AgentOutcome> = {}) => {
      const { stage, visits } = journal.state('TASK-001')
      const name = stage ?? ''
      const outcome = anAgent({ iteration: visits[name] ?? 1, ...over })
      journal.record('TASK-001', { type: 'step.finished', step: `r/${steps}`, stage: name, outcome })
      if (journal.state('TASK-001').next?.type === 'restore')
        journal.record('TASK-001', {
          ...{ type: 'step.finished', step: 'x', stage: '@restore' },
          outcome: { kind: 'restore', kept: null, branch: null },
        })
    },
    write: () => specflow.write({ root, settings: {} }, journal.view()),
    task: () => JSON.parse(text()) as { status: string; metadata: Record<string, unknown> },
    log: () =>
      readFileSync(join(root, '.specflow/logs/TASK-001.jsonl'), 'utf8')
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as Record<string, unknown>),
  }
}
const committed = { ...aChange(['a.ts']), commits: ['c1'] }

describe('the task file', () => {
  it('S2-36 holds the loop under way in the seed’s shape, byte for byte', async () => {
    const one = loop({ id: 'TASK-001', title: 'One', status: 'todo', metadata: {} })
    for (const _ of [1, 2]) {
      one.start()
      one.finish()
    }
    one.start()
    await one.write()
    expect(one.text()).toBe(`{
  "id": "TASK-001",
  "title": "One",
  "status": "in_progress",
  "metadata": {
    "ralph": {
      "stage": "coder",
      "iteration": 3,
      "max_iterations": 15,
      "started_at": "2024-01-15T10:30:00Z",
      "completion_promise": "IMPLEMENTATION_COMPLETE"
    }
  }
}`)
  })

  it('S2-46 S2-T05 when the limit is reached it is todo again, and the failure has the seed’s shape', async () => {
    const coder = pipeline.stages.coder
    if (!coder) throw new Error('no coder')
    const one = loop(undefined, {
      ...pipeline,
      stages: { ...pipeline.stages, coder: { ...coder, limit: 2 } },
    })
    for (const words of ['first words', 'last words']) {
      one.start()
      one.finish({ message: words })
    }
    await one.write()
    expect(one.task()).toEqual({
      id: 'TASK-001',
      title: 'One',
      status: 'todo',
      metadata: {
        ralph_failure: {
          stage: 'coder',
          iterations_used: 2,
          last_output: 'last words',
          reason: 'Max iterations reached without completion promise',
        },
      },
    })
    expect(Object.keys(one.task().metadata.ralph_failure as object)).toEqual([
      'stage',
      'iterations_used',
      'last_output',
      'reason',
    ])
    expect(one.log().at(-1)).toMatchObject({
      success: false,
      continuing: false,
      issues: ['Promise not found or malformed', 'Ralph loop exceeded 2 iterations'],
    })
  })

  it('leaves alone what is not the engine’s: other keys, the owner’s form, tasks nobody has touched', async () => {
    const before =
      '{\n\t"title": "One",\n\t"owner": "me",\n\t"status": "backlog",\n\t"metadata": {"note": 1}\n}\n'
    const one = loop(before)
    await one.write()
    expect(one.text()).toBe(before)
    one.start()
    await one.write()
    expect(one.text()).toMatch(
      /^\{\n\t"title": "One",\n\t"owner": "me",\n\t"status": "in_progress",\n\t"metadata": \{\n\t\t"note": 1,\n\t\t"ralph": \{/u,
    )
    expect(one.text().endsWith('}\n')).toBe(true)
  })
})

describe('the execution log', () => {
  it('S2-37 S2-51 has a line per iteration with the seed’s fields first, and the cost', async () => {
    const one = loop()
    one.start()
    one.finish({ ms: 45_000, usage: { costUsd: 0.25, inputTokens: 1, outputTokens: 1 } })
    await one.write()
    const [record] = one.log()
    expect(Object.entries(record ?? {}).slice(0, 7)).toEqual([
      ['task_id', 'TASK-001'],
      ['stage', 'coder'],
      ['ralph_iteration', 1],
      ['ralph_max', 15],
      ['promise_found', false],
      ['continuing', true],
      ['duration_ms', 45_000],
    ])
    expect(record).toMatchObject({ cost_usd: 0.25, success: false, timed_out: false })
  })

  it('S2-17 S2-38 S2-47 S2-48 S2-53 has timeouts, rejected promises and every attempt at one, each with its reason', async () => {
    const one = loop()
    const doubt = {
      type: 'doubt' as const,
      reason: 'Output contains contradictions to promise',
      text: 'TODO: x',
    }
    const promise = promised('IMPLEMENTATION_COMPLETE')
    const calls: Partial<AgentOutcome>[] = [
      { ended: 'timeout', exit: null, ms: 1_000 },
      { signals: [promise, doubt] },
      { signals: [promised('DONE')], message: 'I say <promise>IMPLEMENTATION_COMPLETE</promise> here' },
      { signals: [promise] },
      { signals: [promise], change: committed },
    ]
    for (const call of calls) {
      one.start()
      one.finish(call)
      await one.write()
    }
    const log = one.log()
    expect(
      log.map(one => [one.ralph_iteration, one.promise_found, one.continuing, one.success, one.timed_out]),
    ).toEqual([
      [1, false, true, false, true],
      [2, true, true, false, false],
      [3, false, true, false, false],
      [4, true, true, false, false],
      [5, true, false, true, false],
    ])
    expect(log.map(one => one.verification)).toEqual([
      { valid: false, reason: 'Timeout after 1s' },
      { valid: false, reason: 'Output contains contradictions to promise', matched: 'TODO: x' },
      { valid: false, reason: 'Promise not found or malformed' },
      { valid: false, reason: 'No commit detected: HEAD did not move' },
      { valid: true, reason: 'Promise verified' },
    ])
    const text = 'IMPLEMENTATION_COMPLETE'
    expect(log.map(one => one.promises)).toEqual([
      [],
      [{ text, accepted: false, reason: 'Output contains contradictions to promise' }],
      [
        { text: 'DONE', accepted: false, reason: 'Promise not found or malformed' },
        { text, accepted: false, reason: 'Promise not found or malformed' },
      ],
      [{ text, accepted: false, reason: 'No commit detected: HEAD did not move' }],
      [{ text, accepted: true, reason: 'Promise verified' }],
    ])
    expect(log.map(one => one.output)).toContain('.ralph/runs/r/5/message.md')
  })

  it('a call that was refunded is logged with its cost, and is no iteration used', async () => {
    const one = loop()
    one.start()
    const usage = { costUsd: 0.5, inputTokens: null, outputTokens: null }
    one.finish({ fault: { kind: 'limit', message: 'usage limit' }, exit: 1, usage })
    one.start()
    one.finish()
    await one.write()
    expect(
      one
        .log()
        .map(({ ralph_iteration, continuing, cost_usd, issues }) => [
          ralph_iteration,
          continuing,
          cost_usd,
          issues,
        ]),
    ).toEqual([
      [1, true, 0.5, ['usage limit']],
      [1, true, null, ['Promise not found or malformed']],
    ])
  })
})
