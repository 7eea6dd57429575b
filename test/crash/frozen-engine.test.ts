import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type RunningRalph, ralph, until } from '../helpers/ralph.ts'
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
import { comesThrough, expectSameEnd, inPlace, stage, undisturbed } from './undisturbed.ts'

const lease = 2_000
/** Long enough for another engine to start within it, on a machine with ten times too much to do. */
const longLease = 10_000
const times = (ms: number) => [`lease: ${ms}ms`, 'leash: 1s']
const { keep, start } = stage()

/** The very first call of an agent hangs, with a child that would live on; all later ones work. */
function project(ms: number): CrashProject {
  const one = crashProject({
    stories: { '1.1': { verify: 'sh check.sh 1.1' }, '1.2': {} },
    plays: {
      '1.1:1': `[ -e "$out/hung" ] || { : >"$out/hung"; echo half >>src/existing.txt; child; trap "" TERM; sleep 30; }; ${honest}`,
      '*': honest,
    },
    config: times(ms),
  })
  dirtyAsUser(one)
  return keep(one)
}

function neverHangs(ms = lease): CrashProject {
  const one = project(ms)
  writeFileSync(path.join(one.outside, 'hung'), '')
  return one
}

const reference = async (ms = lease) => (await undisturbed(neverHangs(ms))).end

/** An engine that was frozen while its agent was at work. */
async function frozen(ms = lease): Promise<{ at: number; engine: RunningRalph; project: CrashProject }> {
  const one = project(ms)
  const engine = start(one)
  await until('the first agent', () => existsSync(path.join(one.outside, 'hung')))
  engine.kill('SIGSTOP')
  return { at: Date.now(), engine, project: one }
}

describe('an engine that is frozen', () => {
  it('G-11 past its lease: another takes over, no two agents meet, and the old one touches nothing when it wakes', async () => {
    const { at, engine, project } = await frozen(longLease)
    const early = await ralph(project, inPlace)
    expect(early.code).toBe(1)
    expect(early.stderr).toMatch(
      new RegExp(`another Ralph works in this folder: ralph run \\(pid ${engine.pid}`, 'u'),
    )

    await delay(at + longLease + 200 - Date.now())
    const second = await comesThrough(project)
    expect(second.stdout).toContain('does not count')
    expect(overlaps(project)).toEqual([])
    expect(aliveAgents(project)).toEqual([])
    expect(attemptsSeen(project)).toEqual(['1.1:1', '1.2:1'])
    const after = await endState(project)
    expect(after).toEqual(await reference(longLease))

    const { stdout: journal } = await ralph(project, ['journal', 'export'])
    const log = project.read('ralph.log')
    engine.kill('SIGCONT')
    const woken = await engine.ended
    expect(woken.code, woken.stdout + woken.stderr).toBe(1)
    expect(woken.stderr).toContain('lost its lease')
    expect(woken.stderr).not.toContain('internal error')
    expect(await endState(project)).toEqual(after)
    expect((await ralph(project, ['journal', 'export'])).stdout).toBe(journal)
    expect(project.read('ralph.log')).toBe(log)
    expect(callsSeen(project)).toHaveLength(3)
  }, 120_000)

  it('G-11 past its leash, and nobody came: it goes on, and the attempt does not count', async () => {
    const { engine, project } = await frozen()
    await until('the end of its agent', () => aliveAgents(project).length === 0)
    await delay(lease)
    engine.kill('SIGCONT')
    const { code, stdout, stderr } = await engine.ended
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain('does not count')
    expect(overlaps(project)).toEqual([])
    expect(attemptsSeen(project)).toEqual(['1.1:1', '1.2:1'])
    expect(await endState(project)).toEqual(await reference())
  }, 120_000)

  it('G-11 while a gate runs: the gate is taken again, and nothing counts against the story', async () => {
    const one = keep(
      crashProject({
        stories: { '1.1': {} },
        plays: { '*': honest },
        config: times(lease),
        verify: `["[ ! -e work ] || [ -e ../outside/gate ] || { : >../outside/gate; sleep 30; }"]`,
      }),
    )
    const engine = start(one)
    await until('the gate', () => existsSync(path.join(one.outside, 'gate')))
    engine.kill('SIGSTOP')
    await delay(lease + 1_000)
    engine.kill('SIGCONT')
    const { code, stdout, stderr } = await engine.ended
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain('does not count')
    expect(callsSeen(one)).toEqual(['1.1:1'])
    expect(one.read('progress.txt')).not.toContain('[FAIL]')
  }, 60_000)

  it('G-11 at any moment: the end is the same, and whoever lost its lease says so', async () => {
    const expected = await reference()
    const waits = [0, 60, 150, 300, 500, 800]
    const outcomes = await Promise.allSettled(waits.map(wait => freezeAfter(wait, expected)))
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }, 180_000)
})

async function freezeAfter(wait: number, expected: EndState): Promise<void> {
  const one = neverHangs()
  const engine = start(one)
  await until('its first word', () => engine.stdout() !== '')
  await delay(wait)
  engine.kill('SIGSTOP')
  await delay(lease + 200)
  const second = await takeOver(one, engine)
  expect(second.code, second.stdout + second.stderr).toBe(0)
  engine.kill('SIGCONT')
  const woken = await engine.ended
  // It may have been done already.
  if (woken.code !== 0 && woken.code !== null) expect(woken.stderr).toContain('lost its lease')
  expect(woken.stderr).not.toContain('internal error')
  await expectSameEnd(one, expected, `frozen after ${wait} ms`)
}

/** An engine frozen in the middle of a transaction keeps the journal locked: then only its end helps, as the error says. */
async function takeOver(one: CrashProject, engine: RunningRalph): ReturnType<typeof ralph> {
  const second = await ralph(one, inPlace)
  if (second.code === 0 || !second.stderr.includes('kept locked by another process')) return second
  engine.kill('SIGKILL')
  return ralph(one, inPlace)
}
