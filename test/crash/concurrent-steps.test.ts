import { afterEach, describe, expect, it } from 'vitest'
import type { AnyEvent } from '../../src/core/event.ts'
import { type Ended, ralph, startRalph, type TestProject, until } from '../helpers/ralph.ts'
import { aliveAgents, type CrashProject, callsSeen, crashProject, honest, overlaps } from './crash-project.ts'

let project: CrashProject | null = null
afterEach(() => project?.cleanup())

describe('several engines on one backlog', () => {
  it('S0-03 three loops of `ralph step` side by side: 500 steps, every one of them once', async () => {
    // Four steps each, and not one for two: every step reads the whole backlog, and hundreds of stories only cost time.
    const ids = Array.from({ length: 125 }, (_, index) => `${1 + Math.floor(index / 25)}.${1 + (index % 25)}`)
    const gaveUp = 'echo "<ralph>FAIL $task: no idea</ralph>"'
    const made = crashProject({
      stories: Object.fromEntries(ids.map(id => [id, {}])),
      plays: { '*:1': gaveUp, '*:2': gaveUp, '*': 'answer; claim' },
      config: ['limits: { iterations: 1000 }'],
      verify: 'none',
    })
    project = made
    const loops = await Promise.all([stepUntilDone(made), stepUntilDone(made), stepUntilDone(made)])

    const events = await journal(made)
    expect(inOrder(events)).toEqual([])
    // Three attempts, of which two fail and are put back, then the proof and the settling.
    const steps = loops.flat().filter(step => step.includes('implement') || step.includes('done, '))
    expect(steps).toHaveLength(500)
    expect(Math.min(...loops.map(loop => loop.length)), 'each loop had its share').toBeGreaterThan(50)
    for (const id of ids) {
      const kinds = events.filter(one => one.stream === id).map(({ event }) => kindOf(event))
      expect(kinds, id).toEqual([
        'task.added',
        ...[1, 2].flatMap(() => [
          'step.started implement',
          'step.finished implement',
          'step.finished @restore',
        ]),
        'step.started implement',
        'step.finished implement',
        'step.finished verify',
        'step.finished @settle',
      ])
    }
    const started = events.flatMap(({ event }) => (event.type === 'step.started' ? [event.step] : []))
    expect(new Set(started).size).toBe(375)
    expect(callsSeen(made)).toEqual(ids.flatMap(id => [1, 2, 3].map(attempt => `${id}:${attempt}`)))
    expect(overlaps(made)).toEqual([])
    expect(aliveAgents(made)).toEqual([])
    const subjects = made.git('log', '--format=%s').trim().split('\n').reverse()
    expect(subjects).toEqual(['first', ...ids.map(id => `Story ${id}: Answer`)])
    expect(made.git('status', '--porcelain', 'work', 'src')).toBe('')
  }, 1_200_000)

  it('a second engine says who works here and ends with 1; a dead one is taken over at once', async () => {
    const made = crashProject({
      stories: { '1.1': {} },
      plays: { '1.1:1': `[ -e "$out/once" ] || { : >"$out/once"; child; sleep 60; }; ${honest}` },
      // An hour: what is taken over is taken because its holder is dead, not because time is up.
      config: ['lease: 1h', 'leash: 30m'],
    })
    project = made
    const first = startRalph(made, ['run'])
    await until('the agent', () => callsSeen(made).length === 1)
    for (const command of ['run', 'step']) {
      const second = await ralph(made, [command])
      expect(second.code).toBe(1)
      expect(second.stderr).toMatch(
        new RegExp(`^ralph: another Ralph works in this folder: ralph run \\(pid ${first.pid}, `, 'u'),
      )
      expect(second.stderr).toContain('ralph cancel')
    }
    expect(aliveAgents(made)).toHaveLength(2)

    first.kill('SIGKILL')
    await first.ended
    const third = await ralph(made, ['run'])
    expect(third.code, third.stdout + third.stderr).toBe(0)
    expect(overlaps(made)).toEqual([])
    expect(callsSeen(made)).toEqual(['1.1:1', '1.1:1'])
  }, 60_000)
})

/** What each process of the loop printed. */
async function stepUntilDone(where: TestProject): Promise<string[]> {
  const printed: string[] = []
  for (;;) {
    const ended: Ended = await ralph(where, ['step', '--wait'], { timeout: 120_000 })
    expect(ended.code, ended.stdout + ended.stderr).toBe(0)
    if (ended.stdout.includes('ALL COMPLETE')) return printed
    printed.push(ended.stdout)
  }
}

type Line = { stream: string; seq: number; event: AnyEvent }

async function journal(where: TestProject): Promise<Line[]> {
  const { stdout } = await ralph(where, ['journal', 'export'])
  return stdout
    .trim()
    .split('\n')
    .slice(1)
    .map(line => JSON.parse(line) as Line)
}

/** Events whose number is not the next one of their stream. */
function inOrder(events: Line[]): Line[] {
  const last = new Map<string, number>()
  return events.filter(({ stream, seq }) => {
    const expected = (last.get(stream) ?? 0) + 1
    last.set(stream, seq)
    return seq !== expected
  })
}

function kindOf(event: AnyEvent): string {
  return 'stage' in event ? `${event.type} ${event.stage}` : event.type
}
