import { createHash } from 'node:crypto'

/**
 * Each event carries a hash over the one before it, its own text and the fold that was cached with it. Whoever
 * remembers the last hash can tell later that none of it was changed.
 */
export function link(previous: string, body: string, fold: string): string {
  return digest(`${previous}\n${fold}\n${body}`)
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
