import { randomBytes } from 'node:crypto'
import { closeSync, constants, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'

export type NamedPipes = { stdout: Readable; stderr: Readable }

/**
 * Node's pipes are sockets, and on Linux a program cannot open a socket by name: `tee /dev/stderr` and the like fail,
 * and a gate would be red for no fault of its own. So there the program gets two real pipes, which the leash makes.
 */
export function pipesPath(processFile: string): string {
  return process.platform === 'linux' ? `${processFile}.${randomBytes(4).toString('hex')}` : ''
}

/** Opens both for reading and takes their names away. Null when they are gone. */
export function openPipes(path: string): NamedPipes | null {
  const stdout = openReader(`${path}.out`)
  if (stdout === null) return null
  let stderr: number | null = null
  try {
    stderr = openReader(`${path}.err`)
  } finally {
    if (stderr === null) closeSync(stdout)
  }
  return stderr === null ? null : { stdout: readerOf(stdout), stderr: readerOf(stderr) }
}

function openReader(file: string): number | null {
  let writer: number | undefined
  try {
    // The end of a pipe is only told to those who opened it while somebody wrote to it; a quick program may be gone.
    writer = openSync(file, constants.O_RDWR | constants.O_NONBLOCK)
    return openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    // An engine that was frozen at this moment, if only between two lines: the watcher has ended the program and cleared up.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  } finally {
    if (writer !== undefined) closeSync(writer)
    rmSync(file, { force: true })
  }
}

function readerOf(fd: number): Readable {
  return new Socket({ fd, readable: true, writable: false })
}
