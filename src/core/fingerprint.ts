import { createHash } from 'node:crypto'

/**
 * Eight hex digits that are equal for two outputs that differ only in times, durations, addresses, ids, temporary
 * paths and line numbers, so that "the same error again" can be seen.
 */
export function fingerprint(output: string): string {
  return createHash('sha256').update(normalise(output)).digest('hex').slice(0, 8)
}

export function normalise(output: string): string {
  return rules
    .reduce((text, [pattern, by]) => text.replace(pattern, by), output)
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .join('\n')
}

/** What changes from one run to the next without meaning anything. The order matters: the longer shapes come first. */
const rules: readonly (readonly [RegExp, string])[] = [
  // Colours and cursor movements.
  [/\u001b\[[0-?]*[ -/]*[@-~]/gu, ''],
  [/\r/gu, ''],
  // Moments.
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/gu, '<time>'],
  [/\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?:\s?[AP]M)?/giu, '<time>'],
  [/\b\d{1,2}:\d\d[.,]\d+\b/gu, '<time>'],
  [/\b[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} .{0,20}\d{4}\b/gu, '<time>'],
  [/\b1\d{9}(?:\.\d+)?\b/gu, '<time>'],
  // Addresses, ids, temporary folders.
  [/\b0x[0-9a-f]+\b/giu, '<address>'],
  [/(?<=[\w$])@[0-9a-f]{5,8}\b/giu, '<address>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/giu, '<id>'],
  [/\b[0-9a-f]{12,64}\b/giu, '<id>'],
  [/(?:\/private)?\/(?:tmp|var\/tmp|var\/folders)\/[^\s:'")\]]+/gu, '<temp>'],
  // Durations, speeds, sizes of memory.
  [/\b\d+(?:\.\d+)?\s?(?:ms|µs|us|ns|s|secs?|seconds?|m|min|minutes?)\b/gu, '<duration>'],
  [/\b(?:duration_ms|duration|time|elapsed)[ :=]+[\d.]+/giu, '<duration>'],
  [/\b[\d.]+ (?:[a-z]+\/s\b|[KMG]i?B\b)/gu, '<amount>'],
  // Processes, ports, seeds.
  [/\b(?:pid|port|seed)[ :=]+\d+/giu, '<number>'],
  [/\((?:node:)?\d+\)(?= (?:panicked|\w*Warning))/gu, '<number>'],
  [/\b(localhost|127\.0\.0\.1|0\.0\.0\.0):\d+/gu, '$1:<number>'],
  // Places in files: an edit above moves them.
  [/:\d+(?::\d+)?(?=[\s,:)\]]|$)/gmu, ':<line>'],
  [/\(\d+,\d+\)(?=:)/gu, ':<line>'],
  [/\bline \d+/giu, 'line <line>'],
  [/^([ \t>]*)\d+(?=[ \t]*\|)/gmu, '$1<line>'],
  // Rulers are drawn as long as the words between them leave room.
  [/([=\-_─━═⎯*.])\1+/gu, '$1'],
  [/[^\S\n]+/gu, ' '],
]
