/** All texts of a request, however deep. */
export function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsOf) : []
}

export function textOf(body: unknown): string {
  return stringsOf(body).join('\n')
}
