import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { stories } from '../../../src/layouts/stories.ts'
import { fakeJournal } from './fake-journal.ts'
import { put, tempProject } from './temp-project.ts'

const epics = [5, 6, 8, 7, 9, 8, 8, 7, 5, 5, 5, 5]
const spec =
  '---\nstatus: pending\npriority: high\nestimation: 3\ndepends_on: []\nfrs: [FR1]\n---\n\n# Story\n\n## Acceptance Criteria\n\n1. Works.\n'

describe('the project of the seed', () => {
  it('S4-67 has 78 ids in twelve epics, 58 done, 20 left, without any counting by hand', () => {
    const ids = epics.flatMap((count, epic) =>
      Array.from({ length: count }, (_, story) => `${epic + 1}.${story + 1}`),
    )
    const done = ids.slice(0, 58)
    const root = tempProject({
      'CLAUDE.md': '',
      'ralph.sh': `#!/bin/bash\nITERATIONS=45\nSTORY_ORDER=(\n${ids.map(id => `  "${id}"`).join('\n')}\n)\n`,
      'progress.txt': done.map(id => `[DONE] Story ${id} - Title - 2026-01-30 10:00:00\n`).join(''),
    })
    for (const id of ids) put(root, { [`specs/epic-${id.split('.')[0]}/story-${id}-title.md`]: spec })
    const project = { root, settings: {} }
    const { tasks, missing, problems } = stories.read(project)
    const recorded = new Set(stories.recorded(project).map(one => one.id))
    expect([ids.length, tasks.length, recorded.size, missing, problems]).toEqual([78, 78, 58, [], []])
    expect(tasks.map(task => task.id)).toEqual(ids)
    expect(tasks.filter(task => !recorded.has(task.id)).map(task => task.id)).toEqual(ids.slice(58))
    rmSync(join(root, 'specs/epic-12'), { recursive: true })
    expect(stories.read(project).missing).toEqual(['12.1', '12.2', '12.3', '12.4', '12.5'])
  })
})

describe('big backlogs', () => {
  it('reads ten thousand specs, and a write for one of them looks at no other', async () => {
    const project = many(100)
    const { tasks, problems } = stories.read(project)
    expect([tasks.length, problems]).toEqual([10_000, []])
    expect(tasks[9_999]).toMatchObject({ id: '100.100', needs: ['100.99'], order: 9_999 })
    const journal = fakeJournal(tasks)
    await stories.write(project, journal.view())
    journal.done('1.1')
    // A write that looked at the other specs would stumble here.
    for (let epic = 2; epic <= 100; epic++)
      rmSync(join(project.root, `specs/epic-${epic}`), { recursive: true })
    await stories.write(project, journal.view())
    expect(JSON.parse(readFileSync(join(project.root, '.ralph/state.json'), 'utf8'))).toMatchObject({
      completed_stories: ['1.1'],
    })
    expect(readFileSync(join(project.root, 'specs/epic-1/story-1.1-some-title.md'), 'utf8')).toContain(
      'status: done',
    )
  })

  it('remembers front matter between reads, believes no stale or broken memory, and can do without', async () => {
    const project = many(6)
    const cache = join(project.root, '.ralph/cache/stories.json')
    const first = stories.read(project)
    // Only specs that are older than two seconds are remembered.
    expect(existsSync(cache)).toBe(false)
    await new Promise(resolve => setTimeout(resolve, 2_100))
    expect(stories.read(project)).toEqual(first)
    const rows = (JSON.parse(readFileSync(cache, 'utf8')) as { rows: unknown[] }).rows
    expect(rows).toHaveLength(600)
    expect(stories.read(project)).toEqual(first)

    const needs = () => stories.read(project).tasks.find(task => task.id === '5.5')?.needs
    for (const need of ['1.2', '1.3', '1.4']) {
      put(project.root, { 'specs/epic-5/story-5.5-some-title.md': spec.replace('[]', `["${need}"]`) })
      expect(needs()).toEqual([need])
    }
    const lie = JSON.stringify({ version: 1, rows: [['specs/epic-5/story-5.5-some-title.md', '1 1 1', {}]] })
    for (const rubbish of ['', '{', lie, '[]', 'null', '{"version":0,"rows":[]}']) {
      writeFileSync(cache, rubbish)
      expect(needs()).toEqual(['1.4'])
    }
    rmSync(join(project.root, '.ralph'), { recursive: true })
    expect(needs()).toEqual(['1.4'])
    expect(existsSync(join(project.root, '.ralph'))).toBe(false)
  })

  it('leaves no cache in a small project', () => {
    const root = tempProject({ '.ralph/x': '', 'specs/epic-1/story-1.1-x.md': spec })
    stories.read({ root, settings: {} })
    expect(existsSync(join(root, '.ralph/cache'))).toBe(false)
  })
})

/** A hundred stories in each epic, each needing the one before it. */
function many(count: number) {
  const root = tempProject({ '.ralph/x': '' })
  for (let epic = 1; epic <= count; epic++) {
    mkdirSync(join(root, `specs/epic-${epic}`), { recursive: true })
    for (let story = 1; story <= 100; story++) {
      const text = story > 1 ? spec.replace('[]', `["${epic}.${story - 1}"]`) : spec
      writeFileSync(join(root, `specs/epic-${epic}/story-${epic}.${story}-some-title.md`), text)
    }
  }
  return { root, settings: {} }
}
