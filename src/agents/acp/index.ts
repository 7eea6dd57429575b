import path from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { Agent, AgentNeeds, AgentProbe, AgentSettings, ProbeContext } from '../agent.ts'
import { builtProgram } from '../built-program.ts'
import { claudeNeeds } from '../claude-needs.ts'
import { codexNeeds } from '../codex-needs.ts'
import { copilotNeeds } from '../copilot-needs.ts'
import { probeEnvironment } from '../environment.ts'
import { geminiNeeds } from '../gemini-needs.ts'
import { asText, parseRecord } from '../json.ts'
import { opencodeNeeds } from '../opencode-needs.ts'
import { patternsFor } from '../patterns.ts'
import { findProgram, startProbe } from '../probe.ts'
import { splitCommand } from '../split-command.ts'
import { acpReader } from './reader.ts'

/** Any agent that speaks the Agent Client Protocol. A small client program talks with it and tells us what happens. */
export function acp(settings: AgentSettings): Agent {
  const words =
    typeof settings.command === 'string' ? splitCommand(settings.command) : (settings.command ?? [])
  const [agent] = words
  if (!agent) {
    throw new UserError(
      `agent 'acp' has no command`,
      'Write `agent: { name: acp, command: "gemini --acp" }` in ralph.config.yaml, with the command of your agent.',
      2,
    )
  }
  const client = settings.program ?? builtProgram('acp-client.js', "the client program of agent 'acp'")
  return {
    name: 'acp',
    // An agent that never asks for permission cannot be refused one, so nothing is promised.
    can: { readOnly: false, reportsCost: false, structured: true, guard: false },
    patterns: patternsFor('acp', settings.patterns),
    command: ({ model, readOnly, extraArgs }) => ({
      argv: [
        process.execPath,
        client,
        ...(readOnly ? ['--read-only'] : []),
        ...(model === undefined ? [] : ['--model', model]),
        '--',
        ...words,
        ...extraArgs,
      ],
      env: {},
      stdin: 'prompt',
      // The program is built of several files.
      reads: [path.dirname(client)],
    }),
    reader: acpReader,
    probe: context => probe({ client, words, agent, ...context }),
    needs: env => needsOf(agent, env),
    headless: () => ({ notChecked: 'how this agent is told where its model is, it alone knows' }),
  }
}

/** Of those agents that Ralph knows by another way too. */
const known: Record<string, (env: Record<string, string | undefined>) => AgentNeeds> = {
  claude: claudeNeeds,
  'claude-agent-acp': claudeNeeds,
  'claude-code-acp': claudeNeeds,
  codex: codexNeeds,
  'codex-acp': codexNeeds,
  copilot: copilotNeeds,
  gemini: geminiNeeds,
  opencode: opencodeNeeds,
}

function needsOf(agent: string, env: Record<string, string | undefined>): AgentNeeds {
  const name = path.basename(agent)
  return (Object.hasOwn(known, name) ? known[name]?.(env) : undefined) ?? { hosts: [], copies: [] }
}

/** An agent in JavaScript takes seconds to start. */
const patience = 30_000

async function probe({
  client,
  words,
  agent,
  env,
  cwd,
}: ProbeContext & { client: string; words: string[]; agent: string }): Promise<AgentProbe> {
  const broken = (problem: string, fix: string): AgentProbe => ({ ok: false, version: null, problem, fix })
  const install = 'Install it, or correct `agent.command` in ralph.config.yaml.'
  if (!(await findProgram(agent, env, cwd))) return broken(`'${agent}' was not found`, install)
  const end = await startProbe({
    argv: [process.execPath, client, '--probe', '--', ...words],
    cwd,
    env: probeEnvironment(env),
    timeout: patience,
  })
  const command = words.join(' ')
  switch (end.type) {
    case 'missing':
      return broken('Node was not found', 'Install Ralph again.')
    case 'timeout':
      return broken(
        `\`${command}\` did not answer within ${end.after / 1000} s; does it speak ACP?`,
        'Check its flag for ACP, e.g. `gemini --acp`, in `agent.command`.',
      )
    case 'failed':
      return broken(`\`${command}\` does not speak ACP: ${said(end.detail)}`, install)
    case 'ok': {
      const told = end.output.split('\n').map(parseRecord)
      const version = told.map(line => (line?.type === 'agent' ? asText(line.version) : '')).find(Boolean)
      return { ok: true, version: version ?? null, login: 'unknown', problem: null, fix: null }
    }
    default:
      return end satisfies never
  }
}

function said(detail: string): string {
  return /"message":"([^"]*)/u.exec(detail)?.[1] || detail
}
