import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { absolute, isBelow } from './box-home.ts'

/** What a program needs to run besides the system: folders outside the project that are shown, and never written. */
export function toolPaths(options: {
  argv: readonly [string, ...string[]]
  cwd: string
  env: Readonly<Record<string, string>>
  home: string
}): string[] {
  const { argv, cwd, env, home } = options
  const path = (env.PATH ?? '').split(delimiter).filter(isAbsolute)
  const program = argv[0].includes('/') ? resolve(cwd, argv[0]) : findProgram(argv[0], path)
  return [
    ...path.flatMap(folder => toolchain(folder, home)),
    ...folderVariables.flatMap(name => variableFolder(env[name], name, home)),
    ...fileVariables.flatMap(name => env[name] ?? []),
    ...(program === null ? [] : programPaths(program)),
    ...scriptOf(argv),
    ...programPaths(process.execPath),
  ].filter(one => isAbsolute(one) && existsSync(one))
}

/** Places in a home, and some outside, that hold what gives access elsewhere; hidden wherever a shown folder holds them. */
export function secretPlaces(home: string, env: Readonly<Record<string, string | undefined>>): string[] {
  const inCargo = env.CARGO_HOME
    ? ['credentials', 'credentials.toml'].map(name => join(env.CARGO_HOME ?? '', name))
    : []
  return [...secrets.map(name => join(home, name)), ...inCargo]
}

/** Toolchains below a home: a folder that may be in the PATH, and what its programs need to run. */
const toolchains: Record<string, string[]> = {
  '.cargo': ['.cargo/bin', '.cargo/env', '.cargo/config.toml', '.cargo/config', '.rustup'],
  '.local/bin': [
    ...['.local/bin', '.local/lib', '.local/pipx', '.local/opt'],
    ...['mise', 'pnpm', 'uv', 'claude', 'pipx', 'fnm', 'rtx', 'cursor-agent', 'virtualenv', 'pypoetry'].map(
      name => `.local/share/${name}`,
    ),
  ],
  '.local/share/mise': ['.local/share/mise'],
  '.local/share/pnpm': ['.local/share/pnpm'],
  '.local/share/fnm': ['.local/share/fnm'],
  '.local/state/fnm_multishells': ['.local/state/fnm_multishells', '.local/share/fnm'],
  '.config/yarn/global': ['.config/yarn/global'],
  '.config/composer/vendor': ['.config/composer/vendor'],
  '.claude/local': ['.claude/local'],
  '.opencode/bin': ['.opencode/bin'],
  go: ['go/bin'],
  bin: ['bin'],
  ...Object.fromEntries(
    [
      ...[
        '.nvm',
        '.volta',
        '.bun',
        '.deno',
        '.fnm',
        '.n',
        '.nodenv',
        '.yarn/bin',
        '.npm-global',
        '.npm-packages',
      ],
      ...['.pyenv', '.rbenv', '.rvm', '.goenv', '.jenv', '.phpenv', '.plenv', '.asdf', '.sdkman', '.mise'],
      ...[
        '.dotnet',
        '.juliaup',
        '.ghcup',
        '.cabal/bin',
        '.opam',
        '.elan',
        '.pub-cache/bin',
        '.composer/vendor',
      ],
      ...['.nix-profile', '.local/state/nix', '.krew/bin', '.poetry', '.rye', '.pixi', '.proto', '.swiftly'],
      ...['miniconda3', 'anaconda3', 'miniforge3', 'mambaforge', '.conda', '.gem', '.linuxbrew'],
    ].map(name => [name, [name]]),
  ),
}

const secrets = [
  ...['.ssh', '.aws', '.azure', '.gnupg', '.kube', '.docker', '.netrc', '.npmrc', '.yarnrc.yml', '.pypirc'],
  ...['.git-credentials', '.password-store', '.vault-token', '.terraform.d', '.pgpass', '.my.cnf', '.boto'],
  ...[
    '.cargo/credentials',
    '.cargo/credentials.toml',
    '.gem/credentials',
    '.bundle/config',
    '.m2/settings.xml',
  ],
  ...[
    '.gradle/gradle.properties',
    '.ivy2/.credentials',
    '.sbt/credentials',
    '.nuget/NuGet',
    '.composer/auth.json',
  ],
  ...[
    'gh',
    'gcloud',
    'git/credentials',
    'op',
    'rclone',
    'composer/auth.json',
    'google-chrome',
    'chromium',
    'hub',
  ].map(name => `.config/${name}`),
  ...['keyrings', 'kwalletd', 'opencode/auth.json', 'uv/credentials'].map(name => `.local/share/${name}`),
  ...[
    '.mozilla',
    '.thunderbird',
    '.claude/.credentials.json',
    '.codex/auth.json',
    '.gemini/oauth_creds.json',
  ],
  ...['.bash_history', '.zsh_history', '.python_history', '.node_repl_history', '.conda/credentials'],
]

/** Variables that name the folder of a toolchain, as `environment.ts` lets them pass. */
const folderVariables = [
  ...['JAVA_HOME', 'ANDROID_HOME', 'GOROOT', 'RUSTUP_HOME', 'CARGO_HOME', 'DOTNET_ROOT', 'VIRTUAL_ENV'],
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

const fileVariables = [
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
]

/** A folder of the PATH that is not the system's, with what belongs to it. */
function toolchain(folder: string, home: string): string[] {
  if (isSystem(folder)) return []
  if (!isBelow(folder, home)) return [withPrefix(folder)]
  const within = relative(home, folder)
  const name = Object.keys(toolchains).find(one => within === one || within.startsWith(`${one}/`))
  if (name !== undefined) return (toolchains[name] ?? []).map(one => join(home, one))
  const whole = withPrefix(folder)
  return [isBelow(whole, home) ? whole : folder]
}

/** `X/bin` with `X/lib` beside it is an installation; its programs need the rest of it, as those of packages do. */
function withPrefix(folder: string): string {
  const above = dirname(folder)
  if (/\/node_modules\/\.bin$/.test(folder)) return above
  return /\/s?bin$/.test(folder) && above !== '/' && existsSync(join(above, 'lib')) ? above : folder
}

function variableFolder(value: string | undefined, name: string, home: string): string[] {
  if (!value || !isAbsolute(value) || isSystem(value)) return []
  const folder = absolute(value, home)
  // Not the home itself, and nothing that holds it.
  if (folder === home || isBelow(home, folder)) return []
  return name === 'CARGO_HOME' ? ['bin', 'config.toml', 'config'].map(one => join(folder, one)) : [folder]
}

/** `node cli.js`: the program is the script. */
function scriptOf([program, script]: readonly string[]): string[] {
  const known = /^(?:node|bun|deno|python[\d.]*|ruby|perl|(?:ba|da|z)?sh)$/.test(basename(program ?? ''))
  return known && script !== undefined && isAbsolute(script) ? programPaths(script) : []
}

/** The file behind all links with its package, and each link on the way. */
function programPaths(program: string): string[] {
  try {
    const real = realpathSync(program)
    if (isSystem(real) && isSystem(program)) return []
    return [program, real, packageOf(real) ?? real]
  } catch {
    return []
  }
}

/** `…/node_modules/<name>` with its dependencies beside it, or the folder that a package.json makes a package. */
function packageOf(file: string): string | null {
  const modules = /^(.*?\/node_modules)\//.exec(file)?.[1]
  if (modules !== undefined) return modules
  const above = [dirname(file), dirname(dirname(file)), dirname(dirname(dirname(file)))]
  return above.find(folder => folder !== '/' && isFile(join(folder, 'package.json'))) ?? prefixOf(file)
}

/** A Node that lies in a folder of its own needs that folder: npm is in there too. */
function prefixOf(file: string): string | null {
  const above = dirname(dirname(file))
  return /\/bin$/.test(dirname(file)) && existsSync(join(above, 'lib/node_modules')) ? above : null
}

function findProgram(name: string, path: readonly string[]): string | null {
  return path.map(folder => join(folder, name)).find(isFile) ?? null
}

/** Shown in every box. */
export function isSystem(path: string): boolean {
  return /^\/(?:usr|bin|sbin|lib|lib32|lib64|libx32|etc|opt)(?:\/|$)/.test(path)
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** What not everybody may read in a folder of the system: as root, a program would read it all the same. */
export function hiddenIn(folder: string, depth = 6): { files: string[]; folders: string[] } {
  const found = { files: [] as string[], folders: [] as string[] }
  const look = (path: string, left: number) => {
    for (const entry of entriesOf(path)) {
      const one = join(path, entry.name)
      if (entry.isSymbolicLink()) continue
      const everybody = modeOf(one)
      if (entry.isDirectory()) {
        if ((everybody & 0o5) !== 0o5) found.folders.push(one)
        else if (left > 0) look(one, left - 1)
      } else if ((everybody & 0o4) === 0) found.files.push(one)
    }
  }
  look(folder, depth)
  return found
}

function entriesOf(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch {
    return []
  }
}

function modeOf(path: string): number {
  try {
    return statSync(path).mode
  } catch {
    return 0
  }
}
