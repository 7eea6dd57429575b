import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type ClientContext, client } from '@agentclientprotocol/sdk'
import { errorText } from '../../core/errors.ts'
import { type AgentEnd, type AgentProcess, startAgent } from './agent-process.ts'
import { ConversationError, createConversation, introduce } from './client.ts'
import { printAlive, printLine } from './print-line.ts'

declare const __RALPH_VERSION__: string

/**
 * The ACP client: `acp-client [--read-only] [--model M] -- <agent command>`, prompt on stdin. It starts the agent, has one
 * turn with it in the current folder, tells what happens as lines (`AcpLine`), and leaves as the agent left.
 * `--probe` only asks the agent who it is.
 */
// Whoever ends without having finished must not look like one who has.
process.exitCode = 13
void main(process.argv.slice(2))

async function main(words: string[]): Promise<void> {
  const { probe, readOnly, model, command } = readArguments(words)
  const conversation = createConversation({
    cwd: process.cwd(),
    prompt: probe ? '' : readFileSync(0, 'utf8'),
    readOnly,
    model,
    version: __RALPH_VERSION__,
    print: printLine,
    alive: printAlive,
  })
  const agent = startAgent(command, conversation.onUpdate)
  const link: Link = { context: null, leaving: false }
  leaveWithSignals(agent, () => {
    link.leaving = true
    const sessionId = conversation.sessionId()
    if (sessionId) link.context?.notify('session/cancel', { sessionId }).catch(() => undefined)
  })

  const app = probe ? client({ name: 'ralph' }) : conversation.app
  const failure = await app
    .connectWith(agent.stream, async context => {
      link.context = context
      if (probe) await introduce(context, { version: __RALPH_VERSION__, print: printLine })
      else await conversation.hold(context)
    })
    .then(
      () => null,
      (error: unknown) => ({ error }),
    )
  conversation.flush()
  // Whoever ended us waits for the agent's end, and then ends us for good.
  if (link.leaving) return delay(60_000)
  // An agent that is gone says with its end why the conversation broke off; one that answered has said it.
  const answered = failure?.error instanceof ConversationError && failure.error.answered
  const gone = failure && !answered ? await Promise.race([agent.ended, delay(2000, null)]) : null
  if (gone) return leaveLike(gone)
  if (failure) tell(failure.error)
  await agent.end()
  process.exit(failure ? 1 : 0)
}

type Link = { context: ClientContext | null; leaving: boolean }

function tell(error: unknown): void {
  const other = {
    during: 'the conversation',
    message: errorText(error),
    kind: 'other' as const,
    status: null,
  }
  printLine({ type: 'error', error: error instanceof ConversationError ? error.error : other })
}

/** Ended by whoever started us: the agent may tidy up, but we do not leave before it. */
function leaveWithSignals(agent: AgentProcess, cancel: () => void): void {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.once(signal, async () => {
      cancel()
      agent.kill(signal)
      await agent.end()
      process.kill(process.pid, signal)
    })
  }
}

/** The agent ended before its turn did: with its code or its signal, which our reader knows how to take. */
async function leaveLike({ code, signal, startError }: AgentEnd): Promise<void> {
  if (startError !== null) {
    process.stderr.write(`Error: the agent could not be started: ${startError}\n`)
    process.exit(127)
  }
  if (signal !== null) {
    process.kill(process.pid, signal)
    await delay(1000)
  }
  if (code === 0) process.stderr.write('Error: the agent left before its turn was over\n')
  process.exit(code || 1)
}

type Arguments = { probe: boolean; readOnly: boolean; model: string | null; command: string[] }

function readArguments(words: string[]): Arguments {
  const split = words.indexOf('--')
  const [options, command] = [words.slice(0, split), words.slice(split + 1)]
  if (split < 0 || command.length === 0) {
    process.stderr.write('usage: acp-client [--probe] [--read-only] [--model M] -- <agent command>\n')
    process.exit(2)
  }
  const model = options.indexOf('--model')
  return {
    probe: options.includes('--probe'),
    readOnly: options.includes('--read-only'),
    model: model < 0 ? null : (options[model + 1] ?? null),
    command,
  }
}
