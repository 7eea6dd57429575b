/** Readers for the values in a script. What is wrong is thrown in words; the script's reader adds the place. */

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function word(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  throw new Error(`expected a text, found ${JSON.stringify(value)}`)
}

export function words(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(word)
}

export function text(value: unknown, key: string, fallback?: string): string {
  if (!isRecord(value)) throw new Error(`expected a map with '${key}', found ${JSON.stringify(value)}`)
  const given = value[key]
  if (given === undefined && fallback !== undefined) return fallback
  if (given === undefined) throw new Error(`'${key}' is missing`)
  return word(given)
}

export function amount(value: unknown): number {
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof given !== 'number' || !Number.isFinite(given) || given < 0)
    throw new Error(`expected a number, found ${JSON.stringify(value)}`)
  return given
}

export function number(value: Record<string, unknown>, key: string, fallback?: number): number {
  const given = value[key]
  return given === undefined && fallback !== undefined ? fallback : amount(given)
}

export function numbers(value: unknown, keys: readonly string[]): Record<string, number> {
  if (!isRecord(value)) throw new Error(`expected a map of ${keys.join(', ')}`)
  return Object.fromEntries(Object.entries(value).map(([key, given]) => [oneOf(key, keys), amount(given)]))
}

export function oneOf<T extends string>(value: string, known: readonly T[]): T {
  const found = known.find(one => one === value)
  if (found === undefined) throw new Error(`'${value}' is not one of ${known.join(', ')}`)
  return found
}

export function pass(value: string): boolean {
  return oneOf(value, ['pass', 'fail']) === 'pass'
}

export function hex(value: string): string {
  const digits = value.replace(/\s+/gu, '')
  if (!/^(?:[0-9a-f]{2})+$/iu.test(digits)) throw new Error(`expected pairs of hex digits, found '${value}'`)
  return digits
}

export function forEver(value: unknown): number | null {
  return value === undefined || value === true || value === 'forever' ? null : amount(value)
}

export function program(
  value: unknown,
  split: (line: string) => string[],
): { argv: string[]; show: boolean; mayFail: boolean } {
  const given = isRecord(value) ? value : { command: value }
  const argv = Array.isArray(given.command) ? given.command.map(word) : split(text(given, 'command'))
  if (argv.length === 0) throw new Error(`'command' is empty`)
  return { argv, show: given.show === true, mayFail: given.mayFail === true }
}
