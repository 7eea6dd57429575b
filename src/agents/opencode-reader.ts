import { type Usage, unknownUsage } from '../core/outcome.ts'
import type { AgentEvent, AgentReader, AgentReport } from './agent.ts'
import { asAmount, asRecord, asText, type JsonRecord } from './json.ts'
import { jsonReader, notice, textEvent, toolEvent, word } from './json-reader.ts'
import { endFault, type OpencodeError, type OpencodeRun } from './opencode-fault.ts'
import { firstPart, lastPart, messageLimit } from './tail-text.ts'

/** Reads `opencode run --format json`. There is no final event: steps are summed, the last text is the answer. */
export function opencodeReader(): AgentReader {
  const seen: Seen = {
    run: { step: 'none', reason: '', rejected: '', error: null },
    text: '',
    textOf: '',
    steps: 0,
    cost: 0,
    input: 0,
    output: 0,
    context: null,
    delegated: false,
    sessionId: null,
  }
  return jsonReader({
    take: event => take(seen, event),
    report: (stray, exit) => report(seen, stray, exit.code === 0 && exit.killed === null),
  })
}

type Seen = {
  run: OpencodeRun
  /** The last message and its id; one message may come in several parts. */
  text: string
  textOf: string
  steps: number
  cost: number
  input: number
  output: number
  context: number | null
  /** A subagent worked, of whose steps nothing is told. */
  delegated: boolean
  sessionId: string | null
}

function take(seen: Seen, event: JsonRecord): AgentEvent[] {
  seen.sessionId = word(event.sessionID) || seen.sessionId
  const part = asRecord(event.part) ?? {}
  switch (event.type) {
    case 'step_start':
      // Work went on, so what went wrong before was got over.
      seen.run.error = null
      seen.run.step = 'open'
      return []
    case 'text':
      return takeText(seen, part)
    case 'tool_use':
      return takeTool(seen, part)
    case 'step_finish':
      takeStep(seen, part)
      return []
    case 'error':
      seen.run.error = errorOf(event)
      return [notice(seen.run.error.message || seen.run.error.name)]
    default:
      return []
  }
}

function takeText(seen: Seen, part: JsonRecord): AgentEvent[] {
  const text = asText(part.text)
  // `synthetic`: what opencode itself put into the conversation.
  if (part.synthetic === true || !text.trim()) return []
  const id = word(part.messageID)
  const before = id !== '' && id === seen.textOf ? `${seen.text}\n` : ''
  seen.text = lastPart(before + text, messageLimit)
  seen.textOf = id
  return [textEvent(text)]
}

function takeTool(seen: Seen, part: JsonRecord): AgentEvent[] {
  const name = word(part.tool)
  const state = asRecord(part.state) ?? {}
  // A call that was refused has no session of its own.
  if (name === 'task' && asRecord(state.metadata)?.sessionId !== undefined) seen.delegated = true
  const call = toolEvent(name, toolInput(asRecord(state.input)))
  if (state.status !== 'error') return [call]
  const error = firstPart(asText(state.error), 500)
  if (/rejected permission/iu.test(error)) seen.run.rejected = name
  return [call, notice(`${name}: ${error}`)]
}

/** The one thing a person wants to see of a tool call. */
function toolInput(input: JsonRecord | null): string {
  if (!input) return ''
  return asText(input.command) || asText(input.filePath) || asText(input.pattern) || JSON.stringify(input)
}

/** Input is all that the model read, from the cache or not; `total` tells it all, thinking too. */
function takeStep(seen: Seen, part: JsonRecord): void {
  const tokens = asRecord(part.tokens) ?? {}
  const cache = asRecord(tokens.cache) ?? {}
  const input = amount(tokens.input) + amount(cache.read) + amount(cache.write)
  const output = amount(tokens.output) + amount(tokens.reasoning)
  seen.run.step = 'finished'
  seen.run.reason = word(part.reason)
  if (input + output === 0) return
  seen.steps++
  seen.input += input
  seen.output += output
  seen.cost += amount(part.cost)
  seen.context = input + output
}

function amount(value: unknown): number {
  return asAmount(value) ?? 0
}

function errorOf(event: JsonRecord): OpencodeError {
  const error = asRecord(event.error) ?? {}
  const data = asRecord(error.data) ?? {}
  const wait = Number.parseFloat(asText(asRecord(data.responseHeaders)?.['retry-after']))
  const now = asAmount(event.timestamp)
  return {
    name: word(error.name),
    message: firstPart(asText(data.message), 2000),
    status: asAmount(data.statusCode),
    answer: firstPart(asText(data.responseBody), 2000),
    until: Number.isFinite(wait) && now !== null ? Math.round(now + wait * 1000) : null,
  }
}

function report(seen: Seen, stray: string, endedWell: boolean): AgentReport {
  return {
    message: seen.text,
    usage: usageOf(seen),
    fault: endFault(seen.run, stray, endedWell),
    tail: stray,
    sessionId: seen.sessionId,
    model: null,
    ...(seen.context === null ? {} : { context: { usedTokens: seen.context, windowTokens: null } }),
  }
}

function usageOf({ steps, cost, input, output, delegated }: Seen): Usage {
  if (steps === 0 || delegated) return unknownUsage
  // A model without a known price is told as costing 0.
  return { costUsd: cost > 0 ? cost : null, inputTokens: input, outputTokens: output }
}
