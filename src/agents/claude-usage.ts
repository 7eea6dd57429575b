import { type Usage, unknownUsage } from '../core/outcome.ts'
import { asAmount, asRecord, type JsonRecord } from './json.ts'

/**
 * Totals of the result event; assistant events carry only the usage at the start of a message and must not be summed.
 * Input is all that the model read, from the cache or not.
 */
export function usageOf(event: JsonRecord): Usage {
  const models = Object.values(asRecord(event.modelUsage) ?? {}).map(model => asRecord(model) ?? {})
  if (models.length === 0) return withoutModels(event)
  const sum = (name: string) => models.reduce((total, model) => total + (asAmount(model[name]) ?? 0), 0)
  return {
    // For a model without a price the CLI only guesses.
    costUsd: models.some(model => model.costBasis === 'unknown') ? null : asAmount(event.total_cost_usd),
    inputTokens: sum('inputTokens') + sum('cacheReadInputTokens') + sum('cacheCreationInputTokens'),
    outputTokens: sum('outputTokens'),
  }
}

/** A request that the server refused cost nothing; one that broke off may have cost something. */
function withoutModels(event: JsonRecord): Usage {
  if (event.is_error === true) {
    return asAmount(event.api_error_status) === null
      ? unknownUsage
      : { costUsd: 0, inputTokens: 0, outputTokens: 0 }
  }
  const usage = asRecord(event.usage) ?? {}
  const read = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'].map(name =>
    asAmount(usage[name]),
  )
  return {
    costUsd: asAmount(event.total_cost_usd),
    inputTokens: read.every(count => count === null)
      ? null
      : read.reduce<number>((total, count) => total + (count ?? 0), 0),
    outputTokens: asAmount(usage.output_tokens),
  }
}
