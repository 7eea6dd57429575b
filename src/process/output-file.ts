import { createWriteStream, openSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { errorText, UserError } from '../core/errors.ts'

export type OutputFile = {
  /** Says false when the disk is behind: nothing more should be written until `onDrain`. */
  write(text: string): boolean
  close(): Promise<void>
}

export type OutputFileOptions = {
  path: string
  /** Bytes after which nothing more is written, but for one line that says so. */
  most: number
  onDrain: () => void
  onError: (error: Error) => void
}

/** A file that is written as the text comes. Only a few hundred kilobytes ever wait in memory. */
export function openOutputFile(options: OutputFileOptions): OutputFile {
  const { path, most } = options
  const stream = createWriteStream(path, { fd: openFile(path, 'w'), highWaterMark: 256 * 1024 })
  let written = 0
  let full = false
  let failed = false
  stream.on('drain', options.onDrain)
  stream.on('error', error => {
    failed = true
    options.onError(cannotWrite(path, error))
  })

  return {
    write: text => {
      if (full || failed) return true
      const bytes = Buffer.from(text, 'utf8')
      written += bytes.length
      if (written <= most) return stream.write(bytes)
      full = true
      const fits = bytes.subarray(0, bytes.length - (written - most))
      return stream.write(
        Buffer.concat([fits, Buffer.from(`\n[only the first ${size(most)} of the output are kept]\n`)]),
      )
    },
    close: async () => {
      if (failed) return
      stream.end()
      // A failure has been told already.
      await finished(stream).catch(() => undefined)
    },
  }
}

/** A file to write to, or an error that says what to do. */
export function openFile(path: string, flags: 'w' | 'a'): number {
  try {
    return openSync(path, flags)
  } catch (error) {
    throw cannotWrite(path, error)
  }
}

function cannotWrite(path: string, error: unknown): UserError {
  const full = (error as NodeJS.ErrnoException).code === 'ENOSPC'
  return new UserError(
    full ? `the disk is full: ${path} cannot be written` : `cannot write ${path}: ${errorText(error)}`,
    full ? 'Make room and run again.' : 'Make the folder writable and run again.',
  )
}

function size(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${Math.round(bytes / 1024 / 1024)} MB` : `${bytes} bytes`
}
