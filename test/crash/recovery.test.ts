import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { ralph, startRalph, until } from '../helpers/ralph.ts'
import { aliveAgents, type CrashProject, callsSeen, crashProject, honest, specPath } from './crash-project.ts'
import { endState } from './end-state.ts'

let made: CrashProject
afterEach(() => made.cleanup())

/** Kills the engine with -9 when its first agent has done `mess` and hangs; the tree was clean before. */
async function killedAfter(mess: string): Promise<void> {
  made = crashProject({
    stories: { '1.1': { verify: 'sh check.sh 1.1' }, '1.2': {} },
    plays: {
      '1.1:1': `[ -e "$out/hung" ] || { ${mess}; : >"$out/hung"; sleep 60; }; ${honest}`,
      '*': honest,
    },
  })
  const engine = startRalph(made, ['run'])
  await until('the agent', () => existsSync(path.join(made.outside, 'hung')))
  engine.kill('SIGKILL')
  await engine.ended
}

async function expectDone(): Promise<void> {
  const { code, stdout, stderr } = await ralph(made, ['run'])
  expect(code, stdout + stderr).toBe(0)
  const end = await endState(made)
  expect(end.commits.map(line => line.replace(/^\S+ Test /u, ''))).toEqual([
    'feat: answer 1.2',
    'feat: answer 1.1',
    'first',
  ])
  expect(end.branch).toBe('main')
  expect(end.references.trim()).toBe('refs/heads/main')
  expect(end.stash).toBe('')
  expect(made.read('src/existing.txt')).toBe('as it was\n')
  expect(made.git('status', '--porcelain', '--', 'src', 'work', 'check.sh')).toBe('')
  expect(end.litter).toEqual([])
  expect(aliveAgents(made)).toEqual([])
}

describe('after kill -9 in the middle of an agent', () => {
  it.each([
    ['has changed tracked files', 'echo half >>src/existing.txt; rm check.sh; echo new >work.txt'],
    [
      'has staged and committed',
      'echo half >>src/existing.txt; git add -A; git commit -qm half; echo more >>src/existing.txt; git add -A',
    ],
    ['was on another branch', 'git switch -qc elsewhere; echo half >>src/existing.txt; git commit -qam half'],
    [
      'has put things into the stash',
      'echo half >>src/existing.txt; git stash -q; echo other >>src/existing.txt',
    ],
    [
      'was in the middle of a merge with conflicts',
      'git switch -qc other; echo a >src/existing.txt; git commit -qam a; git switch -q main; echo b >src/existing.txt; git commit -qam b; git merge other >/dev/null',
    ],
    ['has left locks of git', ': >.git/index.lock; : >.git/HEAD.lock; : >.git/refs/heads/main.lock'],
    [
      'has left a lock on a reference of Ralph',
      'mkdir -p .git/refs/ralph/steps/r; : >.git/refs/ralph/steps/r/0001.lock',
    ],
    ['has spoilt the index', 'echo nonsense >.git/index'],
  ])('G-11 which %s: the next run goes on, without being asked for anything', async (_, mess) => {
    await killedAfter(mess)
    await expectDone()
    expect(callsSeen(made)).toEqual(['1.1:1', '1.1:1', '1.2:1'])
  })

  it('G-11 what the user did before the next run is kept with the interrupted work', async () => {
    await killedAfter('echo half >>src/existing.txt')
    made.write('src/user.txt', 'worked on in the meantime\n')
    const { stdout } = await ralph(made, ['run'])
    const [kept = ''] = /refs\/ralph\/interrupted\/\S+/u.exec(stdout) ?? []
    expect(made.git('show', `${kept}:src/user.txt`)).toBe('worked on in the meantime\n')
    expect(made.git('show', `${kept}:src/existing.txt`)).toBe('as it was\nhalf\n')
  })

  it('G-11 whose story was taken out of the backlog: its work does not stay in the tree', async () => {
    await killedAfter('echo half >>src/existing.txt')
    rmSync(path.join(made.root, specPath('1.1')))
    const { code, stdout, stderr } = await ralph(made, ['run'])
    expect(code, stdout + stderr).toBe(0)
    expect(made.read('src/existing.txt')).toBe('as it was\n')
    expect(callsSeen(made)).toEqual(['1.1:1', '1.2:1'])
  })
})

describe('work that waits for its gates', () => {
  /** Leaves tracked files changed and commits nothing. */
  function uncommitted(): void {
    made = crashProject({
      stories: { '1.1': { verify: 'sh check.sh 1.1' }, '1.2': { verify: 'sh check.sh 1.2' } },
      plays: { '*': 'answer; echo "$task" >>src/existing.txt; claim' },
    })
  }

  it('G-11 is not taken for the user’s after kill -9, and its agent is not called again', async () => {
    uncommitted()
    // The seventh event is the end of the first agent's step.
    const { code } = await ralph(made, ['run'], { env: { RALPH_CRASH: 'event:7' } })
    expect(code).toBeNull()
    expect(made.git('status', '--porcelain', 'src')).toContain('existing.txt')
    const next = await ralph(made, ['run'])
    expect(next.code, next.stdout + next.stderr).toBe(0)
    expect(callsSeen(made)).toEqual(['1.1:1', '1.2:1'])
    expect(made.read('src/existing.txt')).toBe('as it was\n1.1\n1.2\n')
  })

  it('S0-03 is gone on with by the next `ralph step`', async () => {
    uncommitted()
    let steps = 0
    for (let printed = ''; !printed.includes('ALL COMPLETE'); steps++) {
      const { code, stdout, stderr } = await ralph(made, ['step'])
      expect(code, stdout + stderr).toBe(0)
      expect(steps).toBeLessThan(6)
      printed = stdout
    }
    expect(callsSeen(made)).toEqual(['1.1:1', '1.2:1'])
    expect(made.git('log', '--format=%s').trim().split('\n')).toEqual([
      'Story 1.2: Answer',
      'Story 1.1: Answer',
      'first',
    ])
  })

  it('G-11 is put back when its story is taken out of the backlog before they ran', async () => {
    uncommitted()
    await ralph(made, ['run'], { env: { RALPH_CRASH: 'event:7' } })
    rmSync(path.join(made.root, specPath('1.1')))
    const next = await ralph(made, ['run'])
    expect(next.code, next.stdout + next.stderr).toBe(0)
    expect(made.read('src/existing.txt')).toBe('as it was\n1.2\n')
    expect(made.exists('work/1.1.txt')).toBe(false)
  })

  it('stays, but what the user changes himself in the meantime still stops the run', async () => {
    uncommitted()
    await ralph(made, ['run'], { env: { RALPH_CRASH: 'event:7' } })
    made.write('src/user.txt', 'his own\n')
    const next = await ralph(made, ['run'])
    expect(next.code).toBe(1)
    expect(next.stderr).toContain('src/user.txt')
    expect(next.stderr).not.toContain('src/existing.txt')
    expect(made.read('src/user.txt')).toBe('his own\n')
  })
})
