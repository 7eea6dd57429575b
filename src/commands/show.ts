import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { UserError } from '../core/errors.ts'
import { stepFiles } from '../engine/step-files.ts'
import { findStep } from './find-step.ts'
import { openOrRefuse, withStore } from './look.ts'
import { type ProjectOption, projectRoot } from './project.ts'
import { stepData, stepText } from './show-view.ts'
import { printJson, terminal } from './terminal.ts'

export type ShowOptions = ProjectOption & {
  step?: string
  prompt?: boolean
  output?: boolean
  diff?: boolean
  json?: boolean
}

/** `ralph show`: one step in full. */
export async function show(options: ShowOptions): Promise<void> {
  const root = projectRoot(options)
  await withStore(await openOrRefuse(root), async ({ log }) => {
    const record = await findStep(log, options.step)
    const found = filesOf(root, record.step)
    const raw = (['prompt', 'output', 'diff'] as const).find(name => options[name])
    if (raw) return printFiles(raw, record.step, found[raw])
    const run = await log.run(record.step.slice(0, record.step.lastIndexOf('/')))
    const message = found.message[0]
    const data = stepData(record, {
      rules: run?.rules ?? null,
      message: message === undefined ? null : readFileSync(message, 'utf8'),
      files: Object.fromEntries(
        Object.entries(found).flatMap(([name, paths]) => (paths[0] ? [[name, named(root, paths)]] : [])),
      ),
    })
    if (options.json) return printJson(data)
    const screen = terminal()
    screen.out(stepText(data, screen.style, Date.now()))
  })
}

type Found = Record<'prompt' | 'output' | 'message' | 'diff', string[]>

/** Gates have one output file per command. */
function filesOf(root: string, step: string): Found {
  const files = stepFiles(join(root, '.ralph'), step)
  const outputs = existsSync(files.folder)
    ? readdirSync(files.folder)
        .filter(name => name.endsWith('.log'))
        .sort()
        .map(name => join(files.folder, name))
    : []
  const ifThere = (path: string) => (existsSync(path) ? [path] : [])
  return {
    prompt: ifThere(files.prompt),
    output: outputs,
    message: ifThere(files.message),
    diff: ifThere(files.diff),
  }
}

function named(root: string, paths: string[]): string {
  return paths.map(path => relative(root, path)).join(', ')
}

async function printFiles(what: string, step: string, paths: string[]): Promise<void> {
  if (paths.length === 0) {
    throw new UserError(`step ${step} has no ${what}`, `\`ralph show ${step}\` tells what it has.`)
  }
  terminal()
  for (const path of paths) await pipeline(createReadStream(path), process.stdout, { end: false })
}
