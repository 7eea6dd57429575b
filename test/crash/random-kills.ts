import { expect } from 'vitest'
import { startRalph } from '../helpers/ralph.ts'
import {
  attemptsSeen,
  type CrashProject,
  callsSeen,
  crashProject,
  dirtyAsUser,
  honest,
} from './crash-project.ts'
import { expectSameEnd, inPlace, undisturbed } from './undisturbed.ts'

/**
 * Starts an engine and kills it with -9 at a random moment, again and again. Whenever a backlog is finished in spite of
 * it, its end must be that of an undisturbed run, and another one is begun.
 */
export async function killAtRandom(options: { kills: number; seed: number }): Promise<void> {
  const random = generator(options.seed)
  const expected = await undisturbed(backlog())
  let kills = 0
  let calls = 0
  while (kills < options.kills) {
    const project = backlog()
    try {
      kills += await torment(project, random, options.kills - kills)
      await expectSameEnd(project, expected.end, `with seed ${options.seed}`)
      expect(attemptsSeen(project), `seed ${options.seed}`).toEqual(expected.attempts)
      calls += callsSeen(project).length - expected.attempts.length
    } finally {
      project.cleanup()
    }
  }
  // If hardly any kill met an agent at work, this has shown little.
  expect(calls, 'agents that were cut off').toBeGreaterThan(options.kills / 20)
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

/** Kills until the backlog is done, or until it was enough: then the last engine is left in peace. Gives the number of kills. */
async function torment(project: CrashProject, random: () => number, most: number): Promise<number> {
  let kills = 0
  for (;;) {
    const running = startRalph(project, inPlace)
    const stop = kills < most ? killLater(running, project, random) : () => undefined
    const { code, stdout, stderr } = await running.ended
    stop()
    expect([0, null], stdout + stderr).toContain(code)
    if (code === 0) return kills
    kills += 1
  }
}

/**
 * Sometimes while it starts, mostly while it works, and sometimes while an agent does. Counted from its start, its first
 * word, or the agent's first sign, so that a slow machine does not matter.
 */
function killLater(
  running: ReturnType<typeof startRalph>,
  project: CrashProject,
  random: () => number,
): () => void {
  const kind = random()
  const calls = callsSeen(project).length
  const [begun, longest] =
    kind < 0.25
      ? [() => true, 300]
      : kind < 0.75
        ? [() => running.stdout() !== '', 980]
        : [() => callsSeen(project).length > calls, 150]
  const wait = 20 + random() * longest
  let timer: NodeJS.Timeout | undefined
  const looking = setInterval(() => {
    if (!begun()) return
    clearInterval(looking)
    timer = setTimeout(() => running.kill('SIGKILL'), wait)
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
