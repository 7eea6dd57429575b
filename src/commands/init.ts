import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentNames, findAgent } from '../agents/registry.ts'
import { configName } from '../config/load.ts'
import { resolveSettings } from '../config/settings.ts'
import { detectVerify } from '../gates/detect.ts'
import { newStory } from '../layouts/stories/new-story.ts'
import { gitFacts } from './git-facts.ts'
import { configText, contextText, type Found, pointToAgents } from './init-files.ts'
import { onPath } from './on-path.ts'
import { type ProjectOption, projectRoot } from './project.ts'
import { printJson, terminal } from './terminal.ts'

export type InitOptions = ProjectOption & { preset: string; name?: string; yes?: boolean; json?: boolean }

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

/** `ralph init`: configuration, context file, a first story. Safe to repeat: what is there stays as it is. */
export async function init(options: InitOptions): Promise<void> {
  const root = projectRoot(options)
  // Says which presets there are.
  resolveSettings({ preset: options.preset }, {})
  const detected = detectVerify(root)
  const found: Found = {
    preset: options.preset,
    agents: await installedAgents(root),
    verify: detected?.commands ?? (await askForVerify(root, options)),
    because: detected?.because ?? null,
  }
  const files = writeFiles(root, found, options.name)
  const result: Initialised = {
    ...files,
    agents: found.agents,
    verify: found.verify,
    because: found.because,
    next: await nextSteps(root, files, found),
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
  for (const name of agentNames.filter(one => one !== 'command' && one !== 'scripted')) {
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

function writeFiles(
  root: string,
  found: Found,
  name: string | undefined,
): { written: string[]; kept: string[] } {
  const written: string[] = []
  const kept: string[] = []
  const write = (file: string, text: string) => {
    if (existsSync(join(root, file))) return kept.push(file)
    writeFileSync(join(root, file), text, { flag: 'wx' })
    return written.push(file)
  }
  write(configName, configText(found))
  write('CLAUDE.md', existsSync(join(root, 'AGENTS.md')) ? pointToAgents : contextText(found.verify))
  if (existsSync(join(root, 'specs'))) kept.push('specs/')
  else written.push(newStory({ root, id: '1.1', title: name ?? 'First story' }))
  return { written, kept }
}

async function nextSteps(root: string, { written }: { written: string[] }, found: Found): Promise<string[]> {
  const { problem } = await gitFacts(root)
  const story = written.find(file => file.startsWith('specs/'))
  return [
    ...(problem ? [`${problem.message}: ${problem.fix}`] : []),
    ...(found.agents.length === 0 && written.includes(configName)
      ? [`install an agent (\`ralph doctor\` says how), or name yours in ${configName}`]
      : []),
    ...(found.verify === null && written.includes(configName)
      ? [`say in ${configName} which command proves the work (verify)`]
      : []),
    ...(written.includes('CLAUDE.md') ? ['fill in CLAUDE.md: what an agent must know of this project'] : []),
    ...(story ? [`write the first story: ${story} (more: ralph new story 1.2 "…")`] : []),
    'ralph validate',
    'ralph run',
  ]
}
