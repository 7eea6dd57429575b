import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { livingProcesses } from '../../src/process/process-table.ts'
import type { ProcessOptions } from '../../src/process/run-process.ts'
import { bundle } from '../helpers/bundle.ts'

/** A temporary folder and the options to run programs in it. */
export function createWorkshop() {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-process-'))
  const at = (name: string) => join(folder, name)
  return {
    folder,
    at,
    options: (argv: [string, ...string[]], more: Partial<ProcessOptions> = {}): ProcessOptions => ({
      argv,
      cwd: folder,
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: folder },
      stdin: { type: 'none' },
      outputFile: at('output.log'),
      processFile: at('processes'),
      timeout: 30_000,
      idle: 0,
      grace: 2_000,
      leash: 15_000,
      signal: new AbortController().signal,
      ...more,
    }),
    output: () => readFileSync(at('output.log'), 'utf8'),
    /** A pid that a program of the test wrote into a file. */
    pid: async (name: string): Promise<number> => {
      await until(() => existsSync(at(name)) && readFileSync(at(name), 'utf8').endsWith('\n'))
      return Number(readFileSync(at(name), 'utf8'))
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export function sh(script: string): [string, ...string[]] {
  return ['sh', '-c', script]
}

/** One that has ended and only waits to be collected is not alive. */
export async function isAlive(pid: number): Promise<boolean> {
  return (await livingProcesses()).some(entry => entry.pid === pid)
}

/** Those who work in a folder. */
export function inFolder(folder: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => {
      try {
        return pid > 0 && readlinkSync(`/proc/${pid}/cwd`) === folder
      } catch {
        return false
      }
    })
}

export async function until(condition: () => boolean | Promise<boolean>, most = 15_000): Promise<void> {
  const from = performance.now()
  while (!(await condition())) {
    if (performance.now() - from > most) throw new Error('waited too long')
    await delay(10)
  }
}

/** An engine in a process of its own, which can be killed, stopped and measured. */
export async function startEngine(options: ProcessOptions) {
  const child = spawn(process.execPath, [await bundle('test/process/engine.ts'), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (data: Buffer) => {
    text += data.toString('utf8')
  })
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()))
  return {
    pid: child.pid ?? 0,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    ended,
    /** What it printed at its end. */
    report: async (): Promise<unknown> => {
      await ended
      return JSON.parse(text)
    },
  }
}
