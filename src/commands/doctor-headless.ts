import type { Agent } from '../agents/agent.ts'
import { guardFor } from '../agents/guard.ts'
import { type HeadlessEnd, tryHeadless } from '../agents/headless.ts'
import type { StandIn } from '../agents/stand-in.ts'
import type { AgentChoice } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import { oneLine } from '../core/text.ts'
import type { Check } from './doctor-checks.ts'

/** Milliseconds; the slowest CLI takes eight seconds on an idle machine, and they all start at once. */
const patience = 30_000

/** Whether an agent starts as a run will start it: our options, no terminal, no login, no money. */
export async function headlessCheck(options: {
  agent: Agent
  choice: AgentChoice
  extraArgs: string[]
  standIn: StandIn
}): Promise<Check> {
  const { agent, choice, extraArgs, standIn } = options
  const name = `start ${choice.name}`
  const start = agent.headless?.(standIn.url) ?? { notChecked: 'no way to do so is known' }
  if ('notChecked' in start) return { name, state: 'ok', text: `not checked: ${start.notChecked}`, fix: '' }
  const end = await tryHeadless({
    agent,
    start,
    standIn,
    env: process.env,
    patience,
    request: {
      ...(choice.model === undefined ? {} : { model: choice.model }),
      extraArgs: [...choice.args, ...extraArgs],
      ...guardIfBuilt(agent),
    },
  })
  return { name, ...verdict(end, choice) }
}

function verdict(end: HeadlessEnd, { name, args }: AgentChoice): Omit<Check, 'name'> {
  if (end.type === 'arrived') {
    const seconds = (end.ms / 1000).toFixed(1)
    return { state: 'ok', text: `takes our options, and its prompt arrives (${seconds} s)`, fix: '' }
  }
  const said = end.said === '' ? 'it printed nothing' : `it said: ${oneLine(end.said, 300)}`
  const how =
    end.type === 'silent'
      ? `did not call its model within ${patience / 1000} s`
      : `ended (${end.exit}) before it called its model`
  const own =
    args.length > 0 ? `Check \`args\` in ralph.config.yaml (${args.join(' ')}), and update` : 'Update'
  return {
    state: 'problem',
    text: `${how}; ${said}`,
    fix: `${own} the CLI; docs/agents/${name}.md has the version that was tried.`,
  }
}

/** The guard adds options of its own, which an old version may not know. */
function guardIfBuilt(agent: Agent): ReturnType<typeof guardFor> {
  try {
    return guardFor(agent)
  } catch (error) {
    if (error instanceof UserError) return {}
    throw error
  }
}
