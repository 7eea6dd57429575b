import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { CommandResult } from '../../../src/core/outcome.ts'
import { type RunCommandsOptions, runCommands } from '../../../src/gates/commands.ts'
import { runProcess } from '../../../src/process/run-process.ts'
import type { Files } from './trees.ts'

/** A project on disk with a folder beside it for what the engine writes. */
export type Bench = {
  root: string
  output: string
  write(files: Record<string, string | undefined>): void
  remove(): void
}

export function bench(files: Files = {}): Bench {
  const home = mkdtempSync(join(tmpdir(), 'ralph-gates-'))
  const made: Bench = {
    root: join(home, 'project'),
    output: join(home, 'output'),
    write(some) {
      for (const [path, text] of Object.entries(some)) {
        const file = join(made.root, path)
        mkdirSync(dirname(file), { recursive: true })
        if (text === undefined) rmSync(file)
        else writeFileSync(file, text, { mode: 0o755 })
      }
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
  mkdirSync(made.root)
  mkdirSync(made.output)
  made.write(files)
  return made
}

/** Real processes, as the engine runs them. */
export function run(
  bench: Bench,
  commands: (string | { command: string; own: boolean })[],
  more: Partial<RunCommandsOptions> = {},
): Promise<CommandResult[]> {
  return runCommands({
    commands: commands.map(one => (typeof one === 'string' ? { command: one, own: false } : one)),
    cwd: bench.root,
    outputDir: bench.output,
    processFile: join(bench.output, 'processes'),
    env: process.env,
    timeout: 0,
    leash: 60_000,
    grace: 500,
    signal: new AbortController().signal,
    run: runProcess,
    ...more,
  })
}
