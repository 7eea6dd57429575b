/**
 * What the client program tells the engine, one JSON object per line. ACP itself is a conversation in both directions;
 * these lines are the part of it that a reader of an attempt needs, the same for every agent.
 */
export type AcpLine =
  | { type: 'agent'; name: string; version: string }
  | { type: 'session'; id: string; model: string | null }
  /** A piece of what the agent said; pieces of one message bear one number. */
  | { type: 'text'; message: number; text: string }
  | { type: 'tool'; name: string; input: string }
  | { type: 'notice'; text: string }
  /** Tokens of the whole turn. */
  | { type: 'tokens'; input: number | null; output: number | null }
  /** US dollars of the whole session so far. */
  | { type: 'cost'; usd: number }
  | { type: 'context'; used: number; size: number | null }
  /** Something went on that is of no interest; the engine only sees that the agent is not idle. */
  | { type: 'alive' }
  /** The end of the turn, in the words of ACP. */
  | { type: 'stop'; reason: string }
  | { type: 'error'; error: AcpError }

export type AcpError = {
  /** What was asked of the agent when it failed: an ACP method. */
  during: string
  message: string
  /** `auth`: it says itself that a login is missing · `model`: it does not offer the one that was asked for. */
  kind: 'auth' | 'model' | 'other'
  /** The HTTP status that it had from its model, where it tells. */
  status: number | null
}

/** The most of a text that goes into one line; far below the longest line the engine takes. */
export const longestText = 16_384
