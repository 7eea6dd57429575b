import { configName } from '../config/load.ts'
import { resolveSettings, type Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import { plural } from '../core/text.ts'
import { agentOf, verifyCommands } from '../engine/open.ts'
import type { Problem } from '../layouts/layout.ts'
import { findLayout } from '../layouts/registry.ts'
import type { Style } from '../reporters/style.ts'
import { gitFacts } from './git-facts.ts'
import { type ProjectOption, projectRoot, projectSettings } from './project.ts'
import { printJson, terminal } from './terminal.ts'

export type ValidateOptions = ProjectOption & { json?: boolean }

/** What `ralph validate --json` prints. */
export type Validation = {
  ok: boolean
  errors: number
  warnings: number
  tasks: number
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
  if (settings) problems.push(...(await agentProblems(root, settings)), ...sandboxProblems(settings))
  const { problem } = await gitFacts(root)
  if (problem) problems.push({ severity: 'error', file: '.', line: null, ...problem })

  // With a broken configuration the backlog is still worth checking, as the default preset reads it.
  const used = settings ?? resolveSettings({}, {})
  const layout = await findLayout(used.workflow.layout)
  const project = {
    root,
    settings: { contextFile: used.context, agents: used.agents.implementer.map(one => one.name) },
  }
  problems.push(...layout.prerequisites(project), ...layout.validate(project))
  const { tasks } = layout.read(project)
  if (tasks.length === 0 && problems.every(one => one.file !== 'specs')) {
    problems.push({
      severity: 'warning',
      file: 'specs',
      line: null,
      message: 'the backlog is empty',
      fix: 'Begin with `ralph new story 1.1 "…"`.',
    })
  }
  const errors = problems.filter(one => one.severity === 'error').length
  return {
    ok: errors === 0,
    errors,
    warnings: problems.length - errors,
    tasks: tasks.length,
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
  const choices = [...settings.agents.implementer, ...settings.agents.reviewer]
  const different = [...new Map(choices.map(choice => [JSON.stringify(choice), choice])).values()]
  const found = await Promise.all(
    different.map(async (choice): Promise<Problem | null> => {
      const at = { severity: 'error', file: configName, line: null } as const
      try {
        const { ok, problem, fix } = await (await agentOf(choice, root)).probe({
          env: process.env,
          cwd: root,
        })
        return ok
          ? null
          : { ...at, message: `agent '${choice.name}': ${problem ?? 'does not work'}`, fix: fix ?? '' }
      } catch (error) {
        if (!(error instanceof UserError)) throw error
        return { ...at, message: error.message, fix: error.fix }
      }
    }),
  )
  return found.flatMap(one => one ?? [])
}

function sandboxProblems({ sandbox }: Settings): Problem[] {
  if (sandbox === 'auto' || sandbox === 'none') return []
  const message =
    sandbox === 'required'
      ? 'sandbox: required, but this version has no sandbox provider yet'
      : `unknown sandbox '${sandbox}'`
  return [
    {
      severity: 'error',
      file: configName,
      line: null,
      message,
      fix: 'Set `sandbox: none`, and run Ralph inside a container of your own.',
    },
  ]
}

export function validationText(
  { ok, errors, warnings, tasks, verify, problems }: Validation,
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
  const stories = plural(tasks, 'story', 'stories')
  if (!ok) return `${[...lines, style.red(found.join(', '))].join('\n')}\n`
  const proof =
    verify === 'none' || verify === null ? 'no verify command' : `verified by ${verify.join(', ')}`
  return `${[...lines, `${style.green('✓')} ${stories}, ${proof}${found.length > 0 ? `; ${found.join(', ')}` : ''}`, '  → ralph run'].join('\n')}\n`
}
