import { asAmount, asRecord, type JsonRecord } from '../json.ts'

export type Tokens = { input: number | null; output: number | null }

/** Agents that tell only the last step of a turn: less than the truth is worse than nothing. */
const lastStepOnly = ['opencode']
/** Agents that are known to count all turns of a session together. */
const countsAll = ['copilot']

/** The tokens of a session from the result of its last turn, where the agent tells them; ACP leaves it to the agent. */
export function sessionTokens(session: { agent: string; result: JsonRecord; turns: number }): Tokens | null {
  const agent = session.agent.toLowerCase()
  if (lastStepOnly.includes(agent) || (session.turns > 1 && !countsAll.includes(agent))) return null
  const usage = asRecord(session.result.usage)
  if (usage) {
    const output = asAmount(usage.outputTokens)
    return { input: inputOf(usage, output ?? 0), output }
  }
  const counted = asRecord(asRecord(asRecord(session.result._meta)?.quota)?.token_count)
  if (!counted) return null
  return { input: asAmount(counted.input_tokens), output: asAmount(counted.output_tokens) }
}

/** All that was read, from a cache or not: some agents count the cache in `inputTokens`, others do not; the total has it. */
function inputOf(usage: JsonRecord, output: number): number | null {
  const total = asAmount(usage.totalTokens)
  if (total !== null) return Math.max(0, total - output - (asAmount(usage.thoughtTokens) ?? 0))
  const parts = ['inputTokens', 'cachedReadTokens', 'cachedWriteTokens'].map(name => asAmount(usage[name]))
  return parts.every(part => part === null) ? null : parts.reduce<number>((sum, part) => sum + (part ?? 0), 0)
}
