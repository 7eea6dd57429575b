/** What the scripted model says and does. A scenario is data: the same one works in every dialect. */
export type Scenario = {
  /** One per answer; the last one is repeated for ever. */
  turns: Step[]
  /**
   * How the turn is found. `conversation`: by the answers that are already in the request, so that retries and parallel
   * runs get what they should. `request`: by the number of requests so far, for programs that invent answers.
   */
  by?: 'conversation' | 'request'
  /** The answer to a request that offers no tools: titles, summaries and the like are no turn of the work. */
  side?: Turn
}

/** `attempts`: what happens the first time this turn is asked for, the second time, …; the last one is repeated. */
export type Step = Turn | { attempts: Turn[] }

export type Turn = Answer | { error: Failure; delay?: number }

export type Answer = {
  text?: string
  tools?: ToolCall[]
  usage?: Partial<Tokens>
  /** Milliseconds before the first byte. */
  delay?: number
  /** Why it ended, when it is neither the end of the answer nor a tool call. */
  stop?: 'max-tokens' | 'refusal'
  trouble?: Trouble
  error?: never
}

/** A tool call in words of our own; `raw` is given to the program as it is. */
export type ToolCall =
  | { shell: string }
  | { write: { path: string; content: string } }
  | { read: string }
  | { raw: { name: string; input: unknown } }

/** `input` without what came from or went into the cache. */
export type Tokens = { input: number; output: number; cacheRead: number; cacheWrite: number }

/**
 * `silent`: no byte ever comes · `hang`: half of the answer comes, then nothing · `drop`: half of it, then the connection
 * is cut · `endless`: text without an end, as fast as it is read.
 */
export type Trouble = 'silent' | 'hang' | 'drop' | 'endless'

export type Failure = 'prompt-too-long' | HttpFailure

export type HttpFailure = {
  status: number
  /** The dialect's own usual ones, when not given. */
  type?: string
  code?: string
  message?: string
  headers?: Record<string, string>
  /** Seconds until the limit ends, told in the way of the dialect. */
  resetAfter?: number
  /** Further fields of the error object. */
  fields?: Record<string, unknown>
}

/** An answer with nothing left open, ready to be put into words. */
export type Reply = {
  model: string
  text: string
  calls: { name: string; input: unknown }[]
  usage: Tokens
  stop: 'end' | 'tools' | 'max-tokens' | 'refusal'
}

/** Finds the turn of a scenario and remembers how often each was asked for. */
export function createScript(scenario: Scenario): { next(answers: number): Turn; side: Turn } {
  if (scenario.turns.length === 0) throw new Error('a scenario needs at least one turn')
  const asked = new Map<number, number>()
  let requests = 0
  return {
    next(answers) {
      const index = Math.min(scenario.by === 'request' ? requests++ : answers, scenario.turns.length - 1)
      const attempt = asked.get(index) ?? 0
      asked.set(index, attempt + 1)
      const step = scenario.turns[index] ?? {}
      if (!('attempts' in step)) return step
      return step.attempts[Math.min(attempt, step.attempts.length - 1)] ?? {}
    },
    side: scenario.side ?? { text: 'A side note' },
  }
}
