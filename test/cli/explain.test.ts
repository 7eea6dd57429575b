import { afterEach, describe, expect, it } from 'vitest'
import type { AnyEvent } from '../../src/core/event.ts'
import { stories } from '../../src/presets/stories.ts'
import { runStream } from '../../src/store/log.ts'
import { entryOf, foldEvent, newFolds } from '../../src/store/replay.ts'
import { agentOutcome, doneTask, gate, gates, openJournal, writeJournal } from '../helpers/journal.ts'
import { createProject, ralph, type TestProject } from '../helpers/ralph.ts'
import { honest, specPath, storyProject } from '../helpers/story-project.ts'

let project: TestProject

afterEach(() => project.cleanup())

const minutesAgo = (count: number) => Date.now() - count * 60_000

async function explain(...args: string[]): Promise<string> {
  const { stdout, code } = await ralph(project, ['explain', ...args])
  expect(code).toBe(0)
  return stdout
}

describe('ralph explain', () => {
  it('in a project where nothing has run', async () => {
    project = createProject()
    expect(await explain()).toBe('nothing has run here yet.\n  → ralph run  begin\n')
    expect(project.exists('.ralph')).toBe(false)
  })

  it('says why a run was cut off and what is next, and why that', async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, minutesAgo(20), writer => {
      writer.run('r1')
      doneTask(writer, '1.1')
      writer.add('1.2')
      writer.add('1.3')
      writer.start('1.2', '@baseline')
      writer.finish('1.2', '@baseline', gates([gate('npm test')], 'baseline'))
      writer.start('1.2', 'implement')
    })
    const text = await explain()
    expect(text).toContain(
      'The last run began 20m ago and wrote no end: it was made of single steps, or cut off.',
    )
    expect(text).toContain(
      'Next: 1.2: call the agent (stage implement, attempt 1/3), because its work has begun and stands in the tree.',
    )
    expect(text).toContain('→ ralph run  go on')
    const json = JSON.parse(await explain('--json'))
    expect(json).toMatchObject({ task: null, next: { task: '1.2' }, stopped: [] })
  })

  it('says what stopped a run, and what is next all the same', async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, minutesAgo(5), writer => {
      writer.run('r1')
      writer.add('1.1')
      writer.add('1.2')
      writer.start('1.1', '@baseline')
      writer.finish('1.1', '@baseline', gates([gate('npm test')], 'baseline'))
      writer.start('1.1', 'implement')
      const fault = { kind: 'auth', message: 'Please log in' } as const
      writer.finish('1.1', 'implement', agentOutcome('1.1', { fault, signals: [] }))
      writer.end({ type: 'run.finished', reason: 'held', message: 'auth: Please log in' })
    })
    const text = await explain()
    expect(text).toContain(
      'because something is in the way that is not the task’s fault (login, permission, outage): auth: Please log in.',
    )
    expect(text).toContain('Next: 1.2: run the gates once')
    expect(text).toContain('it is the first open task by order')
    expect(text).toContain('✗ 1.1 is held: auth: Please log in')
    const held = await explain('1.1')
    expect(held).toContain(
      'It is held by something that is not its fault, and goes on where it was. The reason: auth: Please log in.',
    )
    expect(held).toContain('→ ralph doctor')
  })

  it('says that the budget of an open run is used up', async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, minutesAgo(5), writer => {
      writer.run('r1', { workflow: { ...stories, limits: { iterations: 1, attempts: 3 } } })
      doneTask(writer, '1.1')
      writer.add('1.2')
    })
    expect(await explain()).toContain('The budget is used up: 1 of 1 iterations used.')
  })

  it('tells of one task: its failures, what it needs, what a person can do', async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, minutesAgo(5), writer => {
      writer.run('r1')
      writer.add('1.1', { needs: ['1.2', '9.9'] })
      writer.add('1.2')
      writer.start('1.1', '@baseline')
      writer.finish('1.1', '@baseline', gates([gate('npm test')], 'baseline'))
      for (let attempt = 1; attempt <= 2; attempt++) {
        writer.start('1.1', 'implement')
        writer.finish(
          '1.1',
          'implement',
          agentOutcome('1.1', { signals: [{ type: 'fail', id: '1.1', reason: 'too hard', legacy: false }] }),
        )
        writer.finish('1.1', '@restore', { kind: 'restore', kept: null, branch: null })
      }
      writer.task('1.1', { type: 'task.steered', text: 'look at the date helper' })
    })
    const text = await explain('1.1')
    expect(text).toContain('1.1 Title of 1.1\nIt is open; 2 of 3 tries failed.\n')
    expect(text).toMatch(/Attempt 2 \(.*\) failed at implement: too hard\./)
    expect(text).toContain('The same failure came 2 times in a row.')
    expect(text).toContain('It depends on 1.2, which is open; with --strict-deps it waits for that.')
    expect(text).toContain('It depends on 9.9, which is not in the backlog')
    expect(text).toContain('The next prompt will tell the agent: look at the date helper')
    expect(text).toContain('Next: call the agent (stage implement, attempt 3/3).')
    expect(text).toContain('→ ralph steer 1.1 "…"')
    expect(text).toContain('→ ralph cancel 1.1')
  })

  it('knows whether the last run passes over tasks whose needs are not done', async () => {
    const spec = (id: string, needs = '') =>
      `---\nstatus: pending\n${needs}---\n# ${id}\n\n## Acceptance criteria\n- [ ] x\n`
    project = storyProject({
      stories: ['1.1', '1.2', '1.3'],
      script: [{ do: honest() }],
      verify: 'none',
      files: { [specPath('1.1')]: spec('1.1', 'depends_on: ["1.3"]\n') },
    })
    expect((await ralph(project, ['run', '--strict-deps', '-n', '1'])).code).toBe(1)
    expect(await explain()).toContain('Next: 1.3: ')
    expect(await explain('1.1')).toContain(
      'It depends on 1.3, which is open; it waits for that (--strict-deps).',
    )
    // Without the flag the next run takes the first one, and so says the explanation.
    expect((await ralph(project, ['run', '-n', '1'])).code).toBe(1)
    expect(await explain('1.1')).not.toContain('waits for that (')
  })

  it('says that nothing can be chosen when all that is left waits for its needs', async () => {
    project = createProject({}, { git: false })
    const store = openJournal(project)
    const folds = newFolds()
    const events = [
      {
        ...{ type: 'run.started' as const, workflow: stories, verify: ['npm test'], host: 'test', pid: 1 },
        options: { strict: true },
      },
      {
        type: 'task.added' as const,
        task: { id: '1.1', title: 'T', spec: '', needs: ['9.9'], order: 0, verify: [], allows: [] },
      },
    ]
    await store.log.append(
      events.map(body => {
        const event = { v: 1, at: Date.now(), run: 'r1', ...body } as AnyEvent
        const stream = body.type === 'run.started' ? runStream('r1') : '1.1'
        return entryOf({ stream, seq: 1, event }, foldEvent(folds, stream, event))
      }),
    )
    store.close()
    expect(await explain()).toContain(
      '1 open task cannot be chosen: with --strict-deps a task waits for its needs.',
    )
  })

  it('tells why a done task counts as done, and refuses an unknown one', async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, minutesAgo(5), writer => {
      writer.run('r1')
      doneTask(writer, '1.1')
      writer.end({ type: 'run.finished', reason: 'complete', message: '1 of 1 task done with evidence' })
    })
    expect(await explain()).toContain('Every task is done; nothing is left to choose.')
    expect(await explain('1.1')).toContain('It is done, and the gates proved it.\n  → ralph evidence 1.1')
    const unknown = await ralph(project, ['explain', '7'])
    expect(unknown.code).toBe(1)
    expect(unknown.stderr).toContain('there is no task 7')
  })
})
