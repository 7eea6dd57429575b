import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cliNames, findAgent } from '../agents/registry.ts'
import { foundPreset } from '../config/found-preset.ts'
import { configName, loadConfig } from '../config/load.ts'
import { resolveSettings } from '../config/settings.ts'
import { layoutOf } from '../engine/prepare.ts'
import { detectVerify } from '../gates/detect.ts'
import type { Layout, Skeleton } from '../layouts/layout.ts'
import { gitFacts } from './git-facts.ts'
import { configText, type Found } from './init-files.ts'
import { onPath } from './on-path.ts'
import { type ProjectOption, projectRoot } from './project.ts'
import { printJson, terminal } from './terminal.ts'

export type InitOptions = ProjectOption & {
  preset?: string
  name?: string
  /** Write the prompt templates too, to be changed for this project. */
  prompts?: boolean
  yes?: boolean
  json?: boolean
}

/** What `ralph init --json` prints. */
export type Initialised = {
  written: string[]
  /** Files that were there already; they are never touched. */
  kept: string[]
  agents: string[]
  verify: string[] | null
  /** What the verify commands were taken from. */
  because: string | null
  next: string[]
}

/** `ralph init`: configuration and the preset's own files. Safe to repeat: what is there stays as it is. */
export async function init(options: InitOptions): Promise<void> {
  const root = projectRoot(options)
  const preset = options.preset ?? (await loadConfig(root)).preset ?? foundPreset(root)
  // Says which presets there are.
  const settings = resolveSettings({ preset }, {})
  const { layout, project } = await layoutOf(root, settings)
  const detected = detectVerify(root)
  const found: Found = {
    preset,
    agents: await installedAgents(root),
    verify: detected?.commands ?? (await askForVerify(root, options)),
    because: detected?.because ?? null,
  }
  const skeleton = layout.skeleton(project, {
    name: options.name ?? '',
    date: new Date().toISOString().slice(0, 10),
    verify: found.verify,
    agents: found.agents,
  })
  const files = writeFiles(root, {
    [configName]: configText(found, skeleton.about, settings.protect),
    ...skeleton.files,
    ...(options.prompts ? promptFiles(layout, settings.prompts) : {}),
  })
  if (addIgnored(root, skeleton.ignore ?? [])) files.written.push('.gitignore')
  const result: Initialised = {
    ...files,
    agents: found.agents,
    verify: found.verify,
    because: found.because,
    next: await nextSteps(root, { files, found, skeleton }),
  }
  if (options.json) return printJson(result)
  const { out, style } = terminal()
  for (const file of result.written) out(`${style.green('+')} ${file}\n`)
  for (const file of result.kept)
    out(`${style.dim('=')} ${file} ${style.dim('(there already, not touched)')}\n`)
  out(`agent:  ${found.agents.length > 0 ? found.agents.join(', ') : style.yellow('none found')}\n`)
  out(
    `verify: ${found.verify ? `${found.verify.join(', ')}${found.because ? style.dim(` (${found.because})`) : ''}` : style.yellow('none found')}\n`,
  )
  out(`\nNext:\n${result.next.map((step, index) => `  ${index + 1}. ${step}\n`).join('')}`)
}

/** Agents of their own name; `command` and `scripted` need a program or a script to be said. */
async function installedAgents(root: string): Promise<string[]> {
  const found: string[] = []
  for (const name of cliNames) {
    const agent = await findAgent(name)
    const request = {
      promptFile: '',
      cwd: root,
      readOnly: false,
      extraArgs: [],
      env: process.env,
      root: false,
    }
    if (onPath(agent.command(request).argv[0], process.env, root)) found.push(name)
  }
  return found
}

/** The one thing that cannot be guessed. Nobody is asked who cannot answer. */
async function askForVerify(root: string, { yes, json }: InitOptions): Promise<string[] | null> {
  if (yes || json || !process.stdin.isTTY || !process.stdout.isTTY || existsSync(join(root, configName)))
    return null
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const answer = await lines.question(
      'Which command proves the work (tests, build)? Empty to say it later: ',
    )
    return answer.trim() === '' ? null : [answer.trim()]
  } finally {
    lines.close()
  }
}

function writeFiles(root: string, files: Record<string, string>): { written: string[]; kept: string[] } {
  const written: string[] = []
  const kept: string[] = []
  for (const [file, text] of Object.entries(files)) {
    if (existsSync(join(root, file))) {
      kept.push(file)
      continue
    }
    mkdirSync(dirname(join(root, file)), { recursive: true })
    const mode = text.startsWith('#!') ? 0o755 : 0o644
    writeFileSync(join(root, file), text, { flag: 'wx', mode })
    written.push(file)
  }
  return { written, kept }
}

/** Adds the lines that are missing, and changes nothing else (S1-122). */
function addIgnored(root: string, lines: readonly string[]): boolean {
  const file = join(root, '.gitignore')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const there = new Set(text.split('\n').map(line => line.trim()))
  const missing = lines.filter(line => !there.has(line) && !there.has(`/${line}`))
  if (missing.length === 0) return false
  const glue = text === '' || text.endsWith('\n') ? '' : '\n'
  writeFileSync(file, `${text}${glue}${missing.join('\n')}\n`)
  return true
}

function promptFiles(layout: Layout, folder: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(layout.templates).map(([name, text]) => [join(folder, `${name}.md`), text]),
  )
}

async function nextSteps(
  root: string,
  made: { files: { written: string[] }; found: Found; skeleton: Skeleton },
): Promise<string[]> {
  const { files, found, skeleton } = made
  const { problem } = await gitFacts(root)
  const isNew = files.written.includes(configName)
  return [
    ...(problem ? [`${problem.message}: ${problem.fix}`] : []),
    ...(found.agents.length === 0 && isNew
      ? [`install an agent (\`ralph doctor\` says how), or name yours in ${configName}`]
      : []),
    ...(found.verify === null && isNew
      ? [`say in ${configName} which command proves the work (verify)`]
      : []),
    ...skeleton.next,
    'ralph validate',
    'ralph run',
  ]
}
