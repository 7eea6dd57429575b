/** `Käufe prüfen!` → `kaufe-prufen`. What matches `others` becomes a hyphen. */
export function slugOf(title: string, others = /[^\p{L}\p{N}]+/gu): string {
  return title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(others, '-')
    .slice(0, 60)
    .replace(/^-+|-+$/gu, '')
}
