import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './home.ts'

/** `readOnly` shows the same files, but nothing can be written there. */
export type SmallDisk = { folder: string; readOnly: string; remove(): void }

/** A real file system of its own, small enough to be filled. */
export function smallDisk(megabytes = 1): SmallDisk {
  const above = realpathSync(temporaryFolder())
  const folder = join(above, 'disk')
  const readOnly = join(above, 'read-only')
  mkdirSync(folder)
  mkdirSync(readOnly)
  asRoot('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder)
  const hide = showReadOnly(folder, readOnly)
  return {
    folder,
    readOnly,
    remove: () => {
      hide()
      unmount(folder)
      rmSync(above, { recursive: true })
    },
  }
}

/** Makes a folder read-only, for root too, until the returned function is called. */
export function makeReadOnly(folder: string): () => void {
  return showReadOnly(folder, folder)
}

function showReadOnly(folder: string, at: string): () => void {
  asRoot('mount', '--bind', folder, at)
  asRoot('mount', '-o', 'remount,bind,ro', at)
  return () => unmount(at)
}

/** Lazily: libsql keeps its file open for a while after it was closed. */
function unmount(folder: string): void {
  asRoot('umount', '--lazy', folder)
}

function asRoot(...command: string[]): void {
  const [file = '', ...args] = process.getuid?.() === 0 ? command : ['sudo', '-n', ...command]
  try {
    execFileSync(file, args, { stdio: 'pipe' })
  } catch (error) {
    const line = command.join(' ')
    throw new Error(
      `This test needs a disk of its own and may not make one. Run it as root, where this works: ${line}`,
      { cause: error },
    )
  }
}
