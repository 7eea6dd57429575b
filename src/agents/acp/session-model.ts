import type { ClientContext } from '@agentclientprotocol/sdk'
import { asList, asRecord, asText, type JsonRecord } from '../json.ts'

/** The model of a new session, as far as the agent tells. */
export function modelOf(session: JsonRecord): string | null {
  const option = modelOption(session)
  return asText(option?.currentValue) || asText(asRecord(session.models)?.currentModelId) || null
}

export type ModelChoice = { type: 'set' } | { type: 'unknown'; offered: string[] }

/** Chooses a model. Agents offer them as an option of the session, or in the older way with a method of its own. */
export async function chooseModel(
  agent: ClientContext,
  session: JsonRecord,
  model: string,
): Promise<ModelChoice> {
  const sessionId = asText(session.sessionId)
  const option = modelOption(session)
  const listed = option ? values(option) : ids(asRecord(session.models))
  if (!listed.includes(model)) return { type: 'unknown', offered: listed }
  if (option) {
    const configId = asText(option.id)
    await agent.request('session/set_config_option', { sessionId, configId, value: model })
  } else await agent.request<unknown>('session/set_model', { sessionId, modelId: model })
  return { type: 'set' }
}

function modelOption(session: JsonRecord): JsonRecord | null {
  const options = asList(session.configOptions).map(asRecord)
  return options.find(option => option?.category === 'model') ?? null
}

/** Options may be in groups. */
function values(option: JsonRecord): string[] {
  return asList(option.options)
    .map(asRecord)
    .flatMap(one => (Array.isArray(one?.options) ? one.options.map(asRecord) : [one]))
    .map(one => asText(one?.value))
}

function ids(models: JsonRecord | null): string[] {
  return asList(models?.availableModels).map(one => asText(asRecord(one)?.modelId))
}
