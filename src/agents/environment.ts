/** Variables of the engine's environment by name, or by a prefix that ends in `*`. What is not set is left out. */
export function pick(
  env: Record<string, string | undefined>,
  names: readonly string[],
): Record<string, string> {
  const prefixes = names.filter(name => name.endsWith('*')).map(name => name.slice(0, -1))
  const exact = new Set(names)
  const picked: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (exact.has(name) || prefixes.some(prefix => name.startsWith(prefix))))
      picked[name] = value
  }
  return picked
}

/** What a program needs to be started for a look at its version; no secrets. */
export function probeEnvironment(env: Record<string, string | undefined>): Record<string, string> {
  return pick(env, ['PATH', 'HOME', 'USER', 'TMPDIR', 'LANG', 'SHELL', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME'])
}
