import { allAgents, type Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import { estimateIterations } from '../core/estimate.ts'
import { dependencyProblems } from '../core/select.ts'
import { plural, pluralOf } from '../core/text.ts'
import { sandboxFor } from '../engine/box.ts'
import { agentOf, layoutOf, type Prepared } from '../engine/prepare.ts'
import type { Reporter } from '../reporters/reporter.ts'
import { type ChosenSandbox, isSandboxName, missingText, unknownSandbox } from '../sandbox/registry.ts'
import { onPath } from './on-path.ts'

/**
 * What must be there before a run, in the seed's order: the agent, the project context, the specs (S4-63). Last the
 * sandbox, for which something is started.
 */
export async function checkPrerequisites(root: string, settings: Settings): Promise<ChosenSandbox> {
  if (!isSandboxName(settings.sandbox.use)) throw unknownSandbox(settings.sandbox.use)
  for (const choice of allAgents(settings.agents)) {
    const agent = await agentOf(choice, root)
    const [program] = agent.command({
      promptFile: '',
      cwd: root,
      readOnly: false,
      extraArgs: [],
      env: process.env,
      root: false,
    }).argv
    if (!onPath(program, process.env, root)) {
      const { fix } = await agent.probe({ env: process.env, cwd: root })
      throw new UserError(
        `the agent '${agent.name}' is not installed: no program '${program}' in PATH`,
        fix ?? 'Install it, or name another with --agent.',
      )
    }
  }
  const { layout, project } = await layoutOf(root, settings)
  const problem = layout.prerequisites(project)[0]
  if (problem) throw new UserError(problem.message, problem.fix)
  return sandboxFor(root, settings, process.env)
}

/** Everything worth knowing before money is spent, as lines. */
export async function preflight(options: {
  root: string
  settings: Settings
  prepared: Prepared
  verify: { commands: string[] | 'none'; detected: string | null }
  sandbox: ChosenSandbox
  report: Required<Reporter>
}): Promise<void> {
  const { root, settings, prepared, verify, sandbox, report } = options
  const note = (level: 'info' | 'warning' | 'error', text: string) => report.note({ level, text })
  const { noun = 'task' } = settings.workflow
  if (!sandbox.sandbox) await warnOfDirectMode(root, settings, sandbox, note)
  if (allAgents(settings.agents).some(choice => choice.rehearsal !== undefined))
    note(
      'warning',
      'a rehearsal: the scripted agent plays a built-in script; no model is called, no real work is done',
    )
  if (verify.detected && verify.commands !== 'none')
    note('info', `verify: ${verify.commands.join(', ')} (${verify.detected})`)
  if (verify.commands === 'none') note('warning', 'verify: none — tasks will end as done, unverified')
  for (const problem of prepared.problems)
    note(problem.severity, `${problem.file}${problem.line ? `:${problem.line}` : ''}: ${problem.message}`)
  if (prepared.missing.length > 0) {
    note(
      'error',
      `${plural(prepared.missing.length, noun, pluralOf(noun))} without a spec: ${prepared.missing.join(', ')}`,
    )
  }
  const dependencies = dependencyProblems(prepared.tasks)
  const cycle = dependencies.find(problem => problem.message.includes('cycle'))
  if (cycle) throw new UserError(cycle.message, 'Take one of these out of a depends_on list.')
  for (const problem of dependencies) note('warning', `${noun} ${problem.id} ${problem.message}`)
  await warnOfCost(root, settings, note)
  if (!settings.strictDependencies) warnOfOrder(prepared, noun, note)
  noteEstimate(settings, prepared, note)
}

/** What is not protected is named. Who asked for direct mode knows it. */
async function warnOfDirectMode(
  root: string,
  settings: Settings,
  { missing }: ChosenSandbox,
  note: (level: 'warning', text: string) => void,
): Promise<void> {
  if (settings.sandbox.use === 'none') return
  const agents = await Promise.all(allAgents(settings.agents).map(choice => agentOf(choice, root)))
  const unguarded = [...new Set(agents.filter(({ can }) => !can.guard).map(({ name }) => name))]
  const guard =
    unguarded.length === 0
      ? 'the command guard refuses plainly destructive commands'
      : `no command guard watches ${unguarded.join(', ')}`
  note(
    'warning',
    `no sandbox (${missingText(missing)}): the agent runs with your rights; it can read your home folder, use the network and change any file you can; ${guard} (\`ralph doctor\` tells more, \`--no-sandbox\` accepts this)`,
  )
}

/** Unknown is not 0: a budget that cannot be kept must be known to be one. */
async function warnOfCost(
  root: string,
  settings: Settings,
  note: (level: 'warning', text: string) => void,
): Promise<void> {
  const { cost, taskCost } = settings.workflow.limits
  const limit = cost ?? taskCost
  if (limit === undefined) return
  const agents = await Promise.all(allAgents(settings.agents).map(choice => agentOf(choice, root)))
  const silent = new Set(agents.filter(({ can }) => !can.reportsCost).map(({ name }) => name))
  for (const name of silent)
    note('warning', `${name} does not say what a call costs, so the limit of $${limit} cannot stop it`)
}

/** C-11: the order stands as it is, but a story that comes before what it needs is worth a warning. */
function warnOfOrder(prepared: Prepared, noun: string, note: (level: 'warning', text: string) => void): void {
  const place = new Map(prepared.tasks.map((task, index) => [task.id, index]))
  for (const task of prepared.tasks) {
    for (const need of task.needs) {
      const at = place.get(need)
      if (at !== undefined && at > task.order)
        note(
          'warning',
          `${noun} ${task.id} comes before ${need}, which it depends on (--strict-deps makes it wait)`,
        )
    }
  }
}

/** G-04, G-16: what the backlog is likely to need; a run that cannot reach the end says so at its start. */
function noteEstimate(
  settings: Settings,
  prepared: Prepared,
  note: (level: 'info' | 'warning', text: string) => void,
): void {
  const { workflow } = settings
  const recorded = new Set(
    prepared.layout.recorded(prepared.project).flatMap(one => (one.stage ? [] : one.id)),
  )
  const left = prepared.tasks.filter(task => !recorded.has(task.id)).length
  const { each, total, limit, enough } = estimateIterations(workflow, left)
  if (left === 0 || (limit === null && workflow.iteration === 'task')) return
  const { noun = 'task' } = workflow
  const sum = `${plural(left, noun, pluralOf(noun))} × ~${each} iterations = ~${total} needed`
  if (enough) note('info', sum)
  else note('warning', `${sum}, but at most ${limit} iterations in this run (-n ${total})`)
}
