import { foundPreset } from '../config/found-preset.ts'
import { configName } from '../config/load.ts'
import { allAgents, resolveSettings, type Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import { plural, pluralOf } from '../core/text.ts'
import { sandboxFor } from '../engine/box.ts'
import { agentOf, layoutOf, verifyCommands } from '../engine/prepare.ts'
import type { Problem } from '../layouts/layout.ts'
import type { Style } from '../reporters/style.ts'
import { gitFacts } from './git-facts.ts'
import { type ProjectOption, projectRoot, projectSettings } from './project.ts'
import { promptProblems } from './prompt-problems.ts'
import { printJson, terminal } from './terminal.ts'

export type ValidateOptions = ProjectOption & { json?: boolean }

/** What `ralph validate --json` prints. */
export type Validation = {
  ok: boolean
  errors: number
  warnings: number
  tasks: number
  /** What a task is called here. */
  noun: string
  verify: string[] | 'none' | null
  problems: Problem[]
}

/** `ralph validate`: every problem with its place, before any money is spent. Exit code 1 when one is an error. */
export async function validate(options: ValidateOptions): Promise<void> {
  const validation = await findProblems(projectRoot(options))
  const screen = terminal()
  if (options.json) printJson(validation)
  else screen.out(validationText(validation, screen.style))
  if (!validation.ok) process.exitCode = 1
}

export async function findProblems(root: string): Promise<Validation> {
  const problems: Problem[] = []
  const settings = await settingsOr(root, problems)
  const verify = settings ? verifyOf(root, settings, problems) : null
  if (settings)
    problems.push(...(await agentProblems(root, settings)), ...(await sandboxProblems(root, settings)))
  const { problem } = await gitFacts(root)
  if (problem) problems.push({ severity: 'error', file: '.', line: null, ...problem })

  // With a broken configuration the backlog is still worth checking, as the default preset reads it.
  const used = settings ?? resolveSettings({ preset: foundPreset(root) }, {})
  const { layout, project } = await layoutOf(root, used)
  problems.push(
    ...layout.prerequisites(project),
    ...layout.validate(project),
    ...promptProblems(layout, project, used),
  )
  const { tasks } = layout.read(project)
  const { noun = 'task' } = used.workflow
  if (tasks.length === 0 && problems.every(one => one.severity !== 'error')) {
    problems.push({
      severity: 'warning',
      file: '.',
      line: null,
      message: 'the backlog is empty',
      fix: layout.create ? `Begin with \`ralph new ${noun} …\`.` : `Add a ${noun} to it.`,
    })
  }
  const errors = problems.filter(one => one.severity === 'error').length
  return {
    ok: errors === 0,
    errors,
    warnings: problems.length - errors,
    tasks: tasks.length,
    noun,
    verify,
    problems,
  }
}

async function settingsOr(root: string, problems: Problem[]): Promise<Settings | null> {
  try {
    return await projectSettings(root)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    for (const text of error.message.split('\n')) problems.push(placed(text, error.fix))
    return null
  }
}

/** `ralph.config.yaml:3: model: …` apart again. */
function placed(text: string, fix: string): Problem {
  const [, file = configName, line, message = text] = /^([^:\s]+):(\d+): (.*)$/su.exec(text) ?? []
  return { severity: 'error', file, line: line === undefined ? null : Number(line), message, fix }
}

function verifyOf(root: string, settings: Settings, problems: Problem[]): Validation['verify'] {
  const add = (severity: Problem['severity'], message: string, fix: string) =>
    problems.push({ severity, file: configName, line: null, message, fix })
  try {
    const { commands } = verifyCommands(settings, root)
    if (commands === 'none')
      add(
        'warning',
        'verify: none: every task will end as done, unverified',
        'Name a command that proves the work, e.g. `verify: ["npm test"]`.',
      )
    return commands
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    add('error', error.message, error.fix)
    return null
  }
}

async function agentProblems(root: string, settings: Settings): Promise<Problem[]> {
  const found = await Promise.all(
    allAgents(settings.agents).map(async (choice): Promise<Problem | null> => {
      const at = { file: configName, line: null }
      try {
        const agent = await agentOf(choice, root)
        const { ok, login, problem, fix } = await agent.probe({ env: process.env, cwd: root })
        if (ok && login !== 'no') return null
        const message = `agent '${choice.name}': ${problem ?? 'does not work'}`
        return { ...at, severity: ok ? 'warning' : 'error', message, fix: fix ?? '' }
      } catch (error) {
        if (!(error instanceof UserError)) throw error
        return { ...at, severity: 'error', message: error.message, fix: error.fix }
      }
    }),
  )
  return found.flatMap(one => one ?? [])
}

async function sandboxProblems(root: string, settings: Settings): Promise<Problem[]> {
  try {
    await sandboxFor(root, settings, process.env)
    return []
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return [{ severity: 'error', file: configName, line: null, message: error.message, fix: error.fix }]
  }
}

export function validationText(
  { ok, errors, warnings, tasks, noun, verify, problems }: Validation,
  style: Style,
): string {
  const lines = problems.flatMap(({ severity, file, line, message, fix }) => {
    const place = line === null ? file : `${file}:${line}`
    const word = severity === 'warning' ? style.yellow('warning: ') : ''
    return [`${place}: ${word}${message}`, ...(fix ? [`  → ${fix}`] : [])]
  })
  const found = [
    errors > 0 ? plural(errors, 'error') : '',
    warnings > 0 ? plural(warnings, 'warning') : '',
  ].filter(Boolean)
  if (!ok) return `${[...lines, style.red(found.join(', '))].join('\n')}\n`
  const proof =
    verify === 'none' || verify === null ? 'no verify command' : `verified by ${verify.join(', ')}`
  return `${[...lines, `${style.green('✓')} ${plural(tasks, noun, pluralOf(noun))}, ${proof}${found.length > 0 ? `; ${found.join(', ')}` : ''}`, '  → ralph run'].join('\n')}\n`
}
