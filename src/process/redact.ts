import { secretForms } from './secret-forms.ts'
import { endOfKey, findTokens, restOfToken, tokenPatterns, unfinishedWord } from './token-patterns.ts'

export type Redactor = {
  /** Takes the next piece and gives what is safe to show of all pieces so far. */
  text(chunk: string): string
  /** The rest. */
  end(): string
}

const mark = '[redacted]'
/** How much of an unfinished word is kept back; every pattern is recognised within this length. */
const longestHeld = 2048
/** A key that never ends must not swallow the whole output. */
const longestKey = 32 * 1024

/**
 * Replaces secrets in a stream: known values in all their forms, and what looks like a token. What might be the
 * beginning of a secret is held back until the next piece decides, so that a secret cut in two is never shown.
 */
export function createRedactor(options: {
  values: readonly string[]
  patterns?: readonly RegExp[]
}): Redactor {
  const forms = secretForms(options.values)
  const patterns = new RegExp((options.patterns ?? tokenPatterns).map(one => one.source).join('|'), 'g')
  let held = ''
  /** Inside a token longer than a buffer: the rest of it is dropped as well. */
  let inToken = false
  /** Inside a private key: how much more of it is dropped at most. */
  let keyLeft = 0

  const take = (buffer: string, last: boolean): string => {
    let at = 0
    if (keyLeft > 0) {
      const end = endOfKey(buffer, 0)
      if (end < 0 && !last && buffer.length < keyLeft) return drop(buffer)
      keyLeft = 0
      at = end < 0 ? buffer.length : end
    } else if (inToken) {
      at = restOfToken(buffer)
      if (at === buffer.length && !last) return ''
      inToken = false
    }

    const safe = last
      ? buffer.length
      : Math.min(unfinishedWord(buffer, longestHeld), unfinishedForm(buffer, forms))
    let shown = ''
    for (const found of findSecrets(buffer, forms, patterns)) {
      if (found.end <= at) continue
      if (found.start >= at) {
        if (found.start >= safe) break
        shown += buffer.slice(at, found.start) + mark
      }
      at = found.end
      if (found.type === 'key') {
        at = endOfKey(buffer, found.end)
        if (at < 0) {
          keyLeft = longestKey
          return shown + drop(buffer.slice(found.end))
        }
      }
      if (found.type === 'token' && at === buffer.length && !last) inToken = true
    }
    if (at < safe) {
      shown += buffer.slice(at, safe)
      at = safe
    }
    held = buffer.slice(at)
    return shown
  }

  /** Only the last characters are kept, in which the end of the key may have begun. */
  const drop = (buffer: string): string => {
    held = buffer.slice(-64)
    keyLeft = Math.max(1, keyLeft - (buffer.length - held.length))
    return ''
  }

  const all = (chunk: string, last: boolean): string => {
    const buffer = held + chunk
    held = ''
    return buffer === '' ? '' : take(buffer, last)
  }
  return { text: chunk => all(chunk, false), end: () => all('', true) }
}

type Found = { start: number; end: number; type: 'value' | 'token' | 'key' }

function findSecrets(buffer: string, forms: readonly string[], patterns: RegExp): Found[] {
  const found: Found[] = findTokens(buffer, patterns)
  for (const form of forms) {
    for (let start = buffer.indexOf(form); start >= 0; start = buffer.indexOf(form, start + form.length)) {
      found.push({ start, end: start + form.length, type: 'value' })
    }
  }
  return found.length > 1 ? found.sort((a, b) => a.start - b.start) : found
}

/** Where a known secret begins whose rest has not come yet. */
function unfinishedForm(buffer: string, forms: readonly string[]): number {
  let first = buffer.length
  const lastCode = buffer.charCodeAt(buffer.length - 1)
  for (const form of forms) {
    for (let length = Math.min(form.length - 1, buffer.length); length > buffer.length - first; length--) {
      if (form.charCodeAt(length - 1) === lastCode && buffer.endsWith(form.slice(0, length)))
        first = buffer.length - length
    }
  }
  return first
}
