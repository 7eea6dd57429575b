const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `90` (seconds), `500ms`, `30s`, `10m`, `1h30m`, `2d` → milliseconds; null when it is none of these. `0` and `off` switch a limit off. */
export function parseDuration(text: string | number): number | null {
  if (typeof text === 'number') return Number.isFinite(text) && text >= 0 ? Math.round(text * 1000) : null
  const clean = text.trim().toLowerCase()
  if (clean === 'off' || clean === 'none') return 0
  if (/^\d+(?:\.\d+)?$/u.test(clean)) return Math.round(Number(clean) * 1000)
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/u.test(clean)) return null
  let total = 0
  for (const [, count, unit] of clean.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/gu))
    total += Number(count) * (units[unit ?? ''] ?? 0)
  return Math.round(total)
}
