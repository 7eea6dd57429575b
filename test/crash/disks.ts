import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** A folder on a real file system of its own, small enough to be filled. */
export function smallDisk(megabytes: number): { folder: string; remove(): void } {
  const above = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'ralph-disk-')))
  const folder = path.join(above, 'disk')
  mkdirSync(folder)
  asRoot('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder)
  return {
    folder,
    remove: () => {
      asRoot('umount', '--lazy', folder)
      rmSync(above, { recursive: true, force: true })
    },
  }
}

/** Makes a folder read-only, for root too, until the returned function is called. */
export function readOnly(folder: string): () => void {
  asRoot('mount', '--bind', folder, folder)
  asRoot('mount', '-o', 'remount,bind,ro', folder)
  return () => asRoot('umount', '--lazy', folder)
}

/** Runs `make` with another place for temporary folders. */
export function inFolder<T>(folder: string, make: () => T): T {
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  try {
    return make()
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}

function asRoot(...command: string[]): void {
  const [file = '', ...args] = process.getuid?.() === 0 ? command : ['sudo', '-n', ...command]
  try {
    execFileSync(file, args, { stdio: 'pipe' })
  } catch (error) {
    const line = command.join(' ')
    throw new Error(
      `This test needs a disk of its own and may not make one. Run it as root, where this works: ${line}`,
      {
        cause: error,
      },
    )
  }
}
