import { join } from 'node:path'

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
