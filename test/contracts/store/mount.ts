import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './home.ts'

/** `readOnly` shows the same files, but nothing can be written there. */
export type SmallDisk = { folder: string; readOnly: string; remove(): void }

/** A real file system of one megabyte. */
export function smallDisk(): SmallDisk {
  const above = temporaryFolder()
  const folder = join(above, 'disk')
  const readOnly = join(above, 'read-only')
  mkdirSync(folder)
  mkdirSync(readOnly)
  asRoot('mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder)
  asRoot('mount', '--bind', '-o', 'ro', folder, readOnly)
  return {
    folder,
    readOnly,
    remove: () => {
      // Lazily: libsql keeps its file open for a while after it was closed.
      asRoot('umount', '--lazy', readOnly)
      asRoot('umount', '--lazy', folder)
      rmSync(above, { recursive: true })
    },
  }
}

function asRoot(...command: string[]): void {
  const [file = '', ...args] = process.getuid?.() === 0 ? command : ['sudo', '-n', ...command]
  try {
    execFileSync(file, args, { stdio: 'pipe' })
  } catch (error) {
    const line = command.join(' ')
    throw new Error(
      `This test needs a small disk and may not make one. Run it as root, where this works: ${line}`,
      { cause: error },
    )
  }
}
