import { type Usage, unknownUsage } from '../core/outcome.ts'
import { oneLine } from '../core/text.ts'
import type { AgentEvent, AgentReader, AgentReport } from './agent.ts'
import { type ClaudeRun, resultFault } from './claude-fault.ts'
import { usageOf } from './claude-usage.ts'
import { asAmount, asList, asRecord, asText, type JsonRecord } from './json.ts'
import { jsonReader, notice, textEvent, toolEvent, word } from './json-reader.ts'
import { lastPart, messageLimit } from './tail-text.ts'

/** Reads `--output-format stream-json`. Nothing is kept but the last text, the last result and a few counts. */
export function claudeReader(): AgentReader {
  const seen: Seen = {
    run: { permissionMode: '', toolsDone: 0, hookDenials: 0, apiError: '', resetsAt: null },
    lastText: '',
    result: null,
    sessionId: null,
    model: null,
  }
  return jsonReader({ take: event => take(seen, event), report: stray => report(seen, stray) })
}

type Seen = {
  run: ClaudeRun
  lastText: string
  result: Result | null
  sessionId: string | null
  model: string | null
}

/** What is kept of a result event: the last one counts, when background work led to several. */
type Result = { message: string; usage: Usage; event: JsonRecord }

function take(seen: Seen, event: JsonRecord): AgentEvent[] {
  seen.sessionId = word(event.session_id) || seen.sessionId
  switch (event.type) {
    case 'system':
      return takeSystem(seen, event)
    case 'assistant':
      return takeAssistant(seen, event)
    case 'user':
      takeToolResults(seen, event)
      return []
    case 'rate_limit_event':
      return takeLimit(seen, asRecord(event.rate_limit_info) ?? {})
    case 'result':
      seen.result = {
        message: lastPart(asText(event.result), messageLimit),
        usage: usageOf(event),
        event: trimmed(event),
      }
      return []
    default:
      return []
  }
}

function takeSystem(seen: Seen, event: JsonRecord): AgentEvent[] {
  switch (event.subtype) {
    case 'init':
      seen.run.permissionMode = word(event.permissionMode)
      seen.model = word(event.model) || null
      return asList(event.plugin_errors).map(error =>
        notice(`plugin: ${asText(error) || JSON.stringify(error)}`),
      )
    case 'api_retry': {
      const what = asAmount(event.error_status) ?? (asText(event.error) || 'error')
      return [
        notice(
          `API ${what}, retry ${asAmount(event.attempt) ?? '?'} of ${asAmount(event.max_retries) ?? '?'}`,
        ),
      ]
    }
    case 'permission_denied':
      return [notice(`${asText(event.tool_name)} denied: ${asText(event.message)}`)]
    case 'informational':
    case 'notification':
      return asText(event.content) ? [notice(asText(event.content))] : []
    default:
      return []
  }
}

function takeAssistant(seen: Seen, event: JsonRecord): AgentEvent[] {
  const message = asRecord(event.message)
  // `<synthetic>`: the CLI's own words in the place of an answer. They are in the result too.
  if (asText(message?.model) === '<synthetic>') {
    seen.run.apiError = word(event.error)
    return [notice(contentText(message))]
  }
  const texts: string[] = []
  const events: AgentEvent[] = []
  for (const one of asList(message?.content)) {
    const block = asRecord(one)
    if (block?.type === 'tool_use')
      events.push(toolEvent(asText(block.name), toolInput(asRecord(block.input))))
    const text = block?.type === 'text' ? asText(block.text) : ''
    if (text === '') continue
    texts.push(text)
    events.push(textEvent(text))
  }
  // A subagent speaks to the agent, not to us.
  const nested = asText(event.parent_tool_use_id) !== ''
  const text = texts.join('\n')
  if (!nested && text.trim()) seen.lastText = lastPart(text, messageLimit)
  return events
}

/** The one thing a person wants to see of a tool call. */
function toolInput(input: JsonRecord | null): string {
  if (!input) return ''
  return asText(input.command) || asText(input.file_path) || asText(input.pattern) || JSON.stringify(input)
}

function contentText(message: JsonRecord | null): string {
  const texts: string[] = []
  for (const one of asList(message?.content)) {
    const block = asRecord(one)
    if (block?.type === 'text') texts.push(asText(block.text))
  }
  return texts.join('\n')
}

function takeToolResults(seen: Seen, event: JsonRecord): void {
  for (const block of asList(asRecord(event.message)?.content).map(asRecord)) {
    if (block?.type === 'tool_result' && block.is_error !== true) seen.run.toolsDone++
  }
  for (const meta of asList(event.tool_result_meta).map(asRecord)) {
    const decision = asRecord(meta?.permission_decision)
    if (decision?.decision === 'reject' && decision.source === 'hook') seen.run.hookDenials++
  }
}

function takeLimit(seen: Seen, info: JsonRecord): AgentEvent[] {
  const status = asText(info.status)
  const at = asAmount(info.resetsAt)
  if (status === 'rejected') seen.run.resetsAt = at === null ? null : at * 1000
  return status === 'rejected' || status === 'allowed_warning' ? [notice(`usage limit: ${status}`)] : []
}

/** Only the fields the fault is read from; `modelUsage` and tool inputs can be large. */
function trimmed(event: JsonRecord): JsonRecord {
  const { is_error, subtype, api_error_status, api_error, terminal_reason, errors, permission_denials } =
    event
  const result = lastPart(asText(event.result), 2000)
  const denials = asList(permission_denials)
    .slice(0, 100)
    .map(denial => ({ tool_name: oneLine(asText(asRecord(denial)?.tool_name), 100) }))
  return {
    is_error,
    subtype,
    api_error_status,
    api_error,
    terminal_reason,
    result,
    errors: asList(errors)
      .slice(0, 3)
      .map(error => oneLine(asText(error))),
    permission_denials: denials,
  }
}

function report(seen: Seen, stray: string): AgentReport {
  const { result } = seen
  return {
    message: result?.message.trim() ? result.message : seen.lastText,
    usage: result?.usage ?? unknownUsage,
    fault: result ? resultFault(result.event, seen.run) : null,
    tail: stray,
    sessionId: seen.sessionId,
    model: seen.model,
  }
}
