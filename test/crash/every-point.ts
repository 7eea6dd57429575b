import { expect } from 'vitest'
import { errorText } from '../../src/core/errors.ts'
import { startRalph } from '../helpers/ralph.ts'
import { attemptsSeen, type CrashProject, crashProject, dirtyAsUser } from './crash-project.ts'
import { comesThrough, expectSameEnd, inPlace, type Reference, undisturbed } from './undisturbed.ts'

/** Two stories in which about everything happens that an engine can be cut off in. */
export function busyProject(): CrashProject {
  const project = crashProject({
    // The second one's gates before its start are those that proved the first.
    stories: { '1.1': { verify: 'sh check.sh 1.1' }, '1.2': {} },
    plays: {
      // Spoils a tracked file, leaves an untracked one, has learnt something, and gives up.
      '1.1:1':
        'echo spoilt >>src/existing.txt; echo junk >junk.txt; echo "<ralph>LEARN: the first way is shut</ralph>"; echo "<ralph>FAIL 1.1: no idea</ralph>"',
      // Commits a part and leaves the rest to the engine.
      '1.1:2':
        'mkdir -p extra; echo more >extra/1.1.txt; answer; commit "feat: answer 1.1" work/1.1.txt; claim',
      // A lie with a commit: the branch and the index must go back too.
      '1.2:1': 'mkdir -p work; echo none >work/1.2.txt; commit "feat: answer 1.2" work/1.2.txt; claim',
      // Works, but commits nothing.
      '1.2:2': 'answer; echo improved >>src/existing.txt; echo "<ralph>LEARN: patience helps</ralph>"; claim',
    },
  })
  dirtyAsUser(project)
  return project
}

/** The comparison is worth something only if the run was as eventful as it was meant to be. */
export async function reference(): Promise<Reference> {
  const { end, attempts } = await undisturbed(busyProject())
  expect(end.commits.map(line => line.replace(/^\S+ /u, ''))).toEqual([
    'Test Story 1.2: Answer',
    'Test Story 1.1: Answer',
    'Test feat: answer 1.1',
    'Test first',
  ])
  expect(end.progress.filter(line => /^\[FAIL\]/u.test(line))).toHaveLength(2)
  expect(end.journal).toBe('sound')
  expect(end.staged).toContain('staged by the user')
  expect(end.staged).not.toContain('and not yet staged')
  expect(end.litter).toEqual([])
  return { end, attempts }
}

/** Tries every point of a kind, some at a time, and tells of all that went wrong. Gives the number of points. */
export async function crashEverywhere(kind: 'event' | 'file', expected: Reference): Promise<number> {
  const wrong: string[] = []
  let next = 1
  let points = Number.POSITIVE_INFINITY
  const worker = async () => {
    while (next <= points && wrong.length < 5) {
      const number = next++
      const reached = await crashAt(`${kind}:${number}`, expected).catch((error: unknown) => {
        wrong.push(`${kind}:${number}: ${errorText(error)}`)
        return true
      })
      if (!reached) points = Math.min(points, number - 1)
    }
  }
  await Promise.all([worker(), worker(), worker()])
  expect(wrong.join('\n\n')).toBe('')
  return points
}

/**
 * Runs with `RALPH_CRASH=<point>`, then to the end, and compares. False when the run came to its end before that point,
 * so that there is nothing more to try.
 */
async function crashAt(point: string, expected: Reference): Promise<boolean> {
  const project = busyProject()
  try {
    const first = await crash(project, point)
    if (!first) return false
    await comesThrough(project)
    await expectSame(project, point, expected)
    return true
  } finally {
    project.cleanup()
  }
}

/** Every process dies at its N-th point, again and again, until one comes through. */
export async function crashAgainAndAgain(point: string, expected: Reference): Promise<number> {
  const project = busyProject()
  try {
    let crashes = 0
    while (await crash(project, point)) {
      crashes += 1
      expect(crashes, `${point}: no end in sight`).toBeLessThan(60)
    }
    await expectSame(project, point, expected)
    // Nothing of all this is in the way of a run that has nothing left to do.
    await comesThrough(project)
    await expectSame(project, point, expected)
    return crashes
  } finally {
    project.cleanup()
  }
}

async function crash(project: CrashProject, point: string): Promise<boolean> {
  const running = startRalph(project, inPlace, { env: { RALPH_CRASH: point } })
  const timer = setTimeout(() => running.kill('SIGTERM'), 60_000)
  const { code, stdout, stderr } = await running.ended
  clearTimeout(timer)
  // Null: ended by a signal, that is by itself.
  expect([0, null], `${point}: ${stdout}${stderr}`).toContain(code)
  return code === null
}

async function expectSame(project: CrashProject, point: string, expected: Reference): Promise<void> {
  await expectSameEnd(project, expected.end, `after a crash at ${point}`)
  expect(attemptsSeen(project), `attempts after a crash at ${point}`).toEqual(expected.attempts)
}
