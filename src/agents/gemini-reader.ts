import { type Usage, unknownUsage } from '../core/outcome.ts'
import type { AgentEvent, AgentReader, AgentReport } from './agent.ts'
import { deniedFault, errorFault, type GeminiRun, statusOf } from './gemini-fault.ts'
import { asAmount, asRecord, asText, type JsonRecord } from './json.ts'
import { jsonReader, notice, textEvent, toolEvent, word } from './json-reader.ts'
import { type EndText, endText, firstPart, messageLimit } from './tail-text.ts'

/** Reads `--output-format stream-json`. Nothing is kept but the last message, the result and a few counts. */
export function geminiReader(): AgentReader {
  const seen: Seen = {
    message: endText(messageLimit),
    open: false,
    run: { yolo: false, toolsDone: 0, denied: new Set(), error: '' },
    tools: new Map(),
    result: null,
    sessionId: null,
    model: null,
  }
  const reader = jsonReader({
    take: event => take(seen, event),
    report: (stray, exit) => report(seen, stray, exit.code),
  })
  return {
    line(line, stream) {
      if (stream === 'stdout' && isPrompt(line)) return []
      if (stream === 'stderr' && chatter.test(line)) {
        if (line.startsWith('YOLO mode is enabled')) seen.run.yolo = true
        return []
      }
      return reader.line(line, stream)
    },
    end: reader.end,
  }
}

type Seen = {
  /** What was said since the last tool call: the message comes in pieces. */
  message: EndText
  open: boolean
  run: GeminiRun
  /** Names of the tools under way by their id. */
  tools: Map<string, string>
  result: Result | null
  sessionId: string | null
  model: string | null
}

type Result = { failed: boolean; type: string; message: string; usage: Usage; model: string }

/** Our own prompt comes back as one line of any length. It is not worth reading, and cut it would look like noise. */
function isPrompt(line: string): boolean {
  return line.startsWith('{"type":"message",') && line.slice(0, 120).includes('"role":"user"')
}

/** Printed at every start, whatever happens. */
const chatter =
  /^(?:YOLO mode is enabled|Ripgrep is not available|\[STARTUP\] |Warning: (?:Basic terminal|256-color|True color|--allowed-tools))/u

function take(seen: Seen, event: JsonRecord): AgentEvent[] {
  switch (event.type) {
    case 'init':
      seen.sessionId = word(event.session_id) || null
      seen.model = word(event.model) || null
      return []
    case 'message':
      return event.role === 'assistant' ? takeText(seen, asText(event.content)) : []
    case 'tool_use':
      return takeTool(seen, event)
    case 'tool_result':
      return takeToolResult(seen, event)
    case 'error':
      seen.run.error = firstPart(asText(event.message), 2000)
      return [notice(asText(event.message))]
    case 'result':
      seen.result = resultOf(event)
      return []
    default:
      return []
  }
}

function takeText(seen: Seen, text: string): AgentEvent[] {
  if (text === '') return []
  if (!seen.open) seen.message.clear()
  seen.open = true
  seen.message.add(text)
  return [textEvent(text)]
}

function takeTool(seen: Seen, event: JsonRecord): AgentEvent[] {
  seen.open = false
  const name = word(event.tool_name)
  // Only calls that run side by side are in here; should ids never come back, it must not grow.
  if (seen.tools.size < 64) seen.tools.set(word(event.tool_id), name)
  return [toolEvent(name, toolInput(asRecord(event.parameters)))]
}

/** The one thing a person wants to see of a tool call. */
function toolInput(input: JsonRecord | null): string {
  if (!input) return ''
  return asText(input.command) || asText(input.file_path) || asText(input.pattern) || JSON.stringify(input)
}

function takeToolResult(seen: Seen, event: JsonRecord): AgentEvent[] {
  seen.open = false
  const id = word(event.tool_id)
  const name = seen.tools.get(id) ?? 'tool'
  seen.tools.delete(id)
  if (event.status !== 'error') {
    seen.run.toolsDone++
    return []
  }
  const error = asRecord(event.error)
  const message = asText(error?.message)
  const denied = error?.type === 'policy_violation' || message.includes('requires user confirmation')
  if (!denied) return []
  if (seen.run.denied.size < 20) seen.run.denied.add(name)
  return [notice(`${name} denied: ${message}`)]
}

function resultOf(event: JsonRecord): Result {
  const error = asRecord(event.error)
  const stats = asRecord(event.stats) ?? {}
  return {
    failed: event.status === 'error',
    type: word(error?.type),
    message: firstPart(asText(error?.message), 2000),
    usage: usageOf(stats),
    model: busiest(asRecord(stats.models) ?? {}),
  }
}

/** Input counts what came from the cache, output leaves out what was only thought: that is in the total. No price is told. */
function usageOf(stats: JsonRecord): Usage {
  const input = asAmount(stats.input_tokens)
  const output = asAmount(stats.output_tokens)
  const rest = (asAmount(stats.total_tokens) ?? 0) - (input ?? 0)
  return {
    costUsd: null,
    inputTokens: input,
    outputTokens: output === null ? null : Math.max(output, rest),
  }
}

/** With `auto` the CLI chooses between models; the one that did most of the work is the one to name. */
function busiest(models: JsonRecord): string {
  let name = ''
  let most = 0
  for (const [model, stats] of Object.entries(models)) {
    const tokens = asAmount(asRecord(stats)?.total_tokens) ?? 0
    if (tokens > most) [name, most] = [firstPart(model, 200), tokens]
  }
  return name
}

function report(seen: Seen, stray: string, code: number | null): AgentReport {
  const { result, run } = seen
  const failure = result?.failed
    ? { type: result.type, message: result.message || run.error, status: statusOf(result.message, code) }
    : null
  // Zeros after an error without an answer from the server may be wrong: a broken request may have cost something.
  const told = result !== null && (!failure || failure.status !== null || (result.usage.inputTokens ?? 0) > 0)
  return {
    message: seen.message.text(),
    usage: told ? result.usage : unknownUsage,
    fault: failure ? errorFault(failure) : result ? deniedFault(run) : null,
    tail: stray,
    sessionId: seen.sessionId,
    model: result?.model || seen.model,
  }
}
