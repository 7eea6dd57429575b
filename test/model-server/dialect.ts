import type { JsonRecord } from '../../src/agents/json.ts'
import type { Failure, Reply } from './scenario.ts'
import type { OfferedTool } from './tools.ts'

/** One protocol between a program and a model: how a request is read and how an answer is said. */
export type Dialect = {
  name: 'anthropic' | 'responses' | 'chat' | 'gemini'
  read(body: JsonRecord): Asked
  /** The answer in one piece. */
  whole(reply: Reply): unknown
  /** The answer as a stream. */
  events(reply: Reply, body: JsonRecord): ServerEvent[]
  /** A stream that never ends: how it starts, and the piece that is said again and again. */
  endless(reply: Reply): { opening: ServerEvent[]; more: ServerEvent }
  failure(failure: Failure): FailedResponse
  /** Some servers have begun to stream before they find out what is wrong. */
  failedStream?(failure: Failure, reply: Reply): ServerEvent[] | null
}

export type Asked = {
  /** Answers of the model that are already in the conversation. */
  answers: number
  offered: OfferedTool[]
}

/** One event of a stream; `event` is its name where the dialect names them. */
export type ServerEvent = { event?: string; data: unknown }

export type FailedResponse = { status: number; headers: Record<string, string>; body: unknown }

/** Consecutive messages of the model are one answer of it. */
export function countRuns<T>(items: readonly T[], isAnswer: (item: T) => boolean): number {
  let runs = 0
  let before = false
  for (const item of items) {
    const now = isAnswer(item)
    if (now && !before) runs++
    before = now
  }
  return runs
}

/** Text in the small pieces that a model says it in; several even when it is short, so that it can break off midway. */
export function pieces(text: string): string[] {
  const size = Math.max(1, Math.min(24, Math.ceil(text.length / 6)))
  return text.match(new RegExp(`.{1,${size}}`, 'gsu')) ?? []
}

let count = 0

/** Ids are unlike each other in one process; nothing needs more. */
export function newId(prefix: string): string {
  return `${prefix}${(++count).toString(36).padStart(10, '0')}`
}

/** What an endless stream says. */
export const endlessText = 'and so on, '.repeat(20)
