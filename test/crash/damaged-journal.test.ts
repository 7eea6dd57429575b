import {
  cpSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { ralph } from '../helpers/ralph.ts'
import { state } from '../helpers/story-project.ts'
import {
  attemptsSeen,
  type CrashProject,
  callsSeen,
  crashProject,
  dirtyAsUser,
  honest,
} from './crash-project.ts'
import { endState } from './end-state.ts'

const args = ['run', '--in-place']
const both = { completed_stories: ['1.1', '1.2'], current_story: null, retry_count: 0 }

let made: CrashProject
afterEach(() => made.cleanup())

/** The first of two stories is done, after a failed attempt. */
async function halfDone(): Promise<CrashProject> {
  made = crashProject({
    stories: { '1.1': { verify: 'sh check.sh 1.1' }, '1.2': { verify: 'sh check.sh 1.2' } },
    plays: {
      '1.1:1': `[ -e "$out/failed" ] || { : >"$out/failed"; echo "<ralph>FAIL 1.1: no idea</ralph>"; exit 0; }; ${honest}`,
      '*': honest,
    },
  })
  dirtyAsUser(made)
  const { code, stdout, stderr } = await ralph(made, [...args, '-s', '1.1'])
  expect(code, stdout + stderr).toBe(0)
  return made
}

function database(): string {
  return path.join(made.root, '.ralph', 'ralph.db')
}

type Damage = { name: string; harm: () => void }

const damages: Damage[] = [
  {
    name: 'cut off in the middle',
    harm: () => truncateSync(database(), Math.floor(statSync(database()).size / 2)),
  },
  { name: 'cut off after its first page', harm: () => truncateSync(database(), 4096 + 100) },
  { name: 'overwritten at its start', harm: () => overwrite(0, 200) },
  {
    name: 'overwritten in the middle',
    harm: () => overwrite(4096 * 3, statSync(database()).size - 4096 * 2),
  },
  { name: 'emptied', harm: () => truncateSync(database(), 0) },
  { name: 'replaced by a text', harm: () => writeFileSync(database(), 'nothing to see here\n'.repeat(500)) },
]

/** Always the same noise, so that a failure can be repeated. */
function overwrite(from: number, to: number): void {
  const noise = Buffer.from(
    Array.from({ length: Math.max(0, to - from) }, (_, index) => (index * 167 + 13) % 251),
  )
  writeSync(openSync(database(), 'r+'), noise, 0, noise.length, from)
}

describe('a damaged journal', () => {
  it.each(damages)(
    'H-30 $name: a clear error that names `ralph doctor`, which says what can be saved; then it goes on',
    async ({ harm }) => {
      await halfDone()
      harm()
      for (const end of ['-wal', '-shm']) rmSync(`${database()}${end}`, { force: true })
      const bytes = readFileSync(database())

      const refused = await ralph(made, args)
      expect(refused.code, refused.stdout + refused.stderr).toBe(1)
      expect(refused.stderr).toMatch(/^ralph: .*ralph\.db.*damaged.*ralph doctor/u)
      expect(refused.stderr).not.toMatch(/internal error|^\s+at /mu)
      // Whoever only wants to read must not make it worse.
      expect(readFileSync(database()).equals(bytes)).toBe(true)
      expect(callsSeen(made)).toHaveLength(2)

      const doctor = await ralph(made, ['doctor'])
      expect(doctor.code).toBe(1)
      const salvaged = await ralph(made, ['doctor', '--salvage', 'saved.db'])
      if (salvaged.code === 0) {
        expect(doctor.stdout).toContain('ralph doctor --salvage')
        expect(salvaged.stdout).toMatch(/^saved \d+ events? of \d+ tasks? to saved\.db/u)
        renameSync(path.join(made.root, 'saved.db'), database())
      } else {
        expect(doctor.stdout).toContain('Move it away')
        expect(salvaged.stderr).toMatch(/nothing can be saved/u)
        expect(made.exists('saved.db')).toBe(false)
        renameSync(database(), path.join(made.outside, 'old.db'))
      }
      const again = await ralph(made, args)
      expect(again.code, again.stdout + again.stderr).toBe(0)
      expect(state(made)).toEqual(both)
      expect((await endState(made)).journal).toBe('sound')
      expect(made.read('work/1.2.txt')).toBe('answer 1.2\n')
      expect((await ralph(made, ['doctor'])).stdout).toContain(
        'whole, and the states are what they amount to',
      )
    },
    60_000,
  )
})

describe('a lost .ralph', () => {
  it('S4-66 deleted between two runs: progress.txt is enough to go on', async () => {
    await halfDone()
    rmSync(path.join(made.root, '.ralph'), { recursive: true })
    const { code, stdout, stderr } = await ralph(made, args)
    expect(code, stdout + stderr).toBe(0)
    expect(state(made)).toEqual(both)
    expect(attemptsSeen(made).at(-1)).toBe('1.2:1')
    expect(callsSeen(made)).toHaveLength(3)
    expect(stdout).toContain('done before this journal')
  })

  it('S4-66 S4-T06 with a progress.txt that names a story twice: it is completed once', async () => {
    await halfDone()
    const line = made
      .read('progress.txt')
      .split('\n')
      .find(one => one.startsWith('[DONE]'))
    writeFileSync(path.join(made.root, 'progress.txt'), `${made.read('progress.txt')}${line}\n${line}\n`)
    rmSync(path.join(made.root, '.ralph'), { recursive: true })
    const { code, stdout, stderr } = await ralph(made, args)
    expect(code, stdout + stderr).toBe(0)
    expect(state(made)).toEqual(both)
    expect(callsSeen(made)).toHaveLength(3)
  })

  it('H-30 deleted by the agent in the middle of its work: the attempt fails, the journal is put back, and it goes on', async () => {
    made = crashProject({
      stories: { '1.1': {}, '1.2': {} },
      plays: { '1.1:1': honest, '1.2:1': `rm -rf .ralph; ${honest}`, '*': honest },
    })
    dirtyAsUser(made)
    const { code, stdout, stderr } = await ralph(made, args)
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toMatch(/Deleted or replaced the journal/u)
    expect(state(made)).toEqual(both)
    expect(attemptsSeen(made)).toEqual(['1.1:1', '1.2:1', '1.2:2'])
    const end = await endState(made)
    expect(end.journal).toBe('sound')
    expect(end.status).not.toContain('.ralph')
    expect(end.staged).toContain('staged by the user')
    expect(end.progress.filter(line => line.startsWith('[FAIL]'))).toHaveLength(1)
    expect(end.progress.filter(line => line.startsWith('[DONE]'))).toHaveLength(2)
  })

  it('H-30 deleted by a gate: the journal is put back, and nothing of it is lost', async () => {
    made = crashProject({
      stories: { '1.1': {}, '1.2': {} },
      plays: { '*': honest },
      verify: '["rm -rf .ralph", "sh check.sh"]',
    })
    const { code, stdout, stderr } = await ralph(made, ['run'])
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain('a gate deleted .ralph/')
    expect(state(made)).toEqual(both)
    expect(attemptsSeen(made)).toEqual(['1.1:1', '1.2:1'])
    const end = await endState(made)
    expect(end.journal).toBe('sound')
    expect(end.status).not.toContain('.ralph')
    expect(end.progress.filter(line => line !== '')).toHaveLength(2)
  })

  it('H-30 put back from an old copy: what the journal has forgotten is done again, never taken for done', async () => {
    await halfDone()
    const copy = path.join(made.outside, 'copy')
    cpSync(path.join(made.root, '.ralph'), copy, { recursive: true })
    expect((await ralph(made, args)).code).toBe(0)
    rmSync(path.join(made.root, '.ralph'), { recursive: true })
    cpSync(copy, path.join(made.root, '.ralph'), { recursive: true })
    const { code, stdout, stderr } = await ralph(made, args)
    expect(code, stdout + stderr).toBe(0)
    expect(state(made)).toEqual(both)
    expect((await endState(made)).journal).toBe('sound')
  })
})
