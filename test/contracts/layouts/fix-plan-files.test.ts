import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { TaskEventBody } from '../../../src/core/event.ts'
import type { AgentOutcome } from '../../../src/core/outcome.ts'
import { readTaskFiles } from '../../../src/layouts/fix-plan/task-file.ts'
import { fixPlan } from '../../../src/layouts/fix-plan.ts'
import { stepwise } from '../../../src/presets/stepwise.ts'
import { setFileFault } from '../../../src/store/atomic-file.ts'
import { taskText } from '../../helpers/stepwise-project.ts'
import { fakeJournal } from './fake-journal.ts'
import { put, tempProject } from './temp-project.ts'

const tasks = 'docs/specs/001-feature/tasks'
const planPath = 'docs/specs/001-feature/_ralph_loop/fix_plan.json'
const numbers = [36, 37, 38, 39, 40, 41]
const six = Object.fromEntries(
  numbers.map(number => [
    `${tasks}/TASK-0${number}.md`,
    taskText({ id: `TASK-0${number}`, complexity: number }),
  ]),
)

afterEach(() => setFileFault(null))

function open(files: Record<string, string> = six, settings: Record<string, unknown> = {}) {
  const project = { root: tempProject(files), settings }
  const journal = fakeJournal(fixPlan.read(project).tasks, {
    workflow: stepwise,
    start: '2026-03-25T10:29:59Z',
    step: 0,
  })
  const plan = () => JSON.parse(readFileSync(join(project.root, planPath), 'utf8'))
  let steps = 0
  /** One stage performed, as the engine would tell it. */
  const perform = (label: string, stage: string, outcome: unknown) => {
    const id = `001-feature/${label}`
    const step = `r1/${++steps}`
    journal.tick(1000)
    const base = { head: 'h', branch: 'main', tree: 't', snapshot: '' }
    journal.record(id, { type: 'step.started', step, stage, base })
    journal.record(id, { type: 'step.finished', step, stage, outcome } as TaskEventBody)
  }
  const write = () => fixPlan.write(project, journal.view())
  return { project, journal, plan, perform, write }
}

const agent = (more: Partial<AgentOutcome> = {}): AgentOutcome => ({
  ...{ kind: 'agent', agent: 'scripted', exit: 0, killed: null, ended: 'exit', fault: null, signals: [] },
  ...{ message: 'm', violations: [], usage: { costUsd: null, inputTokens: null, outputTokens: null }, ms: 1 },
  change: {
    from: 't',
    to: 't2',
    files: [{ path: 'a', how: 'added' }],
    more: 0,
    commits: [],
    head: 'h',
    ref: null,
  },
  ...more,
})
const verdict = (pass: boolean) =>
  agent({ signals: [{ type: 'judged', verdict: pass ? 'pass' : 'fail', reason: pass ? '' : 'issues' }] })
const gates = { kind: 'commands', purpose: 'gate', results: [], tree: 't2', violations: [], ms: 1 }
const settle = { kind: 'settle', head: 'h2', committed: 'h2', paths: [] }

describe('fix_plan.json', () => {
  it('S0-07 S0-08 S0-09 S0-10 S0-11 S0-13 S0-14 S0-15 S0-16 S0-17 S0-18 S0-19 is the seed’s sample, byte for byte', async () => {
    const { project, perform, write } = open()
    await write()
    perform('TASK-036', 'choose_task', { kind: 'engine' })
    await write()
    const task = (number: number) => `    {
      "id": "TASK-0${number}",
      "title": "Do TASK-0${number}",
      "status": "pending",
      "lang": "spring",
      "dependencies": [],
      "complexity": ${number},
      "file": "docs/specs/001-feature/tasks/TASK-0${number}.md",
      "dependencies_satisfied": true
    }`
    expect(readFileSync(join(project.root, planPath), 'utf8')).toBe(`{
  "spec_id": "001-feature",
  "spec_folder": "docs/specs/001-feature/",
  "task_range": {
    "from": "TASK-036",
    "to": "TASK-041",
    "from_num": 36,
    "to_num": 41,
    "total_in_range": 6
  },
  "state": {
    "step": "implementation",
    "current_task": "TASK-036",
    "current_task_file": "docs/specs/001-feature/tasks/TASK-036.md",
    "current_task_lang": "spring",
    "iteration": 1,
    "retry_count": 0,
    "last_updated": "2026-03-25T10:30:00",
    "error": null,
    "range_progress": {
      "done_in_range": 0,
      "total_in_range": 6
    }
  },
  "tasks": [
${numbers.map(task).join(',\n')}
  ],
  "done": [],
  "pending": [
${numbers.map(number => `    "TASK-0${number}"`).join(',\n')}
  ],
  "optional": [],
  "superseded": [],
  "learnings": []
}
`)
  })

  it('S0-24 S0-28 S0-41 counts failed reviews only, and begins with 0 at each choice', async () => {
    const { plan, perform, write } = open()
    const state = async () => {
      await write()
      const { step, retry_count, error, current_task } = plan().state
      return [step, retry_count, error, current_task]
    }
    perform('TASK-036', 'choose_task', { kind: 'engine' })
    perform('TASK-036', 'implementation', agent())
    perform('TASK-036', 'review', verdict(false))
    expect(await state()).toEqual(['fix', 1, null, 'TASK-036'])
    perform('TASK-036', 'fix', agent())
    expect(await state()).toEqual(['review', 1, null, 'TASK-036'])
    perform('TASK-036', 'review', verdict(true))
    perform('TASK-036', 'cleanup', agent())
    perform('TASK-036', 'sync', agent())
    expect(await state()).toEqual(['update_done', 1, null, 'TASK-036'])
    perform('TASK-036', 'update_done', gates)
    expect(await state()).toEqual(['choose_task', 1, null, 'TASK-036'])
    perform('TASK-036', '@settle', settle)
    expect(await state()).toEqual(['choose_task', 1, null, 'TASK-036'])
    perform('TASK-037', 'choose_task', { kind: 'engine' })
    expect(await state()).toEqual(['implementation', 0, null, 'TASK-037'])
    perform('TASK-037', 'implementation', agent())
    for (const _ of [1, 2]) {
      perform('TASK-037', 'review', verdict(false))
      perform('TASK-037', 'fix', agent())
    }
    perform('TASK-037', 'review', verdict(false))
    expect(await state()).toEqual(['failed', 3, 'review failed after 3 retries', 'TASK-037'])
  })

  it('S0-69 H-07 the record is complete before the commit, and the commit changes nothing of it', async () => {
    const { project, plan, perform, write } = open()
    const read = (path: string) => readFileSync(join(project.root, path), 'utf8')
    await write()
    for (const stage of ['choose_task', 'implementation', 'review', 'cleanup', 'sync'])
      perform(
        'TASK-036',
        stage,
        stage === 'choose_task' ? { kind: 'engine' } : stage === 'review' ? verdict(true) : agent(),
      )
    perform('TASK-036', 'update_done', gates)
    await write()
    const saved = [read(planPath), read(`${tasks}/TASK-036.md`)]
    expect(plan()).toMatchObject({
      state: { step: 'choose_task', iteration: 2, range_progress: { done_in_range: 1, total_in_range: 6 } },
      done: ['TASK-036'],
    })
    expect(saved[1]).toContain('status: completed\nlang: spring\n')
    expect(saved[1]).toContain('\ncompleted_date: 2026-03-25\n---\n')
    perform('TASK-036', '@settle', settle)
    await write()
    expect([read(planPath), read(`${tasks}/TASK-036.md`)]).toEqual(saved)
    expect(fixPlan.commitValues?.(project, { ...someTask, id: '001-feature/TASK-036' })).toEqual({
      iteration: '1',
    })
  })

  it('S0-20 S0-T08 a kill at any point of a write leaves the old file or the new one, whole', async () => {
    const { project, perform, journal, write } = open()
    await write()
    const read = () => readFileSync(join(project.root, planPath), 'utf8')
    const old = read()
    perform('TASK-036', 'choose_task', { kind: 'engine' })
    const view = journal.view()
    const seen = new Set<string>()
    for (const stop of ['before-write', 'before-rename', 'after-rename']) {
      put(project.root, { [planPath]: old })
      setFileFault((point, path) => {
        if (point === stop && path.endsWith('fix_plan.json')) throw new Error('killed')
      })
      await expect(fixPlan.write(project, view)).rejects.toThrow('killed')
      setFileFault(null)
      seen.add(read())
    }
    await fixPlan.write(project, view)
    expect([...seen]).toEqual([old, read()])
    // A temporary file that was cut short lies beside it, never in its place.
    put(project.root, { [`${planPath}.123.tmp`]: old.slice(0, 50) })
    expect(fixPlan.validate(project)).toEqual([])
  })

  it('S0-19 keeps plain learnings, adds what agents learnt, each once', async () => {
    const { plan, perform, write, project } = open()
    await write()
    put(project.root, { [planPath]: JSON.stringify({ ...plan(), learnings: ['by hand'] }) })
    perform('TASK-036', 'choose_task', { kind: 'engine' })
    perform('TASK-036', 'implementation', agent({ signals: [{ type: 'learn', text: 'use the helper' }] }))
    await write()
    await write()
    expect(plan().learnings).toEqual([
      'by hand',
      { task: 'TASK-036', step: 'implementation', text: 'use the helper', at: '2026-03-25T10:30:01' },
    ])
  })

  it('S0-78 comes with a script that takes the spec’s folder', async () => {
    const { project, write } = open()
    await write()
    const script = join(project.root, 'docs/specs/001-feature/_ralph_loop/run-ralph.sh')
    expect(statSync(script).mode & 0o777).toBe(0o755)
    expect(readFileSync(script, 'utf8')).toMatch(
      /SPEC_FOLDER="\$\(cd "\$\{1:-[\s\S]*step .*--spec "\$SPEC_FOLDER"/u,
    )
    put(project.root, { 'docs/specs/001-feature/_ralph_loop/run-ralph.sh': '# mine\n' })
    await write()
    expect(readFileSync(script, 'utf8')).toBe('# mine\n')
  })
})

describe('the tasks', () => {
  it('S0-30 S0-31 C-25 are the files TASK-*.md, reports left out, with what their front matter says', () => {
    const root = tempProject({
      [`${tasks}/TASK-036.md`]:
        '---\nid: TASK-036\ntitle: "Add: a cache"\nstatus: pending\nlang: spring\ndependencies: [TASK-7, TASK-037]\ncomplexity_score: 42\n---\nText\n',
      [`${tasks}/TASK-036--review.md`]: '---\nverdict: pass\n---\n',
      [`${tasks}/TASK-037-slug.md`]: '# Only a heading\n',
      [`${tasks}/TASK-x.md`]: 'no',
      [`${tasks}/notes.md`]: 'no',
      'docs/specs/empty/spec.md': 'no tasks',
    })
    expect(readTaskFiles(root, '001-feature').map(({ front: _, ...file }) => file)).toEqual([
      {
        ...{
          spec: '001-feature',
          label: 'TASK-036',
          number: 36,
          path: `${tasks}/TASK-036.md`,
          title: 'Add: a cache',
        },
        ...{ status: 'pending', lang: 'spring', dependencies: ['TASK-7', 'TASK-037'], complexity: 42 },
        ...{ verify: [], allows: [] },
      },
      {
        ...{
          spec: '001-feature',
          label: 'TASK-037',
          number: 37,
          path: `${tasks}/TASK-037-slug.md`,
          title: 'Only a heading',
        },
        ...{ status: '', lang: null, dependencies: [], complexity: null, verify: [], allows: [] },
      },
    ])
    const [first] = fixPlan.read({ root, settings: {} }).tasks
    expect(first).toMatchObject({
      id: '001-feature/TASK-036',
      label: 'TASK-036',
      needs: ['001-feature/TASK-7', '001-feature/TASK-037'],
    })
  })

  it('S0-18 S0-34 completed ones are done, also outside the range; optional and superseded ones are never chosen', async () => {
    const files = {
      ...six,
      [`${tasks}/TASK-036.md`]: taskText({ id: 'TASK-036', status: 'completed' }),
      [`${tasks}/TASK-039.md`]: taskText({ id: 'TASK-039', status: 'completed' }),
      [`${tasks}/TASK-040.md`]: taskText({ id: 'TASK-040', status: 'optional' }),
      [`${tasks}/TASK-041.md`]: taskText({ id: 'TASK-041', status: 'superseded' }),
    }
    const { project, journal, plan, write } = open(files, { fromTask: 'TASK-037' })
    const recorded = fixPlan.recorded(project)
    expect(recorded.map(one => one.id)).toEqual(['001-feature/TASK-036', '001-feature/TASK-039'])
    for (const { id, source } of recorded) journal.record(id, { type: 'task.recorded', source })
    await write()
    expect(plan()).toMatchObject({
      task_range: { from: 'TASK-037', to: 'TASK-041', total_in_range: 3 },
      state: { iteration: 1, range_progress: { done_in_range: 1, total_in_range: 3 } },
      ...{ done: ['TASK-036', 'TASK-039'], pending: ['TASK-037', 'TASK-038'] },
      ...{ optional: ['TASK-040'], superseded: ['TASK-041'] },
    })
    expect([...(fixPlan.scope?.(project) ?? [])]).toEqual(
      ['37', '38', '39'].map(one => `001-feature/TASK-0${one}`),
    )
  })

  it('S0-32 S0-33 either end of the range may be left out; both are inclusive', () => {
    const scope = (settings: Record<string, unknown>) =>
      [...(fixPlan.scope?.({ root: tempProject(six), settings }) ?? [])].map(id => Number(id.slice(-2)))
    expect(scope({})).toEqual(numbers)
    expect(scope({ fromTask: 'TASK-038' })).toEqual([38, 39, 40, 41])
    expect(scope({ toTask: '37' })).toEqual([36, 37])
    expect(scope({ fromTask: 'task-37', toTask: 'TASK-0039' })).toEqual([37, 38, 39])
    expect(() => scope({ fromTask: 'TASK-040', toTask: 'TASK-037' })).toThrow('empty')
    expect(() => scope({ fromTask: 'forty' })).toThrow("'forty' is not a task id")
  })

  it('names every problem with its file and line', () => {
    const root = tempProject({
      [`${tasks}/TASK-001.md`]: '---\nid: TASK-002\nstatus: whenever\ncomplexity: high\n---\n',
      [`${tasks}/TASK-003.md`]: taskText({ id: 'TASK-003', needs: ['TASK-099'] }),
      [`${tasks}/TASK-003-twice.md`]: 'text',
      [planPath]: '{ "state": { "step": "deploy" } }',
    })
    const found = fixPlan
      .validate({ root, settings: {} })
      .map(({ severity, file, line, message }) => [severity, file, line, message])
    expect(found).toEqual(
      expect.arrayContaining([
        ['error', `${tasks}/TASK-001.md`, 2, 'has the id TASK-002, but the name of TASK-001'],
        ['warning', `${tasks}/TASK-001.md`, 3, "unknown status 'whenever'; it counts as pending"],
        ['warning', `${tasks}/TASK-001.md`, 4, 'complexity is not a number; the task comes last'],
        ['error', `${tasks}/TASK-001.md`, 6, 'says nothing beyond its front matter'],
        ['error', `${tasks}/TASK-003.md`, null, expect.stringContaining('TASK-099')],
        ['error', planPath, null, `${planPath} has the unknown state.step "deploy"`],
      ]),
    )
    expect(found.some(([, , , message]) => String(message).includes('has two files'))).toBe(true)
  })
})

describe('the two readings of one drawing', () => {
  it('C-21 nothing but choose_task leads to complete: the others lead where the text says', () => {
    const targets = Object.fromEntries(
      Object.entries(stepwise.stages).map(([name, stage]) => [
        name,
        typeof stage.on.pass === 'string' ? stage.on.pass : '',
      ]),
    )
    expect(targets).toEqual({
      ...{ choose_task: 'implementation', implementation: 'review', review: 'cleanup', fix: 'review' },
      ...{ cleanup: 'sync', sync: 'update_done', update_done: 'done' },
    })
  })
})

const someTask = { id: '', title: '', spec: '', needs: [], order: 0, verify: [], allows: [] }
