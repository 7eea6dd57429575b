import type { Usage } from '../../core/outcome.ts'
import { asAmount, parseRecord } from '../json.ts'

/** A line on stdout that reports tokens and cost: `@ralph-usage {"costUsd":0.01,"inputTokens":10,"outputTokens":2}`. The last one counts. */
export const usagePrefix = '@ralph-usage '

/** What is not named in the line is unknown. */
export function readUsageLine(line: string): Usage | null {
  const told = line.startsWith(usagePrefix) ? parseRecord(line.slice(usagePrefix.length)) : null
  if (!told) return null
  return {
    costUsd: asAmount(told.costUsd),
    inputTokens: asAmount(told.inputTokens),
    outputTokens: asAmount(told.outputTokens),
  }
}
