import { oneLine } from '../core/text.ts'
import type { AgentEvent, AgentReader, AgentReport } from './agent.ts'
import { asText, type JsonRecord, parseRecord } from './json.ts'
import { firstPart, strayLimit, tailText } from './tail-text.ts'

export type JsonReaderParts = {
  /** Takes one event of the stream. */
  take(event: JsonRecord): AgentEvent[]
  /** `stray`: the end of all that was no event. */
  report(stray: string, exit: { code: number | null; killed: string | null }): AgentReport
}

/** A reader for agents that print one JSON object per line: whatever else they print is kept for the search for faults. */
export function jsonReader({ take, report }: JsonReaderParts): AgentReader {
  const stray = tailText(strayLimit)
  return {
    line(line, stream) {
      const event = stream === 'stdout' ? parseRecord(line) : null
      if (event) return take(event)
      if (line.trim() === '') return []
      stray.add(firstPart(line, 2000))
      return [notice(line)]
    },
    end: exit => report(stray.text(), exit),
  }
}

export function notice(text: string): AgentEvent {
  return { type: 'notice', text: oneLine(firstPart(text, 2000), 500) }
}

export function textEvent(text: string): AgentEvent {
  return { type: 'text', text: firstPart(text, 16_384) }
}

export function toolEvent(name: string, input: string): AgentEvent {
  return { type: 'tool', name: firstPart(name, 200), input: oneLine(firstPart(input, 2000), 500) }
}

/** A name or an id: short, whatever is sent. */
export function word(value: unknown): string {
  return firstPart(asText(value), 200)
}
