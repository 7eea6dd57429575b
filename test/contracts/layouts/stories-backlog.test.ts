import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { UserError } from '../../../src/core/errors.ts'
import type { Problem } from '../../../src/layouts/layout.ts'
import { findLayout } from '../../../src/layouts/registry.ts'
import { newStory } from '../../../src/layouts/stories/new-story.ts'
import { compareIds } from '../../../src/layouts/stories/story-id.ts'
import { stories } from '../../../src/layouts/stories.ts'
import { tempProject } from './temp-project.ts'

const body = '\n# Story\n\nText.\n\n## Acceptance Criteria\n\n1. Works.\n'
const spec = (fields = '') => `---\nstatus: pending\n${fields}---\n${body}`
const open = (files: Record<string, string | Uint8Array>) => ({ root: tempProject(files), settings: {} })
const ids = (files: Record<string, string | Uint8Array>) =>
  stories.read(open(files)).tasks.map(task => task.id)
const brief = ({ severity, file, line, message }: Problem) => `${severity} ${file}:${line ?? ''} ${message}`

/** Specs for these ids, each in its epic's folder. */
function specs(...list: string[]): Record<string, string> {
  return Object.fromEntries(list.map(id => [`specs/epic-${id.split('.')[0]}/story-${id}-x.md`, spec()]))
}

describe('the backlog', () => {
  it('G-15 sorts by number, epics too, and knows ids of three parts and files without a slug', () => {
    const files = {
      ...specs('10.1', '9.2', '1.10', '1.2', '1.2.10', '1.2.9', '12.1'),
      'specs/epic-2/story-2.1.md': spec(),
    }
    expect(ids(files)).toEqual(['1.2', '1.2.9', '1.2.10', '1.10', '2.1', '9.2', '10.1', '12.1'])
    expect(stories.read(open(files)).problems).toEqual([])
  })

  it('sorts ids in a total order', () => {
    const id = fc.array(fc.nat(200), { minLength: 2, maxLength: 4 }).map(parts => parts.join('.'))
    fc.assert(
      fc.property(fc.array(id), list => {
        const sorted = [...list].sort(compareIds)
        expect([...list].reverse().sort(compareIds)).toEqual(sorted)
        for (const [at, one] of sorted.entries())
          expect(compareIds(one, sorted[at + 1] ?? one)).toBeLessThanOrEqual(0)
      }),
    )
  })

  it('S4-18 derives the title from the file name', () => {
    const files = {
      'specs/epic-8/story-8.3-add-user-login.md': spec(),
      'specs/epic-8/story-8.4-élan_vital--2.md': spec(),
      'specs/epic-8/story-8.5.md': spec(),
      'specs/epic-8/story-8.6-.md': spec(),
    }
    const titles = stories.read(open(files)).tasks.map(task => task.title)
    expect(titles).toEqual(['Add user login', 'Élan vital 2', 'Story 8.5', 'Story 8.6'])
  })

  it('S4-19 S4-34 finds the spec by id and gives it whole, as it is at that moment', () => {
    const project = open({ 'specs/epic-8/story-8.3-a.md': spec(), 'specs/epic-8/story-8.30-b.md': 'other' })
    const [task] = stories.read(project).tasks
    if (!task) throw new Error('no task')
    expect(task.spec).toBe('specs/epic-8/story-8.3-a.md')
    expect(stories.spec(project, task)).toBe(spec())
    expect(stories.spec(project, { ...task, spec: 'specs/epic-8/story-8.3-old-name.md' })).toBe(spec())
    expect(() => stories.spec(project, { ...task, id: '8.4', spec: '' })).toThrow(UserError)
  })

  it('S4-68 S4-69 takes needs, verify and allows from the front matter and tolerates all else', () => {
    const fields =
      'priority: 2\nestimation: L\nfrs: [FR1]\nbmad: {a: 1}\ndepends_on: [7.10, "7.4"]\nverify:\n  - npm test\n  - npm run lint\nallows: package.json\n'
    const { tasks, problems } = stories.read(
      open({ ...specs('7.4', '7.10'), 'specs/epic-8/story-8.3-a.md': spec(fields) }),
    )
    expect(tasks[2]).toEqual({
      id: '8.3',
      title: 'A',
      spec: 'specs/epic-8/story-8.3-a.md',
      needs: ['7.10', '7.4'],
      order: 2,
      priority: 2,
      verify: ['npm test', 'npm run lint'],
      allows: ['package.json'],
    })
    expect(problems).toEqual([])
  })

  it('is empty where there is nothing, and stops at nothing that is in the way', () => {
    expect(stories.read(open({}))).toEqual({ tasks: [], missing: [], problems: [] })
    const project = open({ 'specs/readme.md': 'x', 'specs/epic-1': 'a file', 'specs/epic-2/notes.txt': 'x' })
    mkdirSync(join(project.root, 'specs/epic-3/story-3.1-folder.md'), { recursive: true })
    const { tasks, problems } = stories.read(project)
    expect(tasks).toEqual([])
    expect(problems.map(brief)).toEqual([
      'error specs/epic-3/story-3.1-folder.md: cannot be read: not a file',
    ])
  })
})

describe('the order', () => {
  it('S4-07 G-15 comes from specs/order.txt; what it leaves out comes last, with a warning', () => {
    const project = open({
      ...specs('1.1', '1.2', '2.1', '3.1'),
      'specs/order.txt': '# first things first\n2.1\n\n1.2 # then this\n1.1\n',
    })
    const { tasks, problems } = stories.read(project)
    expect(tasks.map(task => [task.id, task.order])).toEqual([
      ['2.1', 0],
      ['1.2', 1],
      ['1.1', 2],
      ['3.1', 3],
    ])
    expect(problems.map(brief)).toEqual([
      'warning specs/epic-3/story-3.1-x.md: story 3.1 is not in specs/order.txt; it comes last',
    ])
  })

  it('S4-07 reads a STORY_ORDER array, copied or in the seed’s own ralph.sh', () => {
    const script =
      '#!/bin/bash\nITERATIONS=45\nSTORY_ORDER=(\n  # epic 1\n  "2.1" 1.2\n  \'1.1\'\n)\nfind_next_story() { echo 9.9; }\n'
    expect(ids({ ...specs('1.1', '1.2', '2.1'), 'ralph.sh': script })).toEqual(['2.1', '1.2', '1.1'])
    expect(ids({ ...specs('1.1', '1.2', '2.1'), 'specs/order.txt': 'STORY_ORDER=(2.1 1.1)\n9.9\n' })).toEqual(
      ['2.1', '1.1', '1.2'],
    )
    expect(ids({ ...specs('1.1', '2.1'), 'ralph.sh': script, 'specs/order.txt': '1.1\n2.1\n' })).toEqual([
      '1.1',
      '2.1',
    ])
    expect(ids({ ...specs('1.1', '2.1'), 'ralph.sh': 'exec ralph run\n' })).toEqual(['1.1', '2.1'])
  })

  it('S4-35 G-23 lists every id without a spec, and goes on with the others', () => {
    const project = open({ ...specs('1.1', '2.1'), 'specs/order.txt': '1.1\n9.1\n2.1\n9.2\n' })
    const { tasks, missing, problems } = stories.read(project)
    expect(tasks.map(task => task.id)).toEqual(['1.1', '2.1'])
    expect(missing).toEqual(['9.1', '9.2'])
    expect(problems.map(brief)).toEqual([
      'warning specs/order.txt:2 no spec for story 9.1: specs/epic-9/story-9.1-*.md',
      'warning specs/order.txt:4 no spec for story 9.2: specs/epic-9/story-9.2-*.md',
    ])
    expect(stories.validate(project).map(one => one.severity)).toEqual(['error', 'error'])
  })

  it('does not ask for the spec of a story that is done, nor waits for it', () => {
    const project = open({
      'specs/epic-2/story-2.1-x.md': spec('depends_on: [1.1]\n'),
      'specs/order.txt': '1.1\n2.1\n',
      'progress.txt': '[DONE] Story 1.1 - x\n',
    })
    expect(stories.read(project)).toMatchObject({
      missing: [],
      problems: [],
      tasks: [{ id: '2.1', needs: [] }],
    })
  })

  it('names bad and double lines', () => {
    const project = open({ ...specs('1.1'), 'specs/order.txt': '1.1\nstory-1.1\n1.1\n7\n' })
    expect(stories.read(project).problems.map(brief)).toEqual([
      "warning specs/order.txt:2 'story-1.1' is not a story id",
      'warning specs/order.txt:3 story 1.1 is listed twice, first on line 1',
      "warning specs/order.txt:4 '7' is not a story id",
    ])
  })
})

describe('prerequisites', () => {
  it('S4-22 S4-63 asks for CLAUDE.md, then specs/, each with a fix; the content is not read', () => {
    const nothing = stories.prerequisites(open({}))
    expect(nothing.map(brief)).toEqual([
      'error CLAUDE.md: CLAUDE.md not found',
      'error specs: no specs/ directory',
    ])
    expect(nothing.every(one => one.fix !== '')).toBe(true)
    expect(stories.prerequisites(open({ 'CLAUDE.md': '', specs: 'a file' })).map(one => one.file)).toEqual([
      'specs',
    ])
    expect(stories.prerequisites(open({ 'CLAUDE.md': '', 'specs/x': '' }))).toEqual([])
  })

  it('takes AGENTS.md for other agents, another file or none when told so', () => {
    const missing = (files: Record<string, string>, settings: Record<string, unknown>) =>
      stories
        .prerequisites({ root: tempProject({ 'specs/x': '', ...files }), settings })
        .map(one => one.message)
    expect(missing({ 'AGENTS.md': '' }, { agents: ['codex'], contextFile: null })).toEqual([])
    expect(missing({ 'AGENTS.md': '' }, { agents: ['codex', 'claude'] })).toEqual(['CLAUDE.md not found'])
    expect(missing({}, { agents: ['codex'] })).toEqual(['CLAUDE.md or AGENTS.md not found'])
    expect(missing({ 'CLAUDE.md': '' }, { contextFile: 'docs/x.md' })).toEqual(['docs/x.md not found'])
    expect(missing({}, { contextFile: false })).toEqual([])
  })
})

describe('validate', () => {
  const check = (files: Record<string, string | Uint8Array>) => stories.validate(open(files)).map(brief)
  const one = 'specs/epic-1/story-1.1-x.md'

  it('finds nothing wrong with a good backlog', () => {
    expect(
      check({ ...specs('1.1', '1.2'), 'specs/epic-2/story-2.1-y.md': spec('depends_on: ["1.2"]\n') }),
    ).toEqual([])
  })

  it.each<[string, Record<string, string | Uint8Array>, string]>([
    ['no front matter', { [one]: body }, `warning ${one}:1 has no front matter`],
    [
      'front matter that is never closed',
      { [one]: `---\nstatus: pending\n${body}` },
      `warning ${one}:1 has no front matter`,
    ],
    [
      'a line that is no field',
      { [one]: `---\nstatus: pending\n???\n---\n${body}` },
      `warning ${one}:3 front matter: not a \`name: value\` line`,
    ],
    [
      'a field it cannot read',
      { [one]: spec('depends_on: {a: b}\n') },
      `error ${one}:3 'depends_on' is written in a form that Ralph does not read`,
    ],
    [
      'a field without a space',
      { [one]: spec('depends_on:[1.2]\n') },
      `error ${one}:3 front matter: 'depends_on:' needs a space after the colon`,
    ],
    [
      'a field twice',
      { [one]: spec('status: done\n') },
      `error ${one}:3 front matter: 'status' stands there twice`,
    ],
    ['no status', { [one]: `---\npriority: 1\n---\n${body}` }, `warning ${one}:1 has no status`],
    [
      'an unknown status',
      { [one]: spec().replace('pending', 'maybe') },
      `warning ${one}:2 unknown status 'maybe'; it counts as pending`,
    ],
    [
      'done without a record',
      { [one]: spec().replace('pending', 'done') },
      `warning ${one}:2 says done, but no record of it exists; it will be run`,
    ],
    [
      'an unknown need',
      { [one]: spec('depends_on: ["9.9"]\n') },
      `error ${one}:3 story 1.1: needs '9.9', which is not in the backlog`,
    ],
    [
      'an empty body',
      { [one]: '---\nstatus: pending\n---\n \n' },
      `error ${one}:4 says nothing beyond its front matter`,
    ],
    [
      'no acceptance criteria',
      { [one]: '---\nstatus: pending\n---\n# Story\n' },
      `warning ${one}:4 has no acceptance criteria`,
    ],
    [
      'a wrong folder',
      { 'specs/epic-7/story-8.3-x.md': spec() },
      'warning specs/epic-7/story-8.3-x.md: story 8.3 lies in the folder of epic 7',
    ],
    [
      'a second spec',
      { ...specs('1.1'), 'specs/epic-1/story-1.1-y.md': spec() },
      `error specs/epic-1/story-1.1-y.md: story 1.1 has two specs; ${one} is used`,
    ],
    [
      'a file that is not UTF-8',
      { [one]: Buffer.from(`${spec()}\nk\u00e4se`, 'latin1') },
      `error ${one}:13 is not UTF-8`,
    ],
    [
      'a very long spec',
      { [one]: spec() + 'x'.repeat(110 * 1024) },
      `warning ${one}: is 110 KB long, and all of it goes into every prompt`,
    ],
    [
      'a stray file',
      { 'specs/epic-1/story-one.md': '' },
      'warning specs/epic-1/story-one.md: is not read: a story is a file specs/epic-N/story-N.M-title.md',
    ],
    [
      'a stray folder',
      { 'specs/epic-one/story-1.1-x.md': '' },
      'warning specs/epic-one: is not read: a story is a file specs/epic-N/story-N.M-title.md',
    ],
    ['a broken state file', { '.ralph/state.json': '[]' }, 'error .ralph/state.json:1 is not a JSON object'],
    [
      'a state file with numbers',
      { '.ralph/state.json': '{"completed_stories":[7.10]}' },
      "error .ralph/state.json: has no list of texts 'completed_stories'",
    ],
  ])('G-20 names %s with file and line', (_, files, expected) => {
    expect(check(files)).toEqual([expected])
  })

  it('G-18 finds a cycle and a need that comes too late, at the line of depends_on', () => {
    const cycle = {
      ...specs('1.3'),
      [one]: spec('depends_on: [1.2]\n'),
      'specs/epic-1/story-1.2-y.md': spec('depends_on: [1.1]\n'),
    }
    expect(check(cycle)).toEqual([
      `error ${one}:3 story 1.1: dependency cycle: 1.1 → 1.2 → 1.1`,
      `warning ${one}:3 story 1.1 depends on 1.2, which comes after it`,
    ])
    const late = open({ ...specs('1.2'), [one]: spec('depends_on: 1.2\n') })
    expect(stories.read(late).problems.map(brief)).toEqual([
      `warning ${one}:3 story 1.1 depends on 1.2, which comes after it`,
    ])
  })

  it('prefers the spec in its own epic’s folder', () => {
    const files = { 'specs/epic-1/story-8.3-a.md': spec(), 'specs/epic-8/story-8.3-b.md': spec() }
    expect(stories.read(open(files)).tasks.map(task => task.spec)).toEqual(['specs/epic-8/story-8.3-b.md'])
    expect(check(files)).toEqual([
      'error specs/epic-1/story-8.3-a.md: story 8.3 has two specs; specs/epic-8/story-8.3-b.md is used',
    ])
  })
})

describe('newStory', () => {
  it('G-14 G-17 writes a skeleton that is valid, making its folders', () => {
    const root = tempProject()
    expect(newStory({ root, id: '8.3', title: 'Käufe: prüfen & "zählen"' })).toBe(
      'specs/epic-8/story-8.3-kaufe-prufen-zahlen.md',
    )
    expect(newStory({ root, id: '12.1.4', title: '用户登录' })).toBe('specs/epic-12/story-12.1.4-用户登录.md')
    expect(stories.validate({ root, settings: {} })).toEqual([])
    expect(stories.read({ root, settings: {} }).tasks.map(task => task.id)).toEqual(['8.3', '12.1.4'])
    expect(readFileSync(join(root, 'specs/epic-8/story-8.3-kaufe-prufen-zahlen.md'), 'utf8')).toContain(
      '# Story 8.3: Käufe: prüfen & "zählen"\n',
    )
  })

  it('refuses to overwrite, and ids or titles that make no file name', () => {
    const root = tempProject({ 'specs/epic-8/story-8.3-other.md': 'mine' })
    expect(() => newStory({ root, id: '8.3', title: 'Add login' })).toThrow(
      'story 8.3 exists already: specs/epic-8/story-8.3-other.md',
    )
    for (const id of ['8', '../8.3', '8.3/../../x', 'a.b', ''])
      expect(() => newStory({ root, id, title: 'x' })).toThrow('is not a story id')
    for (const title of ['', ' ', '/../', '!!!'])
      expect(() => newStory({ root, id: '9.1', title })).toThrow('story 9.1 needs a title')
    expect(readFileSync(join(root, 'specs/epic-8/story-8.3-other.md'), 'utf8')).toBe('mine')
  })
})

describe('findLayout', () => {
  it('knows stories and refuses what it does not know', async () => {
    expect(await findLayout('stories')).toBe(stories)
    await expect(findLayout('constructor')).rejects.toThrow("unknown layout 'constructor'")
  })
})
