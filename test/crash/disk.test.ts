import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { makeReadOnly, smallDisk } from '../contracts/store/mount.ts'
import { type Ended, ralph } from '../helpers/ralph.ts'
import {
  aliveAgents,
  attemptsSeen,
  type CrashProject,
  crashProject,
  dirtyAsUser,
  honest,
} from './crash-project.ts'
import { type EndState, endState } from './end-state.ts'
import { comesThrough, inPlace, undisturbed } from './undisturbed.ts'

/** The first agent fills the disk but for `left` kilobytes; its successors find it as it is. */
function project(left: number | null): CrashProject {
  const fill =
    left === null
      ? ''
      : `[ -e "$out/filled" ] || { : >"$out/filled"; cat /dev/zero >"$out/filler" 2>/dev/null; truncate -s -${left}K "$out/filler"; };`
  const made = crashProject({
    stories: { '1.1': { verify: 'sh check.sh 1.1' }, '1.2': {} },
    plays: { '1.1:1': `${honest}; ${fill}`, '*': honest },
  })
  dirtyAsUser(made)
  return made
}

describe('a full disk', () => {
  let disk: ReturnType<typeof smallDisk> | null = null
  let expected: EndState
  beforeAll(async () => {
    expected = (await undisturbed(project(null))).end
  })
  afterEach(() => {
    disk?.remove()
    disk = null
  })

  it.each([0, 4, 16, 64, 128, 256, 512])(
    'H-30 with %i kB left when the agent ends: a clean end, and with room again the same end as without',
    async left => {
      disk = smallDisk(16)
      const made = inFolder(disk.folder, () => project(left))
      const first = await ralph(made, inPlace)
      expect([0, 1], first.stdout + first.stderr).toContain(first.code)
      if (left < 16) expect(first.code).toBe(1)
      if (first.code === 1) expectPlain(first, /full|No space left/iu)
      expect(aliveAgents(made)).toEqual([])

      rmSync(path.join(made.outside, 'filler'))
      await comesThrough(made)
      expect(await endState(made)).toEqual(expected)
      expect(attemptsSeen(made).at(-1)).toBe('1.2:1')
    },
    60_000,
  )

  it('H-30 from the start: it says so and starts nothing', async () => {
    disk = smallDisk(16)
    const made = inFolder(disk.folder, () => project(null))
    fill(made)
    const ended = await ralph(made, inPlace)
    expect(ended.code).toBe(1)
    expectPlain(ended, /full|No space left/iu)
    expect(attemptsSeen(made)).toEqual([])
    rmSync(path.join(made.outside, 'filler'))
    await comesThrough(made)
    expect(await endState(made)).toEqual(expected)
  })
})

/** Runs `make` with another place for temporary folders. */
function inFolder<T>(folder: string, make: () => T): T {
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  try {
    return make()
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}

function fill(where: CrashProject): void {
  const file = openSync(path.join(where.outside, 'filler'), 'w')
  try {
    for (let size = 64 * 1024; size >= 512; size /= 2) {
      const block = Buffer.alloc(size)
      while (wasWritten(file, block));
    }
  } finally {
    closeSync(file)
  }
}

function wasWritten(file: number, block: Buffer): boolean {
  try {
    return writeSync(file, block) > 0
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}

/** One line of what is wrong, one of what to do; no stack trace. */
function expectPlain(ended: Ended, what: RegExp): void {
  expect(ended.stderr).toMatch(what)
  expect(ended.stderr).not.toMatch(/internal error|^\s+at /mu)
  expect(ended.stderr).toContain('→')
}

describe('a read-only .ralph', () => {
  it('H-30 is told in plain words, and nothing is started', async () => {
    const made = project(null)
    await comesThrough(made, [...inPlace, '-s', '1.1'])
    const unmount = makeReadOnly(path.join(made.root, '.ralph'))
    try {
      const ended = await ralph(made, inPlace)
      expect(ended.code).toBe(1)
      expectPlain(ended, /read-only|cannot be written/u)
      expect(attemptsSeen(made)).toEqual(['1.1:1'])
    } finally {
      unmount()
    }
    await comesThrough(made)
    made.cleanup()
  })
})
