import { type Usage, unknownUsage } from '../core/outcome.ts'
import { oneLine } from '../core/text.ts'
import type { AgentReader } from './agent.ts'
import { firstPart, messageLimit, strayLimit, tailText } from './tail-text.ts'

/** For programs without an event stream: stdout is the message, its end is kept. Cost is unknown unless a line tells it. */
export function plainReader(readUsage: (line: string) => Usage | null = () => null): AgentReader {
  const said = tailText(messageLimit)
  const stray = tailText(strayLimit)
  let usage = unknownUsage
  return {
    line(line, stream) {
      if (stream === 'stderr') {
        stray.add(firstPart(line, 2000))
        return line.trim() === '' ? [] : [{ type: 'notice', text: oneLine(firstPart(line, 2000), 500) }]
      }
      const told = readUsage(line)
      if (told) {
        usage = told
        return []
      }
      said.add(line)
      return [{ type: 'text', text: firstPart(line, 16_384) }]
    },
    end: () => ({
      message: said.text(),
      usage,
      fault: null,
      tail: stray.text(),
      sessionId: null,
      model: null,
    }),
  }
}
