import { asAmount, asList, asRecord, asText, type JsonRecord } from '../json.ts'
import { firstPart } from '../tail-text.ts'
import { type AcpLine, longestText } from './line.ts'

/** Turns what happens in a session into lines. Nothing is kept but a little text and the ids of the last tool calls. */
export type Updates = {
  /** A `session/update`. */
  take(update: JsonRecord): void
  /** A tool call that the agent asks permission for. */
  asked(call: JsonRecord): void
  /** Says what is still to be said. */
  flush(): void
  /** What was said since the last tool call. */
  sinceTool(): string
}

/** How long a piece of text may wait for the rest of its sentence. */
const patience = 500
const mostCalls = 1000

export function createUpdates(print: (line: AcpLine) => void, alive: () => void): Updates {
  let message = 0
  let messageId = ''
  let open = false
  let text = ''
  let since = ''
  let timer: NodeJS.Timeout | null = null
  /** Tool calls: true once they have been told. */
  const calls = new Map<string, boolean>()

  const flush = () => {
    if (timer) clearTimeout(timer)
    timer = null
    for (let from = 0; from < text.length; from += longestText)
      print({ type: 'text', message, text: text.slice(from, from + longestText) })
    text = ''
  }
  const nextMessage = () => {
    flush()
    message++
    messageId = ''
    open = false
  }
  const say = (piece: string, id: string) => {
    if (id !== messageId && messageId !== '') nextMessage()
    messageId = id
    open = true
    text += piece
    if (since.length < 1000) since += firstPart(piece, 1000)
    if (text.length >= longestText / 2) flush()
    else timer ??= setTimeout(flush, patience)
  }
  const call = (tool: JsonRecord, tell: boolean) => {
    const id = asText(tool.toolCallId)
    if (!calls.has(id) && open) nextMessage()
    since = ''
    const told = calls.get(id) ?? false
    calls.delete(id)
    calls.set(id, told || tell)
    const [oldest] = calls.keys()
    if (calls.size > mostCalls && oldest !== undefined) calls.delete(oldest)
    if (!tell || told) return alive()
    flush()
    print({ type: 'tool', name: toolName(tool), input: firstPart(toolInput(tool), 2000) })
  }

  return {
    flush,
    sinceTool: () => since,
    asked: tool => call(tool, true),
    take(update) {
      switch (update.sessionUpdate) {
        case 'agent_message_chunk': {
          const piece = contentText(update.content)
          // Words of the program and not of its model: they come whole, and among the model's.
          const own = /^(?:Info|Warning|Error): \S.{15}/su.test(piece)
          if (own && open) nextMessage()
          say(piece, asText(update.messageId))
          if (own) nextMessage()
          return alive()
        }
        case 'agent_thought_chunk':
        case 'user_message_chunk':
          // What follows is another message; thoughts are nobody's business.
          if (open) nextMessage()
          return alive()
        case 'tool_call':
        case 'tool_call_update':
          // Some agents announce a call before they know what it is.
          return call(update, toolDetail(update) !== '' || (update.status ?? 'pending') !== 'pending')
        case 'usage_update':
          return takeUsage(update, print)
        case 'notice':
          flush()
          return print({ type: 'notice', text: noticeText(update) })
        default:
          return alive()
      }
    },
  }
}

function contentText(content: unknown): string {
  const block = asRecord(content)
  return block?.type === 'text' ? asText(block.text) : ''
}

function noticeText(update: JsonRecord): string {
  return firstPart([asText(update.title), asText(update.description)].filter(Boolean).join(': '), 2000)
}

function toolName(tool: JsonRecord): string {
  return firstPart(asText(tool.name) || asText(tool.kind) || 'tool', 200)
}

/** The one thing a person wants to see of a tool call. */
export function toolInput(tool: JsonRecord): string {
  return toolDetail(tool) || asText(tool.title)
}

function toolDetail(tool: JsonRecord): string {
  const input = asRecord(tool.rawInput)
  const named = ['command', 'file_path', 'filePath', 'path', 'pattern', 'query', 'url'].map(name =>
    asText(input?.[name]),
  )
  const words = asList(input?.command).map(asText).join(' ')
  return named.find(Boolean) || words
}

/** The cost is that of the session, and told in dollars or not at all. */
function takeUsage(update: JsonRecord, print: (line: AcpLine) => void): void {
  const used = asAmount(update.used)
  if (used !== null) print({ type: 'context', used, size: asAmount(update.size) })
  const cost = asRecord(update.cost)
  const usd = asAmount(cost?.amount)
  if (usd !== null && asText(cost?.currency) === 'USD') print({ type: 'cost', usd })
}
