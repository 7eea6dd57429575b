import { errorText, UserError } from './core/errors.ts'
import { createProgram } from './program.ts'

/** argv → command. The only place that turns errors into exit codes. */
export async function main(): Promise<void> {
  const program = createProgram()
  try {
    await program.parseAsync(process.argv)
  } catch (error) {
    process.exitCode = report(error)
  }
}

function report(error: unknown): number {
  if (error instanceof UserError) {
    // A seed's own line is printed as it is.
    const who = error.message.startsWith('ERROR: ') ? '' : 'ralph: '
    process.stderr.write(`${who}${error.message}\n${error.fix ? `  → ${error.fix}\n` : ''}`)
    return error.exitCode
  }
  // Commander has printed its own line already.
  if (isCommanderError(error)) return error.exitCode === 0 ? 0 : 2
  if (isStoreError(error)) {
    process.stderr.write(
      `ralph: ${error.message}\n  → ${storeFixes[error.reason] ?? 'Run `ralph doctor`.'}\n`,
    )
    return 1
  }
  process.stderr.write(`ralph: internal error: ${errorText(error)}\n`)
  if (error instanceof Error && error.stack)
    process.stderr.write(`${error.stack.split('\n').slice(1).join('\n')}\n`)
  process.stderr.write(
    '  → This is a bug in Ralph. State is safe in .ralph/; please report it with the lines above.\n',
  )
  return 1
}

const storeFixes: Record<string, string> = {
  full: 'Free some disk space and start again; nothing was lost.',
  'read-only': 'Make the .ralph folder writable and start again.',
  corrupt: 'Run `ralph doctor`: it says what can be saved and how.',
  locked: 'Another process holds the journal; try again.',
}

function isCommanderError(error: unknown): error is { exitCode: number; code: string } {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.')
}

/** By name, so that the database driver is not loaded only to print an error. */
function isStoreError(error: unknown): error is Error & { reason: string } {
  return error instanceof Error && error.name === 'StoreError' && 'reason' in error
}
