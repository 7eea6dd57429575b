import {
  closeSync,
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
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
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
import { comesThrough, inPlace } from './undisturbed.ts'

const both = { completed_stories: ['1.1', '1.2'], current_story: null, retry_count: 0 }

let made: CrashProject
afterEach(() => made.cleanup())

/** The first of two stories is done. */
async function halfDone(): Promise<void> {
  made = crashProject({
    stories: { '1.1': { verify: 'sh check.sh 1.1' }, '1.2': { verify: 'sh check.sh 1.2' } },
    plays: { '*': honest },
  })
  dirtyAsUser(made)
  await comesThrough(made, [...inPlace, '-s', '1.1'])
}

function database(): string {
  return path.join(made.root, '.ralph', 'ralph.db')
}

/** Whether events can be saved, or else the preset's own files must do; null: that depends on what lies where it hits. */
type Damage = { name: string; saves: boolean | null; harm: () => void }

const damages: Damage[] = [
  {
    name: 'cut off',
    saves: true,
    harm: () => truncateSync(database(), pageAt(0.8)),
  },
  {
    name: 'cut off after its first page',
    saves: false,
    harm: () => truncateSync(database(), 4096 + 100),
  },
  { name: 'overwritten at its start', saves: false, harm: () => overwrite(0, noise(200)) },
  {
    name: 'overwritten in the middle',
    saves: null,
    harm: () => overwrite(pageAt(0.3), noise(pageAt(0.6) - pageAt(0.3))),
  },
  { name: 'emptied', saves: false, harm: () => truncateSync(database(), 0) },
  {
    name: 'replaced by a text',
    saves: false,
    harm: () => writeFileSync(database(), 'nothing to see here\n'.repeat(500)),
  },
]

/** Where the page begins that lies at this part of the file. */
function pageAt(part: number): number {
  return Math.floor((statSync(database()).size / 4096) * part) * 4096
}

/** Always the same noise, so that a failure can be repeated. */
function noise(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, index) => (index * 167 + 13) % 251))
}

function overwrite(at: number, bytes: Uint8Array): void {
  const file = openSync(database(), 'r+')
  writeSync(file, bytes, 0, bytes.length, at)
  closeSync(file)
}

describe('a damaged journal', () => {
  const ids = Array.from({ length: 9 }, (_, index) => `1.${index + 1}`)
  let first: CrashProject
  beforeAll(async () => {
    first = crashProject({
      stories: Object.fromEntries(ids.map(id => [id, { verify: `sh check.sh ${id}` }])),
      plays: { '*': honest },
    })
    // Eight of nine: a journal of some pages.
    const { code, stdout, stderr } = await ralph(first, ['run', '-n', '8'])
    expect(code, stdout + stderr).toBe(1)
  })
  afterAll(() => first.cleanup())

  it.each(damages)(
    'H-30 $name: a clear error that names `ralph doctor`, which says what can be saved; then it goes on',
    async ({ harm, saves }) => {
      made = copyOf(first)
      harm()
      for (const end of ['-wal', '-shm']) rmSync(`${database()}${end}`, { force: true })
      const bytes = readFileSync(database())

      const refused = await ralph(made, ['run'])
      expect(refused.code, refused.stdout + refused.stderr).toBe(1)
      expect(refused.stderr).toMatch(/^ralph: .*ralph\.db.*damaged.*ralph doctor/u)
      expect(refused.stderr).not.toMatch(/internal error|^\s+at /mu)
      // Whoever cannot read it must not make it worse.
      expect(readFileSync(database()).equals(bytes)).toBe(true)
      expect(callsSeen(made)).toHaveLength(8)

      const doctor = await ralph(made, ['doctor'])
      expect(doctor.code).toBe(1)
      const salvaged = await ralph(made, ['doctor', '--salvage', 'saved.db'])
      const saved = salvaged.code === 0
      expect([0, 1], salvaged.stdout + salvaged.stderr).toContain(salvaged.code)
      if (saves !== null) expect(saved, salvaged.stdout + salvaged.stderr).toBe(saves)
      if (saved) {
        expect(doctor.stdout).toContain('ralph doctor --salvage')
        expect(salvaged.stdout).toMatch(/^saved [1-9]\d* events/u)
        renameSync(path.join(made.root, 'saved.db'), database())
      } else {
        expect(doctor.stdout).toContain('Move it away')
        expect(salvaged.stderr).toMatch(/nothing can be saved/u)
        expect(made.exists('saved.db')).toBe(false)
        renameSync(database(), path.join(made.outside, 'old.db'))
      }
      await expectGoesOn()
    },
    60_000,
  )

  it('H-30 overwritten within the state of a story: no agent is started on it, and nothing of it is lost', async () => {
    made = copyOf(first)
    const at = readFileSync(database()).lastIndexOf('"status":"open"')
    overwrite(at, Buffer.from('x'.repeat(40)))
    const refused = await ralph(made, ['run'])
    expect(refused.code, refused.stdout + refused.stderr).toBe(1)
    expect(refused.stderr).toMatch(/^ralph: .*ralph\.db.*damaged.*ralph doctor/u)
    expect(callsSeen(made)).toHaveLength(8)
    expect((await ralph(made, ['doctor'])).stdout).toContain('not what the events amount to: task 1.9')
    expect((await ralph(made, ['doctor', '--salvage', 'saved.db'])).code).toBe(0)
    for (const end of ['-wal', '-shm']) rmSync(`${database()}${end}`, { force: true })
    renameSync(path.join(made.root, 'saved.db'), database())
    await expectGoesOn()
    expect(callsSeen(made)).toHaveLength(9)
  })

  async function expectGoesOn(): Promise<void> {
    await comesThrough(made, ['run'])
    expect(state(made).completed_stories.sort()).toEqual(ids)
    expect((await endState(made)).journal).toBe('sound')
    expect(made.git('log', '--format=%s').trim().split('\n')).toHaveLength(10)
    expect((await ralph(made, ['doctor'])).stdout).toContain('whole, and the states are what they amount to')
  }
})

/** The same project once more, in a folder of its own. */
function copyOf(one: CrashProject): CrashProject {
  const copy = crashProject({ stories: {}, plays: {} })
  const [from, to] = [path.dirname(one.root), path.dirname(copy.root)]
  rmSync(to, { recursive: true })
  cpSync(from, to, { recursive: true, preserveTimestamps: true })
  return copy
}

describe('a lost .ralph', () => {
  it('S4-66 deleted between two runs: progress.txt is enough to go on', async () => {
    await halfDone()
    rmSync(path.join(made.root, '.ralph'), { recursive: true })
    const { stdout } = await comesThrough(made)
    expect(state(made)).toEqual(both)
    expect(attemptsSeen(made).at(-1)).toBe('1.2:1')
    expect(callsSeen(made)).toHaveLength(2)
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
    await comesThrough(made)
    expect(state(made)).toEqual(both)
    expect(callsSeen(made)).toHaveLength(2)
  })

  it('H-30 deleted by the agent in the middle of its work: the attempt fails, the journal is put back, and it goes on', async () => {
    made = crashProject({
      stories: { '1.1': {}, '1.2': {} },
      plays: { '1.1:1': honest, '1.2:1': `rm -rf .ralph; ${honest}`, '*': honest },
    })
    dirtyAsUser(made)
    const { stdout } = await comesThrough(made)
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
    const { stdout } = await comesThrough(made, ['run'])
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
    await comesThrough(made)
    rmSync(path.join(made.root, '.ralph'), { recursive: true })
    cpSync(copy, path.join(made.root, '.ralph'), { recursive: true })
    await comesThrough(made)
    expect(state(made)).toEqual(both)
    expect((await endState(made)).journal).toBe('sound')
  })
})
