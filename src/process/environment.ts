/** The environment of an agent or a gate: what is named here or by the caller, nothing else. A name may end in `*`. */
export function allowedEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  extra: readonly string[] = [],
): Record<string, string> {
  const names = [...common, ...extra]
  const exact = new Set(names)
  const prefixes = names.filter(name => name.endsWith('*')).map(name => name.slice(0, -1))
  const allowed: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || neverPassed.has(name)) continue
    if (exact.has(name) || prefixes.some(prefix => name.startsWith(prefix))) allowed[name] = value
  }
  return allowed
}

/** Values of variables whose names say that they are secret; they are redacted wherever they are printed. */
export function secretValues(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined || value.length < 8 || !secretName.test(name)) return []
    // `…_CREDENTIALS` often names a file; its path is no secret.
    return value.startsWith('/') ? [] : [value]
  })
}

const secretName = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)/i

const common = [
  ...[
    'PATH',
    'HOME',
    'USER',
    'LOGNAME',
    'SHELL',
    'LANG',
    'LANGUAGE',
    'LC_*',
    'TERM',
    'TZ',
    'TMPDIR',
    'CI',
    'NO_COLOR',
  ],
  ...['XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME'],
  // The way to the network, where there is only one.
  ...[
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'ALL_PROXY',
    'NO_PROXY',
    'http_proxy',
    'https_proxy',
    'all_proxy',
    'no_proxy',
  ],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'],
  // Where tools live: a gate that is green in the user's terminal must not be red here for want of a path.
  ...[
    'JAVA_HOME',
    'ANDROID_HOME',
    'GOPATH',
    'GOROOT',
    'CARGO_HOME',
    'RUSTUP_HOME',
    'DOTNET_ROOT',
    'VIRTUAL_ENV',
  ],
  ...[
    'CONDA_PREFIX',
    'PYENV_ROOT',
    'NVM_DIR',
    'VOLTA_HOME',
    'PNPM_HOME',
    'BUN_INSTALL',
    'GEM_HOME',
    'RBENV_ROOT',
  ],
]

/** Code and options that ride along in a variable, or lead git elsewhere; not even when asked for. */
const neverPassed = new Set([
  ...[
    'NODE_OPTIONS',
    'NODE_V8_COVERAGE',
    'LD_PRELOAD',
    'LD_AUDIT',
    'DYLD_INSERT_LIBRARIES',
    'BASH_ENV',
    'ENV',
  ],
  ...['PYTHONSTARTUP', 'PERL5OPT', 'RUBYOPT', 'JAVA_TOOL_OPTIONS', 'PROMPT_COMMAND', 'SHELLOPTS', 'BASHOPTS'],
  ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY', 'GIT_CONFIG_PARAMETERS'],
])
