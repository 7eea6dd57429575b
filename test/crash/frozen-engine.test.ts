import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { type RunningRalph, ralph, startRalph, until } from '../helpers/ralph.ts'
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
const lease = 2_000

/** The very first call of an agent hangs, with a child that would live on; all later ones work. */
function project(): CrashProject {
  const one = crashProject({
    stories: { '1.1': { verify: 'sh check.sh 1.1' }, '1.2': {} },
    plays: {
      '1.1:1': `[ -e "$out/hung" ] || { : >"$out/hung"; echo half >>src/existing.txt; child; trap "" TERM; sleep 30; }; ${honest}`,
      '*': honest,
    },
    config: [`lease: ${lease}ms`, 'leash: 1s'],
  })
  made.push(one)
  dirtyAsUser(one)
  return one
}

const made: CrashProject[] = []
const started: RunningRalph[] = []
afterEach(async () => {
  // What is frozen does not end by itself.
  for (const engine of started) engine.kill('SIGKILL')
  await Promise.all(started.splice(0).map(engine => engine.ended))
  for (const one of made.splice(0)) one.cleanup()
})

function start(where: CrashProject): RunningRalph {
  const engine = startRalph(where, args)
  started.push(engine)
  return engine
}

async function reference(): Promise<EndState> {
  const undisturbed = project()
  writeFileSync(path.join(undisturbed.outside, 'hung'), '')
  const { code, stdout, stderr } = await ralph(undisturbed, args)
  expect(code, stdout + stderr).toBe(0)
  return endState(undisturbed)
}

/** An engine that was frozen while its agent was at work. */
async function frozen(): Promise<{ at: number; engine: RunningRalph; project: CrashProject }> {
  const one = project()
  const engine = start(one)
  await until('the first agent', () => existsSync(path.join(one.outside, 'hung')))
  engine.kill('SIGSTOP')
  return { at: Date.now(), engine, project: one }
}

describe('an engine that is frozen', () => {
  it('G-11 past its lease: another takes over, no two agents meet, and the old one touches nothing when it wakes', async () => {
    const { at, engine, project } = await frozen()
    const early = await ralph(project, args)
    expect(early.code).toBe(1)
    expect(early.stderr).toMatch(
      new RegExp(`another Ralph works in this folder: ralph run \\(pid ${engine.pid}`, 'u'),
    )

    await delay(at + lease + 200 - Date.now())
    const second = await ralph(project, args)
    expect(second.code, second.stdout + second.stderr).toBe(0)
    expect(second.stdout).toContain('does not count')
    expect(overlaps(project)).toEqual([])
    expect(aliveAgents(project)).toEqual([])
    expect(attemptsSeen(project)).toEqual(['1.1:1', '1.2:1'])
    const after = await endState(project)
    expect(after).toEqual(await reference())

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
    const one = crashProject({
      stories: { '1.1': {} },
      plays: { '*': honest },
      config: [`lease: ${lease}ms`, 'leash: 1s'],
      verify: `["[ ! -e work ] || [ -e ../outside/gate ] || { : >../outside/gate; sleep 30; }"]`,
    })
    made.push(one)
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
  const one = project()
  writeFileSync(path.join(one.outside, 'hung'), '')
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
  expect(await endState(one), `frozen after ${wait} ms`).toEqual(expected)
  expect(overlaps(one)).toEqual([])
}

/** An engine frozen in the middle of a transaction keeps the journal locked: then only its end helps, as the error says. */
async function takeOver(one: CrashProject, engine: RunningRalph): ReturnType<typeof ralph> {
  const second = await ralph(one, args)
  if (second.code === 0 || !second.stderr.includes('kept locked by another process')) return second
  engine.kill('SIGKILL')
  return ralph(one, args)
}
