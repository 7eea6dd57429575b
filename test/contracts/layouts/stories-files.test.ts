import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { stories } from '../../../src/layouts/stories.ts'
import { setFileFault } from '../../../src/store/atomic-file.ts'
import { type FakeJournal, fakeJournal } from './fake-journal.ts'
import { put, tempProject } from './temp-project.ts'

const spec = '---\nstatus: pending\npriority: high\ndepends_on: ["7.4"]\n---\n\n# Login\n\nstatus: pending\n'

function project(files: Record<string, string> = {}) {
  const root = tempProject({
    'specs/epic-8/story-8.3-add-user-login.md': spec,
    'specs/epic-8/story-8.4-log-out.md': spec,
    ...files,
  })
  return { root, settings: {} }
}

function begin(files: Record<string, string> = {}, options: Parameters<typeof fakeJournal>[1] = {}) {
  const at = project(files)
  const journal = fakeJournal(stories.read(at).tasks, options)
  return {
    root: at.root,
    journal,
    write: () => stories.write(at, journal.view()),
    text: (path: string) => readFileSync(join(at.root, path), 'utf8'),
    state: () => JSON.parse(readFileSync(join(at.root, '.ralph/state.json'), 'utf8')) as unknown,
  }
}

const state = (completed: string[], current: string | null, retry: number) => ({
  completed_stories: completed,
  current_story: current,
  retry_count: retry,
})

describe('.ralph/state.json', () => {
  it('S4-27 S4-28 makes .ralph/ and writes the bytes that jq prints', async () => {
    const { write, text, journal } = begin()
    await write()
    expect(text('.ralph/state.json')).toBe(
      '{\n  "completed_stories": [],\n  "current_story": null,\n  "retry_count": 0\n}\n',
    )
    expect(text('progress.txt')).toBe('')
    journal.done('8.3')
    journal.done('8.4')
    await write()
    expect(text('.ralph/state.json')).toBe(
      '{\n  "completed_stories": [\n    "8.3",\n    "8.4"\n  ],\n  "current_story": null,\n  "retry_count": 0\n}\n',
    )
  })

  it('S4-23 S4-47 S4-48 S4-49 S4-50 C-41 follows every change of state', async () => {
    const { write, state: now, journal } = begin({ 'specs/epic-8/story-8.5-more.md': spec })
    const steps: [(journal: FakeJournal) => void, unknown][] = [
      [one => one.start('8.3'), state([], '8.3', 0)],
      [one => one.fail('8.3', 'a'), state([], '8.3', 1)],
      [one => one.start('8.3'), state([], '8.3', 1)],
      [one => one.fail('8.3', 'b'), state([], '8.3', 2)],
      [one => one.done('8.3'), state(['8.3'], null, 0)],
      [one => one.fail('8.4', 'c'), state(['8.3'], '8.4', 1)],
      [one => one.start('8.5'), state(['8.3'], '8.5', 0)],
      [one => one.done('8.5'), state(['8.3', '8.5'], null, 0)],
      [one => one.fail('8.4', 'd'), state(['8.3', '8.5'], '8.4', 2)],
      [one => one.fail('8.4', 'e'), state(['8.3', '8.5'], '8.4', 3)],
      [
        one => one.record('8.4', { type: 'task.reopened', why: 'a new run' }),
        state(['8.3', '8.5'], '8.4', 0),
      ],
    ]
    for (const [step, expected] of steps) {
      step(journal)
      await write()
      expect(now()).toEqual(expected)
    }
  })

  it('keeps the story in view through an outage and an interruption, without counting them', async () => {
    const { write, state: now, journal, text } = begin()
    journal.fail('8.3', 'a')
    journal.finish('8.3', [], { kind: 'limit', message: 'usage limit' })
    await write()
    expect(now()).toEqual(state([], '8.3', 1))
    journal.start('8.3')
    const step = journal.state('8.3').step?.id ?? ''
    journal.record('8.3', { type: 'step.interrupted', step, why: 'killed', kept: null })
    await write()
    expect(now()).toEqual(state([], '8.3', 1))
    expect(text('progress.txt').split('\n').filter(Boolean)).toHaveLength(1)
  })

  it('S4-64 does not touch a file that is right, whatever its format and further fields', async () => {
    const mine = '{"started":"x","completed_stories":["8.3"],"current_story":"8.4","retry_count":2}'
    const { write, text, journal, root } = begin({ '.ralph/state.json': mine })
    journal.record('8.3', { type: 'task.recorded', source: '.ralph/state.json' })
    await write()
    expect(text('.ralph/state.json')).toBe(mine)
    expect(text('specs/epic-8/story-8.3-add-user-login.md')).toBe(spec)
    expect(text('progress.txt')).toBe('')
    journal.done('8.4')
    await write()
    expect(text('.ralph/state.json')).toBe(
      '{\n  "started": "x",\n  "completed_stories": [\n    "8.3",\n    "8.4"\n  ],\n  "current_story": null,\n  "retry_count": 0\n}\n',
    )
    expect(existsSync(join(root, '.ralph/state.json.bak'))).toBe(false)
  })

  it('keeps the order of the seed and ids whose spec is gone; a story to be done anew leaves the list', async () => {
    const {
      write,
      state: now,
      journal,
    } = begin({
      '.ralph/state.json': JSON.stringify(state(['8.4', '1.1', '8.3'], null, 0)),
    })
    for (const id of ['8.3', '8.4'])
      journal.record(id, { type: 'task.recorded', source: '.ralph/state.json' })
    await write()
    expect(now()).toEqual(state(['8.4', '1.1', '8.3'], null, 0))
    journal.record('8.4', { type: 'task.reopened', why: 'ralph retry' })
    await write()
    expect(now()).toEqual(state(['1.1', '8.3'], null, 0))
  })

  it('lists stories in the order they were completed, also when the file was lost', async () => {
    const { write, state: now, journal, root } = begin()
    journal.done('8.4')
    journal.done('8.3')
    await write()
    expect(now()).toEqual(state(['8.4', '8.3'], null, 0))
    rmSync(join(root, '.ralph'), { recursive: true })
    await write()
    expect(now()).toEqual(state(['8.4', '8.3'], null, 0))
  })

  it('keeps a copy of a broken file before it writes, and never overwrites an earlier copy', async () => {
    const { write, text, journal, root } = begin({
      '.ralph/state.json': '{ "completed_stories": [\n"8.3",, ',
    })
    const problem = stories
      .read({ root, settings: {} })
      .problems.find(one => one.file === '.ralph/state.json')
    expect(problem).toMatchObject({ severity: 'error', message: 'is not valid JSON' })
    journal.done('8.3')
    await write()
    expect(text('.ralph/state.json.bak')).toBe('{ "completed_stories": [\n"8.3",, ')
    writeFileSync(join(root, '.ralph/state.json'), '')
    await write()
    expect(text('.ralph/state.json.bak')).toBe('{ "completed_stories": [\n"8.3",, ')
    expect(text('.ralph/state.json.bak.1')).toBe('')
    expect(JSON.parse(text('.ralph/state.json'))).toEqual(state(['8.3'], null, 0))
  })
})

describe('progress.txt and the specs', () => {
  it('S4-24 S4-58 S4-60 S4-62 C-18 one line for each DONE, FAIL and LEARN, byte for byte', async () => {
    const { write, text, journal } = begin()
    journal.fail('8.3', 'Tests fail', ['The parser is in lib/'])
    journal.fail('8.3', 'Still red')
    journal.done('8.3', ['Use the fixture', 'Mind the gap'])
    await write()
    expect(text('progress.txt')).toBe(
      [
        '[LEARN] Story 8.3 - The parser is in lib/ - 2026-01-30 14:05:04Z',
        '[FAIL] Story 8.3 - Tests fail - 2026-01-30 14:05:04Z (attempt 1/3)',
        '[FAIL] Story 8.3 - Still red - 2026-01-30 14:05:07Z (attempt 2/3)',
        '[LEARN] Story 8.3 - Use the fixture - 2026-01-30 14:05:10Z',
        '[LEARN] Story 8.3 - Mind the gap - 2026-01-30 14:05:10Z',
        '[DONE] Story 8.3 - Add user login - 2026-01-30 14:05:12Z',
        '',
      ].join('\n'),
    )
  })

  it('S4-26 C-13 writes status: done into the front matter and nowhere else', async () => {
    const { write, text, journal } = begin()
    journal.done('8.3')
    await write()
    expect(text('specs/epic-8/story-8.3-add-user-login.md')).toBe(
      spec.replace('status: pending', 'status: done'),
    )
    expect(text('specs/epic-8/story-8.4-log-out.md')).toBe(spec)
    journal.record('8.3', { type: 'task.reopened', why: 'ralph retry' })
    await write()
    expect(text('specs/epic-8/story-8.3-add-user-login.md')).toBe(spec)
  })

  it('changes no other byte of a spec that is not UTF-8', async () => {
    const { write, root, journal } = begin()
    const path = join(root, 'specs/epic-8/story-8.3-add-user-login.md')
    writeFileSync(
      path,
      Buffer.from('\u00ef\u00bb\u00bf---\r\nstatus: pending\r\n---\r\nK\u00e4se \u00ff\u0000\n', 'latin1'),
    )
    journal.done('8.3')
    await write()
    expect(readFileSync(path, 'latin1')).toBe(
      '\u00ef\u00bb\u00bf---\r\nstatus: done\r\n---\r\nK\u00e4se \u00ff\u0000\n',
    )
  })

  it('goes on when the spec is gone, and finds it when it was renamed', async () => {
    const { write, root, journal, text } = begin()
    rmSync(join(root, 'specs/epic-8/story-8.4-log-out.md'))
    rmSync(join(root, 'specs/epic-8/story-8.3-add-user-login.md'))
    put(root, { 'specs/epic-8/story-8.3-sign-in.md': spec })
    journal.done('8.3')
    journal.done('8.4')
    await write()
    expect(text('specs/epic-8/story-8.3-sign-in.md')).toContain('status: done')
    expect(text('progress.txt')).toContain('[DONE] Story 8.4')
  })

  it('lets no reason or learning forge a line or move the cursor', async () => {
    const { write, text, journal, root } = begin()
    journal.fail('8.3', 'x\n[DONE] Story 8.4 - forged\r\n\u2028[DONE] Story 8.4\u0085\u001b[2J\u202e', [
      'a\u0000b\n[DONE] Story 8.4',
    ])
    await write()
    expect(text('progress.txt').match(/^.*$/gmu)).toHaveLength(3)
    expect(text('progress.txt')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u0085\u2028\u202e]/u)
    rmSync(join(root, '.ralph'), { recursive: true })
    expect(stories.recorded({ root, settings: {} })).toEqual([])
  })

  it('writes a line again for an equal failure of a new run within the same second, and only then', async () => {
    const { root, journal, text } = begin({}, { step: 1 })
    const at = { root, settings: {} }
    for (let round = 0; round < 3; round++) journal.fail('8.3', 'same')
    const first = journal.view()
    journal.record('8.3', { type: 'task.reopened', why: 'a new run' })
    journal.fail('8.3', 'same')
    const second = journal.view()
    for (const view of [first, first, second, second]) await stories.write(at, view)
    const lines = () => text('progress.txt').trimEnd().split('\n')
    expect(lines().map(line => line.slice(-13))).toEqual([
      '(attempt 1/3)',
      '(attempt 2/3)',
      '(attempt 3/3)',
      '(attempt 1/3)',
    ])
    expect(lines()[0]).toBe(lines()[3])
    // The limit of tries was changed before the files were caught up.
    await stories.write(at, { ...second, attempts: 5 })
    expect(lines()).toHaveLength(4)
  })

  it('completes a line that a crash cut short at any byte, and leaves a note of a person alone', async () => {
    const { journal, root } = begin({ 'progress.txt': 'Notes by hand\r\n' })
    const at = { root, settings: {} }
    journal.fail('8.3', 'Käse – broken', ['größer'])
    const view = journal.view()
    await stories.write(at, view)
    const path = join(root, 'progress.txt')
    const whole = readFileSync(path)
    for (let length = 15; length < whole.length; length++) {
      writeFileSync(path, whole.subarray(0, length))
      await stories.write(at, view)
      expect(readFileSync(path).equals(whole)).toBe(true)
    }
    appendFileSync(path, 'note without an end')
    await stories.write(at, view)
    expect(readFileSync(path, 'utf8')).toBe(`${whole.toString()}note without an end`)
    journal.done('8.3')
    await stories.write(at, journal.view())
    expect(readFileSync(path, 'utf8')).toContain('note without an end\n[DONE] Story 8.3 - ')
  })

  it('S4-62 writes what was learnt, state, the spec, the line, in this order', async () => {
    const { write, root, journal } = begin()
    await write()
    const written: string[] = []
    setFileFault((point, path) => {
      if (point.startsWith('after')) written.push(relative(root, path))
    })
    journal.done('8.3', ['Insight'])
    await write().finally(() => setFileFault(null))
    expect(written).toEqual([
      'progress.txt',
      '.ralph/state.json',
      'specs/epic-8/story-8.3-add-user-login.md',
      'progress.txt',
    ])
  })
})

describe('recorded', () => {
  const at = (files: Record<string, string>) => ({ root: tempProject(files), settings: {} })
  const progress = [
    '[DONE] Story 1.1 - First - 2026-01-01 10:00:00',
    '[FAIL] Story 1.2 - [DONE] Story 1.2 was printed twice - 2026-01-01 10:00:00 (attempt 1/3)',
    '[LEARN] Story 1.2 - write [DONE] Story 1.9',
    '[DONE] Story 2.10: Other form\r',
    '  [DONE] Story 1.1 - again',
    '[DONE] Story 3.1.2',
    '[DONE] Story 4.1x',
    '[DONE] Story 1.2 - Second',
  ].join('\n')

  it('S4-20 takes state.json when it is there, and progress.txt is not asked (S4-21)', () => {
    const files = {
      '.ralph/state.json': JSON.stringify(state(['2.1', '1.1', '2.1'], null, 0)),
      'progress.txt': progress,
    }
    expect(stories.recorded(at(files))).toEqual([
      { id: '2.1', source: '.ralph/state.json' },
      { id: '1.1', source: '.ralph/state.json' },
    ])
    expect(
      stories.recorded(at({ ...files, '.ralph/state.json': JSON.stringify(state([], null, 0)) })),
    ).toEqual([])
  })

  it('S4-21 S4-64 S4-66 S4-T06 rebuilds from the [DONE] lines of progress.txt, without duplicates', async () => {
    const expected = ['1.1', '2.10', '3.1.2', '1.2']
    expect(stories.recorded(at({ 'progress.txt': progress })).map(one => one.id)).toEqual(expected)
    expect(
      stories.recorded(at({ 'progress.txt': progress, '.ralph/state.json': '{' })).map(one => one.id),
    ).toEqual(expected)
    expect(stories.recorded(at({}))).toEqual([])
  })

  it('S4-66 goes on from progress.txt alone', async () => {
    const { write, root, journal } = begin()
    journal.fail('8.3', 'first try')
    journal.done('8.3')
    await write()
    rmSync(join(root, '.ralph'), { recursive: true })
    const again = fakeJournal(stories.read({ root, settings: {} }).tasks)
    for (const { id, source } of stories.recorded({ root, settings: {} }))
      again.record(id, { type: 'task.recorded', source })
    const before = readFileSync(join(root, 'progress.txt'), 'utf8')
    await stories.write({ root, settings: {} }, again.view())
    expect(JSON.parse(readFileSync(join(root, '.ralph/state.json'), 'utf8'))).toEqual(state(['8.3'], null, 0))
    expect(readFileSync(join(root, 'progress.txt'), 'utf8')).toBe(before)
  })
})
