import { errorText } from '../../core/errors.ts'
import { asAmount, asRecord, asText, parseRecord } from '../json.ts'
import { firstPart } from '../tail-text.ts'
import type { AcpError } from './line.ts'

/** `auth_required` of ACP. */
const authRequired = -32000

/** What a failed request says, in so far as agents say it in one of the usual ways. */
export function describeError(error: unknown, during: string): AcpError {
  const { code, data } = asRecord(error) ?? {}
  const details = asRecord(data)
  const inner = parseRecord(errorText(error))
  // The model's own answer is passed on as JSON by some.
  const said = asText(asRecord(inner?.error)?.message) || errorText(error)
  const more = asText(details?.details) || asText(details?.message) || asText(data)
  const message = more && !said.includes(more) ? `${said}: ${more}` : said
  const statuses = [code, details?.status, details?.statusCode, details?.code, asRecord(inner?.error)?.code]
  const status = statuses.map(asAmount).find(value => value !== null && value >= 400 && value < 600) ?? null
  return { during, message: firstPart(message, 2000), kind: code === authRequired ? 'auth' : 'other', status }
}
