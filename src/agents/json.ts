/** Readers for JSON of unknown shape: what is not there or not of the right kind is simply absent. */
export type JsonRecord = Record<string, unknown>

export function parseRecord(line: string): JsonRecord | null {
  if (!line.trimStart().startsWith('{')) return null
  try {
    return asRecord(JSON.parse(line))
  } catch {
    // Agents print stray lines among their JSON, and long ones may be cut.
    return null
  }
}

export function asRecord(value: unknown): JsonRecord | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonRecord) : null
}

export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A count or a sum of money; null when it is not known. */
export function asAmount(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null
}
