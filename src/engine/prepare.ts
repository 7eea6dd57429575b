import type { Agent } from '../agents/agent.ts'
import { findAgent } from '../agents/registry.ts'
import type { AgentChoice, Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import type { Task } from '../core/task.ts'
import { detectVerify } from '../gates/detect.ts'
import type { Layout, Problem, Project } from '../layouts/layout.ts'
import { findLayout } from '../layouts/registry.ts'

/** The verify commands of a run: configured, else detected, else refused. */
export function verifyCommands(
  settings: Settings,
  root: string,
): { commands: string[] | 'none'; detected: string | null } {
  if (settings.verify !== null) return { commands: settings.verify, detected: null }
  const found = detectVerify(root)
  if (!found) {
    throw new UserError(
      'no verify command: Ralph would have to believe its agents',
      'Add e.g. `verify: ["npm test"]` to ralph.config.yaml, or `verify: none` to accept the agents\' word.',
      2,
    )
  }
  return { commands: found.commands, detected: found.because }
}

export function agentOf(choice: AgentChoice, root: string): Promise<Agent> {
  const { name, command, script, rehearsal, program, patterns } = choice
  return findAgent(name, {
    base: root,
    ...(command === undefined ? {} : { command }),
    ...(script === undefined ? {} : { script }),
    ...(rehearsal === undefined ? {} : { rehearsal }),
    ...(program === undefined ? {} : { program }),
    ...(patterns === undefined ? {} : { patterns }),
  })
}

export type Prepared = {
  project: Project
  layout: Layout
  tasks: Task[]
  missing: string[]
  problems: Problem[]
}

/** The layout of a project, and what it is told. */
export async function layoutOf(
  root: string,
  settings: Settings,
  boxed = false,
): Promise<{ layout: Layout; project: Project }> {
  const layout = await findLayout(settings.workflow.layout)
  const told = {
    ...settings.layout,
    contextFile: settings.context,
    boxed,
    agents: settings.agents.implementer.map(one => one.name),
  }
  const project = { root, settings: told }
  return { layout: layout.forProject?.(project) ?? layout, project }
}

/** Reads the backlog and says what is wrong with it, before anything is written or spent. */
export async function prepareBacklog(root: string, settings: Settings, boxed = false): Promise<Prepared> {
  const { layout, project } = await layoutOf(root, settings, boxed)
  const backlog = layout.read(project)
  return { project, layout, tasks: backlog.tasks, missing: backlog.missing, problems: backlog.problems }
}
