import { expect } from 'vitest'
import { ralph, startRalph } from '../helpers/ralph.ts'
import {
  aliveAgents,
  attemptsSeen,
  type CrashProject,
  callsSeen,
  crashProject,
  dirtyAsUser,
  honest,
  overlaps,
} from './crash-project.ts'
import { type EndState, endState } from './end-state.ts'

const args = ['run', '--in-place']

/**
 * Starts an engine and kills it with -9 at a random moment, again and again. Whenever a backlog is finished in spite of
 * it, its end must be that of an undisturbed run, and another one is begun.
 */
export async function killAtRandom(options: { kills: number; seed: number }): Promise<void> {
  const random = generator(options.seed)
  const expected = await undisturbed()
  let kills = 0
  let calls = 0
  while (kills < options.kills) {
    const project = backlog()
    try {
      kills += await torment(project, random, options.kills - kills)
      expect(await endState(project), told(options.seed, project)).toEqual(expected.end)
      expect(attemptsSeen(project), told(options.seed, project)).toEqual(expected.attempts)
      expect(overlaps(project), told(options.seed, project)).toEqual([])
      expect(aliveAgents(project)).toEqual([])
      calls += callsSeen(project).length - expected.attempts.length
    } finally {
      project.cleanup()
    }
  }
  // If hardly any kill met an agent at work, this has shown little.
  expect(calls, 'agents that were cut off').toBeGreaterThan(options.kills / 20)
}

function told(seed: number, project: CrashProject): string {
  return `seed ${seed}\n${project.read('ralph.log').slice(-20_000)}`
}

/** Eight stories: children that would live on, failures, lies, commits and work left uncommitted. */
function backlog(): CrashProject {
  const ids = [1, 2, 3, 4, 5, 6, 7, 8].map(number => `1.${number}`)
  const project = crashProject({
    stories: Object.fromEntries(ids.map(id => [id, { verify: `sh check.sh ${id}` }])),
    plays: {
      '1.2:1': 'echo spoilt >>src/existing.txt; sleep 0.1; echo "<ralph>FAIL 1.2: no idea</ralph>"',
      '1.3:1': `child; stranger; sleep 0.1; ${honest}`,
      '1.4:1': `mkdir -p extra; echo more >extra/1.4.txt; sleep 0.1; ${honest}`,
      '1.5:1':
        'mkdir -p work; echo none >work/1.5.txt; commit "feat: answer 1.5" work/1.5.txt; child; sleep 0.1; claim',
      '1.7:1': 'trap "" TERM; answer; echo improved >>src/existing.txt; sleep 0.2; claim',
      '*': `sleep 0.1; ${honest}`,
    },
    config: ['lease: 20s', 'leash: 10s'],
  })
  dirtyAsUser(project)
  return project
}

type Expected = { end: EndState; attempts: string[] }

async function undisturbed(): Promise<Expected> {
  const project = backlog()
  try {
    const { code, stdout, stderr } = await ralph(project, args, { timeout: 100_000 })
    expect(code, stdout + stderr).toBe(0)
    return { end: await endState(project), attempts: attemptsSeen(project) }
  } finally {
    project.cleanup()
  }
}

/** Kills until the backlog is done, or until it was enough: then the last engine is left in peace. Gives the number of kills. */
async function torment(project: CrashProject, random: () => number, most: number): Promise<number> {
  let kills = 0
  for (;;) {
    const running = startRalph(project, args)
    const stop = kills < most ? killLater(running, random) : () => undefined
    const { code, stdout, stderr } = await running.ended
    stop()
    expect([0, null], stdout + stderr).toContain(code)
    if (code === 0) return kills
    kills += 1
  }
}

/** Sometimes while it starts, mostly while it works; counted from its first word, so that a slow machine does not matter. */
function killLater(running: ReturnType<typeof startRalph>, random: () => number): () => void {
  const early = random() < 0.25
  const wait = 20 + random() * (early ? 300 : 980)
  let timer: NodeJS.Timeout | undefined
  const begin = () => {
    timer = setTimeout(() => running.kill('SIGKILL'), wait)
  }
  const looking = setInterval(() => {
    if (!early && running.stdout() === '') return
    clearInterval(looking)
    begin()
  }, 5)
  return () => {
    clearInterval(looking)
    clearTimeout(timer)
  }
}

/** The same numbers for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Another one each time, unless it is asked for. */
export function chooseSeed(): number {
  const seed = Number(process.env.RALPH_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
  console.log(`RALPH_TEST_SEED=${seed} repeats these moments`)
  return seed
}
