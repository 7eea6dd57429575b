import { asText, type JsonRecord } from '../../src/agents/json.ts'
import { anthropic } from './anthropic.ts'
import { chat } from './chat.ts'
import type { Dialect } from './dialect.ts'
import { gemini, geminiList } from './gemini.ts'
import { responses } from './responses.ts'

export type Route =
  | { type: 'turn'; dialect: Dialect; model: string; stream: boolean }
  | { type: 'count'; field: 'input_tokens' | 'totalTokens' }
  | { type: 'models' }
  | { type: 'unknown' }

const byPath: [RegExp, Dialect][] = [
  [/\/messages$/u, anthropic],
  [/\/responses$/u, responses],
  [/\/chat\/completions$/u, chat],
]

/** What a request is for. The version in the path is not looked at: programs put it in, or leave it out, as they like. */
export function findRoute(method: string, address: string, body: JsonRecord): Route {
  const [path = '', query = ''] = address.split('?')
  if ((method === 'GET' || method === 'HEAD') && /\/models(?:\/[^/:]+)?$/u.test(path))
    return { type: 'models' }
  if (method !== 'POST') return { type: 'unknown' }
  if (path.endsWith('/messages/count_tokens')) return { type: 'count', field: 'input_tokens' }
  const [, model = '', verb = ''] = /\/models\/([^:/]+):(\w+)$/u.exec(path) ?? []
  switch (verb) {
    case 'countTokens':
      return { type: 'count', field: 'totalTokens' }
    case 'generateContent':
      return { type: 'turn', dialect: gemini, model, stream: false }
    case 'streamGenerateContent': {
      const stream = new URLSearchParams(query).get('alt') === 'sse'
      return { type: 'turn', dialect: stream ? gemini : geminiList, model, stream }
    }
  }
  const dialect = byPath.find(([pattern]) => pattern.test(path))?.[1]
  if (!dialect) return { type: 'unknown' }
  return { type: 'turn', dialect, model: asText(body.model), stream: body.stream === true }
}

const models = ['scripted-model']

export function modelList(path: string, isAnthropic: boolean): unknown {
  if (/\/v1(?:beta|alpha)\w*\//u.test(path)) {
    return {
      models: models.map(id => ({
        name: `models/${id}`,
        displayName: id,
        inputTokenLimit: 1_048_576,
        outputTokenLimit: 65_536,
        supportedGenerationMethods: ['generateContent', 'countTokens'],
      })),
    }
  }
  if (isAnthropic) {
    const data = models.map(id => ({
      type: 'model',
      id,
      display_name: id,
      created_at: '2026-01-01T00:00:00Z',
    }))
    return { data, has_more: false, first_id: models[0], last_id: models.at(-1) }
  }
  const data = models.map(id => ({ id, object: 'model', created: 0, owned_by: 'scripted' }))
  // Codex looks for `models` in the same answer.
  return { object: 'list', data, models: [] }
}
