import { unknownUsage } from '../core/outcome.ts'
import type { AgentEvent, AgentReader, AgentReport } from './agent.ts'
import { type CopilotError, deniedFault, errorFault } from './copilot-fault.ts'
import { asAmount, asRecord, asText, type JsonRecord, parseRecord } from './json.ts'
import { jsonReader, notice, textEvent, toolEvent, word } from './json-reader.ts'
import { firstPart, lastPart, messageLimit } from './tail-text.ts'

/** Reads `--output-format json`. Nothing is kept but the last message, the last error and a few counts. */
export function copilotReader(): AgentReader {
  const seen: Seen = {
    message: '',
    error: null,
    providerCode: '',
    toolsDone: 0,
    denied: new Set(),
    reviewer: false,
    tools: new Map(),
    sessionId: null,
    model: null,
    context: null,
  }
  const reader = jsonReader({
    take: event => take(seen, event),
    report: stray => report(seen, stray),
  })
  return {
    line: (line, stream) => (isSkipped(line, stream) ? [] : reader.line(line, stream)),
    end: reader.end,
  }
}

type Seen = {
  message: string
  /** The last error, unless the agent spoke after it. */
  error: CopilotError | null
  /** The model provider's own name for what went wrong. */
  providerCode: string
  toolsDone: number
  /** Names of the tools that were refused. */
  denied: Set<string>
  /** A refusal was by the rule that we give to reviewers. */
  reviewer: boolean
  /** Names of the tools under way by their id. */
  tools: Map<string, string>
  sessionId: string | null
  model: string | null
  context: { usedTokens: number; windowTokens: number | null } | null
}

/**
 * Most lines are pieces of what comes again as a whole, and our own prompt, twice in one line. They are not worth
 * parsing, and a prompt that was cut would look like noise.
 */
const skipped =
  /^\{"type":"(?:user\.message|assistant\.(?:message_delta|tool_call_delta|reasoning_delta|reasoning)|tool\.(?:execution_partial_result|shell_output)|session\.(?:background_tasks_changed|skills_loaded))"/u

function isSkipped(line: string, stream: 'stdout' | 'stderr'): boolean {
  return stream === 'stdout' ? skipped.test(line) : /^Package extraction took \d+ms$/u.test(line)
}

function take(seen: Seen, event: JsonRecord): AgentEvent[] {
  const data = asRecord(event.data) ?? {}
  switch (event.type) {
    case 'session.tools_updated':
      seen.model = word(data.model) || seen.model
      return []
    case 'assistant.message':
      return takeMessage(seen, event, data)
    case 'tool.execution_start':
      return takeTool(seen, data)
    case 'tool.execution_complete':
      return takeToolEnd(seen, event, data)
    case 'model.call_failure':
      seen.providerCode = word(parseRecord(asText(data.errorMessage))?.code)
      return []
    case 'session.error':
      seen.error = {
        type: word(data.errorType),
        code: word(data.errorCode) || seen.providerCode,
        status: asAmount(data.statusCode),
        message: firstPart(asText(data.message), 2000),
      }
      return [notice(asText(data.message))]
    case 'session.info':
    case 'session.warning':
      return asText(data.message) ? [notice(asText(data.message))] : []
    case 'result':
      seen.sessionId = word(event.sessionId) || null
      return []
    default:
      return []
  }
}

function takeMessage(seen: Seen, event: JsonRecord, data: JsonRecord): AgentEvent[] {
  const text = asText(data.content)
  if (!text.trim()) return []
  // A subagent speaks to the agent, not to us.
  if (!isNested(event, data)) {
    seen.message = lastPart(text, messageLimit)
    seen.model = word(data.model) || seen.model
    seen.error = null
  }
  return [textEvent(text)]
}

function isNested(event: JsonRecord, data: JsonRecord): boolean {
  return asText(event.agentId) !== '' || asText(data.parentToolCallId) !== ''
}

function takeTool(seen: Seen, data: JsonRecord): AgentEvent[] {
  const name = word(data.toolName)
  // Only calls that run side by side are in here; should ids never come back, it must not grow.
  if (seen.tools.size < 64) seen.tools.set(word(data.toolCallId), name)
  return [toolEvent(name, toolInput(data.arguments))]
}

/** The one thing a person wants to see of a tool call. A patch comes as plain text. */
function toolInput(value: unknown): string {
  const input = asRecord(value)
  if (!input) return asText(value)
  return asText(input.command) || asText(input.path) || asText(input.pattern) || JSON.stringify(input)
}

function takeToolEnd(seen: Seen, event: JsonRecord, data: JsonRecord): AgentEvent[] {
  const id = word(data.toolCallId)
  const name = seen.tools.get(id) ?? 'tool'
  seen.tools.delete(id)
  if (!isNested(event, data)) takeContext(seen, data)
  if (data.success === true) {
    seen.toolsDone++
    return []
  }
  const error = asRecord(data.error)
  if (error?.code !== 'denied') return []
  const message = asText(error.message)
  if (message.includes('rules: `write`')) seen.reviewer = true
  if (seen.denied.size < 20) seen.denied.add(name)
  return [notice(`${name} denied: ${message}`)]
}

/** The size of the context is told with each tool call. */
function takeContext(seen: Seen, data: JsonRecord): void {
  const metrics = asRecord(asRecord(data.toolTelemetry)?.metrics)
  const usedTokens = asAmount(metrics?.context_current_tokens)
  if (usedTokens !== null) seen.context = { usedTokens, windowTokens: asAmount(metrics?.context_token_limit) }
}

function report(seen: Seen, stray: string): AgentReport {
  const refused = seen.toolsDone === 0 && !seen.reviewer ? deniedFault([...seen.denied]) : null
  return {
    message: seen.message,
    // Tokens are told in a file of their own only, and money never.
    usage: unknownUsage,
    fault: seen.error ? errorFault(seen.error) : refused,
    tail: stray,
    sessionId: seen.sessionId,
    model: seen.model,
    ...(seen.context ? { context: seen.context } : {}),
  }
}
