import { type Fault, type Usage, unknownUsage } from '../core/outcome.ts'
import type { AgentEvent, AgentReader, AgentReport } from './agent.ts'
import { failureFault } from './codex-fault.ts'
import { asAmount, asList, asRecord, asText, type JsonRecord } from './json.ts'
import { jsonReader, notice, textEvent, toolEvent, word } from './json-reader.ts'
import { firstPart, lastPart, messageLimit } from './tail-text.ts'

/** Reads `codex exec --json`. Nothing is kept but the last text, the end of the turn and the tools under way. */
export function codexReader(): AgentReader {
  const seen: Seen = {
    lastText: '',
    usage: unknownUsage,
    turn: 'none',
    error: '',
    sessionId: null,
    shown: new Set(),
  }
  return jsonReader({
    take: event => take(seen, event),
    report: (stray, exit) => report(seen, stray, exit.code === 0 && exit.killed === null),
  })
}

type Seen = {
  lastText: string
  usage: Usage
  turn: 'none' | 'open' | 'completed' | 'failed'
  /** What the last error said, unless work went on after it. */
  error: string
  sessionId: string | null
  /** Ids of tool calls that were shown when they began and have not ended. */
  shown: Set<string>
}

function take(seen: Seen, event: JsonRecord): AgentEvent[] {
  switch (event.type) {
    case 'thread.started':
      seen.sessionId = word(event.thread_id) || seen.sessionId
      return []
    case 'turn.started':
      seen.turn = 'open'
      return []
    case 'item.started':
      return takeItem(seen, asRecord(event.item) ?? {}, false)
    case 'item.completed':
      return takeItem(seen, asRecord(event.item) ?? {}, true)
    case 'turn.completed':
      seen.turn = 'completed'
      seen.usage = usageOf(asRecord(event.usage) ?? {})
      return []
    case 'turn.failed':
      seen.turn = 'failed'
      seen.error = said(asRecord(event.error)?.message) || seen.error
      return []
    case 'error':
      // Most of these are passing ("Reconnecting... 2/5"), and the last one comes again as `turn.failed`.
      seen.error = said(event.message)
      return [notice(asText(event.message))]
    default:
      return []
  }
}

function takeItem(seen: Seen, item: JsonRecord, ended: boolean): AgentEvent[] {
  const type = asText(item.type)
  // The CLI's own words: a setting it does not know, a transport it fell back to.
  if (type === 'error') {
    const words = asText(item.message)
    // It warns of the way in which the guard is given to it: our own doing.
    return words.startsWith('`--dangerously-bypass-hook-trust`') ? [] : [notice(words)]
  }
  seen.error = ''
  if (type === 'agent_message') {
    const text = asText(item.text)
    if (!ended || !text.trim()) return []
    seen.lastText = lastPart(text, messageLimit)
    return [textEvent(text)]
  }
  if (type === 'reasoning' || type === 'todo_list') return []
  const id = word(item.id)
  if (ended) return seen.shown.delete(id) ? [] : [tool(type, item)]
  // Only calls that run side by side are in here; should ids never come back, it must not grow.
  if (seen.shown.size < 64) seen.shown.add(id)
  return [tool(type, item)]
}

/** The one thing a person wants to see of a tool call. */
function tool(type: string, item: JsonRecord): AgentEvent {
  switch (type) {
    case 'command_execution':
      return toolEvent('shell', plainCommand(firstPart(asText(item.command), 2000)))
    case 'file_change':
      return toolEvent(
        'edit',
        asList(item.changes)
          .slice(0, 20)
          .map(change => word(asRecord(change)?.path))
          .join(' '),
      )
    case 'mcp_tool_call':
      return toolEvent(`${word(item.server)}.${word(item.tool)}`, JSON.stringify(item.arguments ?? ''))
    case 'web_search':
      return toolEvent('web_search', asText(item.query))
    default:
      return toolEvent(type, '')
  }
}

/** Every command comes wrapped as `/bin/bash -lc '…'`. */
function plainCommand(command: string): string {
  return /^\S+ -l?c (['"])([\s\S]*)\1$/u.exec(command)?.[2] ?? command
}

/** The total of the thread, which is new for each attempt. Cached input and reasoning are counted in. No price is told. */
function usageOf(usage: JsonRecord): Usage {
  return {
    costUsd: null,
    inputTokens: asAmount(usage.input_tokens),
    outputTokens: asAmount(usage.output_tokens),
  }
}

function report(seen: Seen, stray: string, endedWell: boolean): AgentReport {
  return {
    message: seen.lastText,
    usage: seen.usage,
    fault: faultOf(seen, endedWell),
    tail: stray,
    sessionId: seen.sessionId,
    model: null,
  }
}

function faultOf({ turn, error }: Seen, endedWell: boolean): Fault | null {
  if (turn === 'failed') return failureFault(error)
  if (turn === 'completed') return null
  if (error && !endedWell) return failureFault(error)
  // The exit code is no verdict: a turn that was begun and not ended is no answer.
  return turn === 'open' && endedWell
    ? { kind: 'crash', message: 'Agent ended in the middle of its turn' }
    : null
}

function said(value: unknown): string {
  return firstPart(asText(value), 2000)
}
