const compiled = new Map<string, RegExp>()

/**
 * Globs as in `.gitignore`, without negation: `*` within a folder, `**` across folders, `?`, `{a,b}`, a trailing slash
 * for a whole folder. A pattern without a slash matches at any depth.
 */
export function matchesAny(path: string, patterns: readonly string[]): boolean {
  return patterns.some(pattern => matches(path, pattern))
}

export function matches(path: string, pattern: string): boolean {
  let expression = compiled.get(pattern)
  if (!expression) {
    expression = toExpression(pattern)
    compiled.set(pattern, expression)
  }
  return expression.test(path)
}

function toExpression(pattern: string): RegExp {
  const anchored = pattern.replace(/^(?:\.?\/)+/u, '')
  const folder = anchored.endsWith('/')
  const body = translate(folder ? anchored.replace(/\/+$/u, '') : anchored)
  const anywhere = pattern.replace(/\/+$/u, '').includes('/') ? '' : '(?:.*/)?'
  // A file name may hold a newline, and must not slip through because of it.
  return new RegExp(`^${anywhere}${body}${folder ? '/.*' : '(?:/.*)?'}$`, 'su')
}

function translate(glob: string): string {
  return glob
    .split(/((?:\*\*\/)+|\*{2,}|\*|\?|\{[^{}]*\})/u)
    .map(part => {
      if (part.startsWith('**/')) return '(?:.*/)?'
      if (part.startsWith('**')) return '.*'
      if (part === '*') return '[^/]*'
      if (part === '?') return '[^/]'
      if (part.startsWith('{') && part.endsWith('}'))
        return `(?:${part.slice(1, -1).split(',').map(translate).join('|')})`
      return part.replace(/[.+^$()|[\]\\{}*?]/gu, '\\$&')
    })
    .join('')
}
