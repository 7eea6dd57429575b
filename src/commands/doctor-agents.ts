import type { AgentProbe } from '../agents/agent.ts'
import { cliNames } from '../agents/registry.ts'
import { openStandIn, type StandIn } from '../agents/stand-in.ts'
import { type AgentChoice, allAgents, type Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import { agentOf } from '../engine/prepare.ts'
import { type Check, ok, problem, warning } from './doctor-checks.ts'
import { headlessCheck } from './doctor-headless.ts'

/** The configured agents must work, and are started as a run would; of the others it is said what is there. */
export async function agentChecks(root: string, settings: Settings): Promise<Check[]> {
  const configured = allAgents(settings.agents)
  const names = new Set(configured.map(choice => choice.name))
  const others = cliNames.filter(name => !names.has(name))
  const standIn = await openStandIn()
  try {
    const checks = await Promise.all([
      ...configured.map(choice => checksOf(choice, { root, settings, standIn })),
      ...others.map(name => lookAt(name, root)),
    ])
    return checks.flat()
  } finally {
    await standIn.close()
  }
}

async function checksOf(
  choice: AgentChoice,
  { root, settings, standIn }: { root: string; settings: Settings; standIn: StandIn },
): Promise<Check[]> {
  const name = `agent ${choice.name}`
  try {
    const agent = await agentOf(choice, root)
    const found = await agent.probe({ env: process.env, cwd: root })
    if (!found.ok) return [problem(name, found.problem ?? 'does not work', found.fix ?? '')]
    const said = `${found.version ?? 'found'}${loginText(found)}`
    const { extraArgs } = settings
    return [
      found.login === 'no' ? warning(name, said, found.fix ?? '') : ok(name, said),
      await headlessCheck({ agent, choice, extraArgs, standIn }),
    ]
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return [problem(name, error.message, error.fix)]
  }
}

async function lookAt(agentName: string, root: string): Promise<Check> {
  const name = `agent ${agentName}`
  try {
    const agent = await agentOf({ name: agentName, args: [], env: [] }, root)
    const found = await agent.probe({ env: process.env, cwd: root })
    return found.ok
      ? ok(name, `${found.version ?? 'found'}${loginText(found)} (not the configured one)`)
      : ok(name, `${found.problem ?? 'does not work'} (not needed: not configured)`)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return ok(name, error.message)
  }
}

/** Most CLIs tell it only when they call a model: nothing is said then. */
function loginText({ login }: AgentProbe): string {
  if (login === 'yes') return ', logged in'
  return login === 'no' ? ', not logged in' : ''
}
