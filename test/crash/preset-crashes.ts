import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { errorText } from '../../src/core/errors.ts'
import { isSound } from '../../src/store/check.ts'
import { openStore } from '../../src/store/sqlite.ts'
import { type Preset, presets } from '../helpers/presets.ts'
import { ralph, startRalph, type TestProject } from '../helpers/ralph.ts'
import { contents, foldOf, litter } from './end-state.ts'

/**
 * What the tests of `stories` show in depth, on the other presets in breadth: an engine that is killed right after an
 * event is durable, any event, leaves nothing that the next run does not bring to the same end.
 */
export function crashPresets(...names: Preset['name'][]): void {
  describe.each(presets.filter(one => names.includes(one.name)))('kill -9 in the preset $name', preset => {
    it('G-11 after any event the next run comes to the same end', async () => {
      const expected = await undisturbed(preset)
      const wrong: string[] = []
      // Each preset begins at another one, so that together they meet every kind of event; the soak tries them all.
      let next = everyEvent ? 1 : 1 + (presets.indexOf(preset) % 3)
      let points = Number.POSITIVE_INFINITY
      const worker = async () => {
        while (next <= points && wrong.length < 3) {
          const number = next
          next += everyEvent ? 1 : 3
          const reached = await crashAt(preset, number, expected).catch((error: unknown) => {
            wrong.push(`event ${number}: ${errorText(error)}`)
            return true
          })
          if (!reached) points = Math.min(points, number - 1)
        }
      }
      await Promise.all([worker(), worker()])
      expect(wrong.join('\n\n')).toBe('')
      expect(points).toBeGreaterThan(6)
    }, 240_000)
  })
}

const everyEvent = process.env.RALPH_SOAK !== undefined

/** A first attempt that fails, where a failure is an attempt of its own; then honest work. */
function busy(preset: Preset): TestProject {
  const spoils = [{ append: { path: 'src/existing.txt', text: 'spoilt\n' } }, { exit: 1 }]
  const retries = preset.name === 'gated' || preset.name === 'reviewed'
  const first = retries ? [{ on: { call: 1, attempt: 1 }, do: spoils }] : []
  return preset.make([...first, ...preset.honest()])
}

async function undisturbed(preset: Preset): Promise<Record<string, unknown>> {
  const project = busy(preset)
  try {
    const { code, stdout, stderr } = await ralph(project, ['run'], { timeout: 60_000 })
    expect(code, stdout + stderr).toBe(0)
    expect(preset.isDone(project)).toBe(true)
    return await endOf(project)
  } finally {
    project.cleanup()
  }
}

async function crashAt(preset: Preset, number: number, expected: Record<string, unknown>): Promise<boolean> {
  const project = busy(preset)
  try {
    const running = startRalph(project, ['run'], { env: { RALPH_CRASH: `event:${number}` } })
    const timer = setTimeout(() => running.kill('SIGTERM'), 60_000)
    const first = await running.ended
    clearTimeout(timer)
    // Null: ended by a signal, that is by itself.
    expect([0, null], first.stdout + first.stderr).toContain(first.code)
    if (first.code === 0) return false
    const second = await ralph(project, ['run'], { timeout: 60_000 })
    expect(second.code, first.stdout + second.stdout + second.stderr).toBe(0)
    expect(preset.isDone(project)).toBe(true)
    const end = await endOf(project)
    for (const [part, found] of Object.entries(end))
      expect(found, `${part} after a crash at event ${number}`).toEqual(expected[part])
    return true
  } finally {
    project.cleanup()
  }
}

/** What must be the same however the run was cut: without times, durations and object names. */
async function endOf(project: TestProject): Promise<Record<string, unknown>> {
  const store = openStore(path.join(project.root, '.ralph', 'ralph.db'))
  try {
    const tasks = await store.log.tasks()
    return {
      sound: isSound(store.check()),
      tasks: Object.fromEntries(tasks.map(({ id, state }) => [id, withoutTimes(foldOf(state))])),
      files: withoutTimes(contents(project.root)),
      commits: project.git('log', '--format=%an %s').trim().split('\n'),
      branches: project.git('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/stash'),
      notes: project.read('notes of the user.txt'),
      litter: litter(project.root),
    }
  } finally {
    store.close()
  }
}

/** Times, durations, commits and pids, wherever they stand in a text. */
function withoutTimes(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value)
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?/gu, '<time>')
      .replace(/("(?:at|startedAt|endedAt|ms|duration_ms|pid)": ?)\d+(?:\.\d+)?/gu, '$1 0')
      .replace(/(\\"(?:duration_ms|pid|cost_usd)\\": ?)\d+(?:\.\d+)?/gu, '$10')
      .replace(/\d{8}-\d{6}-[0-9a-f]{4}\/\d{4}/gu, '<step>')
      .replace(/\b[0-9a-f]{40}\b/gu, '<commit>'),
  )
}
