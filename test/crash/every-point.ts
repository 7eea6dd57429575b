import { expect } from 'vitest'
import { ralph, startRalph } from '../helpers/ralph.ts'
import { aliveAgents, attemptsSeen, type CrashProject, crashProject, dirtyAsUser, honest, overlaps } from './crash-project.ts'
import { type EndState, endState } from './end-state.ts'

/** Three stories in which about everything happens that an engine can be cut off in. */
export function busyProject(): CrashProject {
  const project = crashProject({
    stories: { '1.1': { verify: 'sh check.sh 1.1' }, '1.2': { verify: 'sh check.sh 1.2' }, '1.3': {} },
    plays: {
      // Spoils a tracked file, leaves an untracked one, has learnt something, and gives up.
      '1.1:1':
        'echo spoilt >>src/existing.txt; echo junk >junk.txt; echo "<ralph>LEARN: the first way is shut</ralph>"; echo "<ralph>FAIL 1.1: no idea</ralph>"',
      '1.1:2': honest,
      // A lie with a commit: the branch and the index must go back too.
      '1.2:1': 'echo hello >README.md; commit "docs: readme" README.md; claim',
      // Works, but commits nothing; the engine does it.
      '1.2:2': 'answer; echo improved >>src/existing.txt; echo "<ralph>LEARN: patience helps</ralph>"; claim',
      // Commits a part and leaves the rest.
      '1.3:1': 'mkdir -p extra; echo more >extra/1.3.txt; answer; commit "feat: answer 1.3" work/1.3.txt; claim',
    },
  })
  dirtyAsUser(project)
  return project
}

const args = ['run', '--in-place']

export type Reference = { end: EndState; attempts: string[] }

/** How it ends when nobody interferes. */
export async function reference(): Promise<Reference> {
  const project = busyProject()
  try {
    const { code, stdout, stderr } = await ralph(project, args, { timeout: 60_000 })
    expect(code, stdout + stderr).toBe(0)
    const end = await endState(project)
    // The comparison is worth something only if the run was as eventful as it was meant to be.
    expect(end.commits.map(line => line.replace(/^\S+ /u, ''))).toEqual([
      'Test Story 1.3: Answer',
      'Test feat: answer 1.3',
      'Test Story 1.2: Answer',
      'Test feat: answer 1.1',
      'Test first',
    ])
    expect(end.progress.filter(line => /^\[FAIL\]/u.test(line))).toHaveLength(2)
    expect(end.journal).toBe('sound')
    expect(end.staged).toContain('staged by the user')
    expect(end.staged).not.toContain('and not yet staged')
    expect(end.litter).toEqual([])
    return { end, attempts: attemptsSeen(project) }
  } finally {
    project.cleanup()
  }
}

/** Tries every point of a kind and tells of all that went wrong, not only of the first. Gives their number. */
export async function crashEverywhere(kind: 'event' | 'file', expected: Reference): Promise<number> {
  const wrong: string[] = []
  let count = 0
  for (;;) {
    const point = `${kind}:${count + 1}`
    const reached = await crashAt(point, expected).catch((error: Error) => {
      wrong.push(`${point}: ${error.message}`)
      return true
    })
    if (!reached || wrong.length >= 10) break
    count += 1
  }
  expect(wrong, wrong.join('\n\n')).toEqual([])
  return count
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
    const { code, stdout, stderr } = await ralph(project, args, { timeout: 60_000 })
    expect(code, `${point}: ${stdout}${stderr}`).toBe(0)
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
    return crashes
  } finally {
    project.cleanup()
  }
}

async function crash(project: CrashProject, point: string): Promise<boolean> {
  const running = startRalph(project, args, { env: { RALPH_CRASH: point } })
  const timer = setTimeout(() => running.kill('SIGTERM'), 60_000)
  const { code, stdout, stderr } = await running.ended
  clearTimeout(timer)
  // Null: ended by a signal, that is by itself.
  expect([0, null], `${point}: ${stdout}${stderr}`).toContain(code)
  return code === null
}

async function expectSame(project: CrashProject, point: string, expected: Reference): Promise<void> {
  expect(await endState(project), `the end after a crash at ${point}`).toEqual(expected.end)
  expect(attemptsSeen(project), `attempts after a crash at ${point}`).toEqual(expected.attempts)
  expect(overlaps(project), `agents side by side after a crash at ${point}`).toEqual([])
  expect(aliveAgents(project)).toEqual([])
}
