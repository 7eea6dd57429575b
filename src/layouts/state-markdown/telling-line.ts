import type { Failure } from '../../core/state.ts'
import { oneLine } from '../../core/text.ts'

const telling =
  /\b(?:\w*Error|\w*Exception|FAIL(?:ED|URE)?|expected|panicked|undefined|not found|cannot|missing)\b|✕|✗|×|^not ok/iu

/** The line of an output that says most about what went wrong; empty when none does. */
export function tellingLine({ detail, reason }: Pick<Failure, 'detail' | 'reason'>): string {
  const lines = detail.split('\n').filter(line => !line.startsWith('$ ') && !reason.includes(line.trim()))
  return oneLine((lines.find(line => telling.test(line)) ?? '').replace(/^[#>\s]+/u, ''), 300)
}
