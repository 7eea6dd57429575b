import { createStyle, type Style, wantsColour } from '../reporters/style.ts'

/** Where a command prints, and whether in colour. */
export type Terminal = { out(text: string): void; err(text: string): void; style: Style; isTty: boolean }

export function terminal(): Terminal {
  // A reader that went away (`ralph logs | head`) is no error.
  process.stdout.on('error', error => {
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit(process.exitCode ?? 0)
    throw error
  })
  return {
    out: text => void process.stdout.write(text),
    err: text => void process.stderr.write(text),
    style: createStyle(wantsColour(process.stdout, process.env)),
    isTty: process.stdout.isTTY === true,
  }
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}
