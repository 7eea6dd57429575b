import { existsSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { type RunningRalph, startRalph, until } from '../helpers/ralph.ts'
import {
  aliveAgents,
  attemptsSeen,
  type CrashProject,
  callsSeen,
  crashProject,
  dirtyAsUser,
  honest,
} from './crash-project.ts'
import { endState } from './end-state.ts'
import { comesThrough, inPlace } from './undisturbed.ts'

let made: CrashProject
let engine: RunningRalph | null = null
afterEach(async () => {
  engine?.kill('SIGKILL')
  await engine?.ended
  engine = null
  await until('the end of all agents', () => aliveAgents(made).length === 0)
  made.cleanup()
})

/** The first agent call does `hang` when it has half-done its work, a commit included; the second one is honest. */
function project(hang: string): CrashProject {
  made = crashProject({
    stories: { '1.1': { verify: 'sh check.sh 1.1' } },
    plays: {
      '1.1:1': `[ -e "$out/hung" ] || {
        echo half >>src/existing.txt; echo half >half.txt; mkdir -p extra; echo part >extra/part.txt
        commit "feat: a part" extra/part.txt; child; stranger; ${hang}
      }
      ${honest}`,
      '*': honest,
    },
  })
  dirtyAsUser(made)
  return made
}

const hangs = ': >"$out/hung"; sleep 60'
const hangsDeaf = 'trap "" TERM INT HUP; : >"$out/hung"; while :; do sleep 1; done'

async function atWork(hang: string): Promise<RunningRalph> {
  const where = project(hang)
  engine = startRalph(where, inPlace)
  await until('the agent', () => existsSync(path.join(where.outside, 'hung')))
  // One more look of the engine at the children, so that it knows them by name.
  await delay(300)
  return engine
}

/** After the interrupted run all is as before it but for the journal; the next run goes on and the attempt was not counted. */
function expectUndisturbed(): void {
  expect(made.git('log', '--format=%s').trim()).toBe('first')
  expect(made.read('src/existing.txt')).toBe('as it was\n')
  expect(made.exists('half.txt')).toBe(false)
  expect(made.read('src/user.txt')).toContain('and not yet staged')
  expect(made.git('diff', '--cached', '--stat')).toContain('src/user.txt')
}

async function expectGoesOn(): Promise<void> {
  await comesThrough(made)
  expect(callsSeen(made)).toEqual(['1.1:1', '1.1:1'])
  expect(attemptsSeen(made)).toEqual(['1.1:1'])
  expect(made.read('progress.txt')).not.toContain('[FAIL]')
  const end = await endState(made)
  expect(end.journal).toBe('sound')
  expect(end.tasks['1.1']).toMatchObject({ status: 'done', failures: 0, calls: 1 })
  expect(end.staged).toContain('staged by the user')
  expect(end.litter).toEqual([])
}

describe('Ctrl-C', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 130],
  ] as const)(
    'H-30 %s ends the agent and its children, puts its step back and exits with %i',
    async (signal, code) => {
      const running = await atWork(hangs)
      expect(aliveAgents(made)).toHaveLength(3)
      running.kill(signal)
      const ended = await running.ended
      expect(ended.code, ended.stdout + ended.stderr).toBe(code)
      expect(ended.stderr).toContain('Stopping')
      expect(ended.stdout).toContain('ralph run')
      expect(aliveAgents(made)).toEqual([])
      expectUndisturbed()
      await expectGoesOn()
    },
  )

  it('H-30 a second one ends it at once, and the leash ends an agent that is deaf to every signal', async () => {
    const running = await atWork(hangsDeaf)
    running.kill('SIGINT')
    // Within a second it is the same one, sent twice by a terminal or by npm.
    await delay(300)
    running.kill('SIGINT')
    await delay(900)
    const before = Date.now()
    running.kill('SIGINT')
    const ended = await running.ended
    expect(ended.code, ended.stdout + ended.stderr).toBe(130)
    expect(Date.now() - before).toBeLessThan(3_000)
    await until('the end of all agents', () => aliveAgents(made).length === 0)
    await expectGoesOn()
  })

  it('H-30 while a gate runs: the work stays, and only the gate is taken again', async () => {
    made = crashProject({
      stories: { '1.1': {} },
      plays: { '*': honest },
      verify: '["[ ! -e work ] || [ -e ../outside/gate ] || { : >../outside/gate; sleep 60; }"]',
    })
    engine = startRalph(made, ['run'])
    await until('the gate', () => existsSync(path.join(made.outside, 'gate')))
    engine.kill('SIGINT')
    const ended = await engine.ended
    expect(ended.code, ended.stdout + ended.stderr).toBe(130)
    expect(made.read('work/1.1.txt')).toBe('answer 1.1\n')
    await comesThrough(made, ['run'])
    expect(callsSeen(made)).toEqual(['1.1:1'])
    expect(made.read('progress.txt')).not.toContain('[FAIL]')
  })

  it('H-30 before anything was started: exit 130, and the next run goes on', async () => {
    made = crashProject({ stories: { '1.1': { verify: 'sh check.sh 1.1' } }, plays: { '*': honest } })
    for (const wait of [60, 120, 200]) {
      engine = startRalph(made, ['run'])
      await delay(wait)
      engine.kill('SIGINT')
      const ended = await engine.ended
      // Very early there is nobody yet to hear it: then the signal itself ends the process.
      expect([130, null], ended.stdout + ended.stderr).toContain(ended.code)
      expect(ended.stderr).not.toContain('internal error')
    }
    await comesThrough(made, ['run'])
    expect(made.read('progress.txt')).toMatch(/^\[DONE\] Story 1\.1/u)
  })
})
