import { join } from 'node:path'
import type { RunState } from '../core/run.ts'

export type StepFiles = {
  folder: string
  prompt: string
  output: string
  message: string
  diff: string
  result: string
  processes: string
}

/** `runs/<run>/<number>/`: big things never go into the database. Each file is written once. */
export function stepFiles(home: string, step: string): StepFiles {
  const folder = join(home, 'runs', ...step.split('/'))
  return {
    folder,
    prompt: join(folder, 'prompt.md'),
    output: join(folder, 'output.log'),
    message: join(folder, 'message.md'),
    diff: join(folder, 'changes.diff'),
    result: join(folder, 'result.json'),
    processes: join(folder, 'processes'),
  }
}

/** `<run>/<number>`: names the folder of the step that begins now. */
export function nextStep(run: RunState): string {
  return `${run.id}/${String(run.steps + 1).padStart(4, '0')}`
}
