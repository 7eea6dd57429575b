import { rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { matchesAny } from '../../../src/core/glob.ts'
import { type Layout, type Project, stateFiles } from '../../../src/layouts/layout.ts'
import { type FilePoint, setFileFault } from '../../../src/store/atomic-file.ts'
import { type FakeJournal, fakeJournal } from './fake-journal.ts'
import { put, restore, snapshot, tempProject } from './temp-project.ts'

export type LayoutCase = {
  layout: Layout
  /** A project with at least three open tasks that need nothing. */
  files: Record<string, string>
  settings?: Record<string, unknown>
  /** Files the layout reads or writes, to be filled with rubbish. */
  fragile: string[]
}

/** What every layout must keep to, whatever its files look like. */
export function layoutContract({ layout, files, settings = {}, fragile }: LayoutCase): void {
  const open = (): Project => ({ root: tempProject(files), settings })

  describe(`layout ${layout.name}: the contract`, () => {
    afterEach(() => setFileFault(null))

    it('has no missing prerequisite, and reads tasks in order with their specs', () => {
      const project = open()
      expect(layout.prerequisites(project)).toEqual([])
      const { tasks, missing } = layout.read(project)
      expect(tasks.length).toBeGreaterThanOrEqual(3)
      expect(tasks.map(task => task.order)).toEqual(tasks.map((_, index) => index))
      expect(new Set(tasks.map(task => task.id)).size).toBe(tasks.length)
      expect(missing).toEqual([])
      for (const task of tasks) expect(layout.spec(project, task)).not.toBe('')
    })

    it('reads the same backlog twice, and the same after a run wrote its files', async () => {
      const project = open()
      const first = layout.read(project).tasks
      expect(layout.read(project).tasks).toEqual(first)
      await layout.write(project, story(layout, project).view())
      expect(layout.read(project).tasks).toEqual(first)
    })

    it('writes the same bytes when it is called again, with the same events and with none', async () => {
      const project = open()
      const journal = story(layout, project)
      const view = journal.view()
      await layout.write(project, view)
      const once = snapshot(project.root)
      await layout.write(project, view)
      await layout.write(project, journal.view())
      expect(snapshot(project.root)).toEqual(once)
    })

    it('comes to the same files whether it writes after every event or once for all', async () => {
      const together = open()
      const view = story(layout, together).view()
      await layout.write(together, view)
      const oneByOne = open()
      const untouched = fakeJournal(layout.read(oneByOne).tasks)
      const now = new Map(untouched.tasks().map(state => [state.task.id, state]))
      for (const one of view.events) {
        now.set(one.task, one.after)
        await layout.write(oneByOne, { ...view, tasks: [...now.values()], events: [one] })
      }
      expect(snapshot(oneByOne.root)).toEqual(snapshot(together.root))
    })

    it('mends itself after a crash that lost any part of the files', async () => {
      const project = open()
      const before = snapshot(project.root)
      const view = story(layout, project).view()
      await layout.write(project, view)
      const after = snapshot(project.root)
      const changed = Object.keys(after).filter(path => after[path] !== before[path])
      expect(changed.length).toBeGreaterThan(0)
      for (let mask = 0; mask < 2 ** changed.length; mask++) {
        const written = changed.filter((_, bit) => mask & (2 ** bit))
        restore(project.root, before)
        for (const path of written) put(project.root, { [path]: Buffer.from(after[path] ?? '', 'latin1') })
        await layout.write(project, view)
        expect([written, snapshot(project.root)]).toEqual([written, after])
      }
    })

    it('mends itself after a crash at every single point of writing', async () => {
      const project = open()
      const before = snapshot(project.root)
      const view = story(layout, project).view()
      const points: string[] = []
      setFileFault((point, path) => points.push(`${point} ${path}`))
      await layout.write(project, view)
      const after = snapshot(project.root)
      expect(points.length).toBeGreaterThanOrEqual(3)
      for (let stop = 0; stop < points.length; stop++) {
        restore(project.root, before)
        setFileFault(crashAt(stop))
        await expect(layout.write(project, view)).rejects.toThrow('crash')
        setFileFault(null)
        await layout.write(project, view)
        expect([points[stop], snapshot(project.root)]).toEqual([points[stop], after])
      }
    })

    it('records what it wrote: without a journal its files know what is done', async () => {
      const project = open()
      expect(layout.recorded(project)).toEqual([])
      const view = story(layout, project).view()
      await layout.write(project, view)
      const done = view.tasks.filter(state => state.status === 'done').map(state => state.task.id)
      expect(done.length).toBeGreaterThan(0)
      expect(layout.recorded(project).map(one => one.id)).toEqual(done)
      rmSync(join(project.root, '.ralph'), { recursive: true, force: true })
      expect(layout.recorded(project).map(one => one.id)).toEqual(done)
    })

    it('owns every file it writes, but for the specs themselves', async () => {
      const project = open()
      const before = snapshot(project.root)
      await layout.write(project, story(layout, project).view())
      const specs = layout.read(project).tasks.map(task => task.spec)
      for (const path of stateFiles(layout, project))
        expect([path, matchesAny(path, layout.owned)]).toEqual([path, true])
      for (const [path, content] of Object.entries(snapshot(project.root))) {
        if (content !== before[path] && !specs.includes(path))
          expect([path, matchesAny(path, layout.owned)]).toEqual([path, true])
      }
    })

    it('throws at no rubbish in any of its files, and never loses a backlog file', async () => {
      const rubbish = fc.oneof(
        fc.uint8Array({ maxLength: 300 }),
        fc.string({ unit: 'binary' }).map(text => Buffer.from(text)),
        fc.json().map(text => Buffer.from(text)),
        fc
          .constantFrom('', '---', '---\n---', '[DONE] Story', '{"completed_stories":', '\u0000')
          .map(text => Buffer.from(text)),
      )
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...fragile), rubbish, async (path, bytes) => {
          const project = open()
          const view = story(layout, project).view()
          put(project.root, { [path]: bytes })
          const { tasks, problems } = layout.read(project)
          for (const { file, message, fix } of [...problems, ...layout.validate(project)]) {
            expect([file, message, fix].every(text => text.length > 0)).toBe(true)
          }
          for (const task of tasks) layout.spec(project, task)
          layout.recorded(project)
          await layout.write(project, view)
          const once = snapshot(project.root)
          await layout.write(project, view)
          expect(snapshot(project.root)).toEqual(once)
          rmSync(project.root, { recursive: true, force: true })
        }),
        { numRuns: 60 },
      )
    })
  })
}

/** One task done at once, one after a failure, one that failed and is still open. */
function story(layout: Layout, project: Project): FakeJournal {
  const { tasks } = layout.read(project)
  const journal = fakeJournal(tasks)
  const [first = '', second = '', third = ''] = tasks.map(task => task.id)
  journal.done(first, ['Learnt at first', 'Learnt more'])
  journal.fail(second, 'Tests fail')
  journal.done(second)
  journal.fail(third, 'No way\n[DONE] Story 9.9 - forged', ['Learnt in vain'])
  return journal
}

function crashAt(stop: number): (point: FilePoint, path: string) => void {
  let count = 0
  return () => {
    if (count++ === stop) throw new Error('crash')
  }
}
