import { readFileSync, readSync } from 'node:fs'
import { isatty } from 'node:tty'
import { print, printError, sleep } from './output.ts'
import { Exit, perform } from './perform.ts'
import { type Call, callKeys, callOf, readScript, ScriptError, stepsFor } from './script.ts'

declare const __RALPH_VERSION__: string

/**
 * The scripted agent: `scripted-agent <script> [arguments that are ignored]`, prompt on stdin. It plays what the script
 * says for this call and leaves with the code the script says. `--check <script>` only reads the script; `--play <json>`
 * plays a script that is given as it is.
 * Exit codes of its own: 2 the script is wrong, 3 it has no rule for this call, 4 a step failed, 5 a wait was in vain.
 */
// Whoever ends without having finished must not look like one who has.
process.exitCode = 13
void main(process.argv.slice(2))

async function main([first = '', second = '']: string[]): Promise<void> {
  try {
    if (first === '--version') {
      print(`${__RALPH_VERSION__} (Ralph's scripted agent)\n`)
      process.exit(0)
    }
    const script =
      first === '--play'
        ? await readScript(second, 'the rehearsal')
        : await load(first === '--check' ? second : first)
    if (first !== '--check') play(script, callOf(process.env))
  } catch (error) {
    if (error instanceof Exit) {
      if (error.message) printError(`scripted agent: ${error.message}\n`)
      process.exit(error.code)
    }
    if (!(error instanceof ScriptError)) throw error
    printError(`scripted agent: ${error.message}\n`)
    process.exit(2)
  }
  // Not left to the event loop: a child of ours may still hold it.
  process.exit(0)
}

async function load(file: string): ReturnType<typeof readScript> {
  if (!file) throw new ScriptError('which script? Give its path as the first argument')
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ScriptError(`cannot read the script: ${error instanceof Error ? error.message : String(error)}`)
  }
  return readScript(text, file)
}

function play(script: Awaited<ReturnType<typeof load>>, call: Call): void {
  const prompt = readStdin()
  const steps = stepsFor(script, call)
  if (!steps) {
    const asked = callKeys.map(key => `${key}=${call[key] || '(none)'}`).join(', ')
    print(`The script ${script.name} has no rule for this call: ${asked}\n`)
    throw new Exit(3)
  }
  for (const step of steps) perform(filled(step, call), { prompt, call, env: process.env })
}

/** `{{task}}`, `{{stage}}`, `{{attempt}}` … in any text of a step stand for what this call is about. */
function filled<T>(value: T, call: Call): T {
  if (typeof value === 'string') {
    return value.replace(
      /\{\{(task|stage|role|attempt|call|step)\}\}/gu,
      (_, key: keyof Call) => call[key],
    ) as T
  }
  if (Array.isArray(value)) return value.map(one => filled(one, call)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, call)])) as T
}

/** The whole prompt is always read, so that who writes it never meets a closed pipe. */
function readStdin(): Buffer {
  if (isatty(0)) return Buffer.alloc(0)
  const chunks: Buffer[] = []
  const chunk = Buffer.alloc(65_536)
  for (;;) {
    try {
      const count = readSync(0, chunk)
      if (count === 0) return Buffer.concat(chunks)
      chunks.push(Buffer.from(chunk.subarray(0, count)))
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : ''
      if (code === 'EOF') return Buffer.concat(chunks)
      if (code !== 'EAGAIN') throw error
      sleep(1)
    }
  }
}
