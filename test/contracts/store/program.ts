import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { driver } from './home.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../../', import.meta.url))

export type Program = { file: string; start(...args: string[]): Running; remove(): void }

export type Running = {
  child: ChildProcess
  /** Resolves with the first line that begins so. */
  line(start: string): Promise<string>
  /** All complete lines so far. */
  lines(): string[]
  /** Resolves when the process ended. */
  ended: Promise<{ code: number | null; signal: string | null }>
}

/** Makes a program of a file in `programs/` that any Node can run, and runs it as a process of its own. */
export async function program(name: string): Promise<Program> {
  const folder = join(root, '.cache', 'test-programs', `${name}-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  await build({
    configFile: false,
    logLevel: 'error',
    root,
    ssr: { noExternal: true, external: ['libsql'] },
    build: {
      ssr: join(here, 'programs', `${name}.ts`),
      target: 'node20',
      outDir: folder,
      emptyOutDir: false,
      rolldownOptions: { output: { format: 'es', entryFileNames: `${name}.mjs` } },
    },
  })
  const file = join(folder, `${name}.mjs`)
  return { file, start: (...args) => run([file, ...args]), remove: () => rmSync(folder, { recursive: true }) }
}

/** Runs this Node with the same driver, so that the inner run under a newer Node tests its own. */
export function run(args: string[], command: string[] = []): Running {
  const [file = process.execPath, ...before] = [...command, process.execPath]
  const env = { ...process.env, RALPH_SQLITE: driver, NODE_OPTIONS: '' }
  const child = spawn(file, [...before, ...args], { env, stdio: 'pipe' })
  let text = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  child.stderr.setEncoding('utf8').on('data', chunk => {
    errors += chunk
  })
  const lines = () => text.split('\n').slice(0, -1)
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  let over = false
  void ended.then(() => {
    over = true
  })

  async function line(start: string): Promise<string> {
    for (;;) {
      const found = lines().find(one => one.startsWith(start))
      if (found !== undefined) return found
      if (over) throw new Error(`the program ended without the line '${start}…':\n${text}\n${errors}`)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
  return { child, lines, ended, line }
}
