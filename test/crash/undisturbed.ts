import { afterEach, expect } from 'vitest'
import { type Ended, type RunningRalph, ralph, startRalph } from '../helpers/ralph.ts'
import { aliveAgents, attemptsSeen, type CrashProject, overlaps } from './crash-project.ts'
import { type EndState, endState } from './end-state.ts'

/** These projects have a user's uncommitted work in them. */
export const inPlace = ['run', '--in-place']

/** Runs a command to its end, which must be a good one. */
export async function comesThrough(project: CrashProject, args = inPlace, timeout = 100_000): Promise<Ended> {
  const ended = await ralph(project, args, { timeout })
  expect(ended.code, ended.stdout + ended.stderr).toBe(0)
  return ended
}

/** How it ends when nobody interferes. */
export type Reference = { end: EndState; attempts: string[] }

export async function undisturbed(project: CrashProject): Promise<Reference> {
  try {
    await comesThrough(project)
    return { end: await endState(project), attempts: attemptsSeen(project) }
  } finally {
    project.cleanup()
  }
}

/** The same end, and never two agents at once. Part by part: a difference is easier to read. */
export async function expectSameEnd(project: CrashProject, expected: EndState, when: string): Promise<void> {
  const end = await endState(project)
  for (const part of Object.keys(end) as (keyof EndState)[]) {
    const found = JSON.stringify(end[part])
    const what = `${part} ${when}: ${found} instead of ${JSON.stringify(expected[part])}\n${project.read('ralph.log').slice(-20_000)}`
    expect(end[part], what).toEqual(expected[part])
  }
  expect(overlaps(project), `agents side by side ${when}`).toEqual([])
  expect(aliveAgents(project)).toEqual([])
}

/** Projects and engines of a test, which are gone after it: what is frozen does not end by itself. */
export function stage(): {
  keep(project: CrashProject): CrashProject
  start(project: CrashProject): RunningRalph
} {
  const projects: CrashProject[] = []
  const engines: RunningRalph[] = []
  afterEach(async () => {
    for (const engine of engines) engine.kill('SIGKILL')
    await Promise.all(engines.splice(0).map(engine => engine.ended))
    for (const project of projects.splice(0)) project.cleanup()
  })
  return {
    keep: project => {
      projects.push(project)
      return project
    },
    start: project => {
      const engine = startRalph(project, inPlace)
      engines.push(engine)
      return engine
    },
  }
}
