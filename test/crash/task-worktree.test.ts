import { describe, expect, it } from 'vitest'
import { honest, honestRules, logOf, pipelineProject, taskOf } from '../helpers/pipeline-project.ts'
import { ralph, type TestProject } from '../helpers/ralph.ts'

describe('an engine that is killed while a task has a worktree of its own', () => {
  const overlapping = [
    { append: { path: 'src/existing.txt', text: 'more\n' } },
    { commit: { message: 'chore: more', paths: ['src/existing.txt'] } },
    ...honest.coder(),
  ]
  const make = (overlaps: boolean) => {
    const coder = overlaps ? [{ on: { stage: 'coder' }, do: overlapping }] : []
    const made = pipelineProject({ script: [...coder, ...honestRules()] })
    made.write('src/existing.txt', 'my own work\n')
    return made
  }
  /** What must be the same however often it was cut off. */
  const end = (one: TestProject) => ({
    log: one.git('log', '--format=%s', 'main'),
    branches: one.git('log', '--topo-order', '--format=%D %s', '--branches'),
    status: one.git('status', '--porcelain'),
    user: one.read('src/existing.txt'),
    worktrees: one.git('worktree', 'list').trim().split('\n').length,
    left: one.exists('.ralph/worktrees/TASK-001') || one.exists('.ralph/worktree-state/TASK-001'),
    task: taskOf(one),
    calls: logOf(one).map(line => [line.stage, line.ralph_iteration, line.success]),
  })

  it.each([
    { kind: 'worktree', overlaps: false, step: 1, least: 7 },
    { kind: 'worktree', overlaps: true, step: 1, least: 7 },
    // Each point costs two runs.
    { kind: 'event', overlaps: false, step: 2, least: 10 },
  ])(
    'at any $kind (overlaps: $overlaps) comes to the same end',
    async ({ kind, overlaps, step, least }) => {
      const calm = make(overlaps)
      expect((await ralph(calm, ['run'])).code).toBe(0)
      const expected = end(calm)
      calm.cleanup()
      expect(expected.log.includes('feat')).toBe(!overlaps)
      const wrong: string[] = []
      let next = 1
      let last = Number.POSITIVE_INFINITY
      const worker = async () => {
        while (next <= last) {
          const number = next
          next += step
          const point = `${kind}:${number}`
          const one = make(overlaps)
          try {
            const killed = await ralph(one, ['run'], { env: { RALPH_CRASH: point }, timeout: 60_000 })
            if (killed.code !== null) last = Math.min(last, number - 1)
            const again = await ralph(one, ['run'], { timeout: 60_000 })
            expect([point, again.code, end(one)]).toEqual([point, 0, expected])
          } catch (error) {
            wrong.push(String(error))
          } finally {
            one.cleanup()
          }
        }
      }
      await Promise.all([worker(), worker(), worker()])
      expect(wrong.join('\n\n')).toBe('')
      expect(last).toBeGreaterThanOrEqual(least)
    },
    120_000,
  )
})
