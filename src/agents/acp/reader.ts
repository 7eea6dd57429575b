import type { Fault, Usage } from '../../core/outcome.ts'
import type { AgentEvent, AgentReader, AgentReport } from '../agent.ts'
import { asAmount, asRecord, asText, type JsonRecord } from '../json.ts'
import { jsonReader, notice, textEvent, toolEvent, word } from '../json-reader.ts'
import { type EndText, endText, firstPart, messageLimit } from '../tail-text.ts'
import { errorFault, stopFault } from './fault.ts'

/** Reads the lines of the client program (`AcpLine`). */
export function acpReader(): AgentReader {
  const seen: Seen = {
    message: -1,
    text: endText(messageLimit),
    said: '',
    usage: { costUsd: null, inputTokens: null, outputTokens: null },
    fault: null,
    failure: '',
    sessionId: null,
    model: null,
    context: null,
  }
  return jsonReader({ take: event => take(seen, event), report: stray => report(seen, stray) })
}

type Seen = {
  /** Number and text of the message that is being said, and the last one before it that was not blank. */
  message: number
  text: EndText
  said: string
  usage: Usage
  fault: Fault | null
  /** An error that its structure does not explain; its words may. */
  failure: string
  sessionId: string | null
  model: string | null
  context: AgentReport['context'] | null
}

function take(seen: Seen, event: JsonRecord): AgentEvent[] {
  switch (event.type) {
    case 'agent':
      return []
    case 'session':
      seen.sessionId = word(event.id) || null
      seen.model = word(event.model) || null
      return []
    case 'text':
      return takeText(seen, asAmount(event.message) ?? 0, asText(event.text))
    case 'tool':
      return [toolEvent(asText(event.name), asText(event.input))]
    case 'notice':
      return [notice(asText(event.text))]
    case 'tokens':
      seen.usage = { ...seen.usage, inputTokens: asAmount(event.input), outputTokens: asAmount(event.output) }
      return []
    case 'cost':
      seen.usage = { ...seen.usage, costUsd: asAmount(event.usd) }
      return []
    case 'context':
      seen.context = contextOf(event) ?? seen.context
      return []
    case 'stop':
      seen.fault = stopFault(asText(event.reason))
      return []
    case 'error':
      return takeError(seen, asRecord(event.error) ?? {})
    default:
      return []
  }
}

function takeText(seen: Seen, message: number, text: string): AgentEvent[] {
  if (message !== seen.message) {
    seen.said = messageOf(seen)
    seen.message = message
    seen.text.clear()
  }
  seen.text.add(text)
  return text === '' ? [] : [textEvent(text)]
}

function takeError(seen: Seen, error: JsonRecord): AgentEvent[] {
  seen.fault = errorFault(error)
  seen.failure = firstPart(asText(error.message), 1000)
  return [notice(`error: ${asText(error.message)}`)]
}

function contextOf(event: JsonRecord): AgentReport['context'] | null {
  const usedTokens = asAmount(event.used)
  return usedTokens === null ? null : { usedTokens, windowTokens: asAmount(event.size) }
}

function messageOf({ text, said }: Seen): string {
  const last = text.text()
  return last.trim() ? last : said
}

function report(seen: Seen, stray: string): AgentReport {
  return {
    message: messageOf(seen),
    usage: seen.usage,
    fault: seen.fault,
    // Without a fault of its own the error is left to the phrases, which look at the end of this.
    tail: seen.fault || !seen.failure ? stray : `${stray}\nError: ${seen.failure}`.trimStart(),
    sessionId: seen.sessionId,
    model: seen.model,
    ...(seen.context ? { context: seen.context } : {}),
  }
}
