import { show } from './marks.ts'
import { globPattern, hasGlob, type Place, placesOf } from './paths.ts'
import type { Scope } from './scope.ts'
import { type Refusal, refuse } from './verdict.ts'

export type Read = {
  program: string
  text: string
  scope: Scope
  /** It shows or copies what it reads; a program that only uses a file of the project may do so. */
  isReader: boolean
  /** It reads folders as a whole. */
  isRecursive?: boolean
}

const keys = /\/\.(?:ssh|gnupg)(?:$|\/)/u

const credentials = new RegExp(
  [
    String.raw`\/\.(?:aws|kube|azure|password-store|mozilla)(?:$|\/)`,
    String.raw`\/\.(?:netrc|pgpass|my\.cnf|pypirc|git-credentials|vault-token|s3cfg|boto)$`,
    String.raw`\/\.config\/(?:gh|gcloud|op|hub|rclone|github-copilot|google-chrome|chromium|doctl|configstore)(?:$|\/)`,
    String.raw`\/\.docker\/config\.json$|\/\.(?:cargo|gem)\/credentials[^/]*$|\/\.terraform\.d\/credentials[^/]*$`,
    String.raw`\/\.claude\/\.credentials[^/]*$|\/\.codex\/auth\.json$|\/\.gemini\/(?:oauth_creds|google_accounts)[^/]*$`,
    String.raw`\/\.local\/share\/(?:keyrings|opencode\/auth\.json)(?:$|\/)|\/Library\/Keychains(?:$|\/)`,
    String.raw`\/\.(?:bash|zsh|sh|psql|mysql|python|node_repl|sqlite)_history$`,
    String.raw`^\/etc\/(?:shadow|gshadow|sudoers)|^\/etc\/ssl\/private`,
  ].join('|'),
  'iu',
)

const ofProject =
  /(?:^|\/)(?:\.env(?:\.(?!example|sample|template|dist|test|defaults?|schema|ci)[\w.-]+)?|\.envrc|credentials\.json|service-account[^/]*\.json)$/iu

const projectSamples = ['.env', '.env.local', '.env.production', '.envrc']

/** A file is read, copied or packed. */
export function judgeRead(read: Read): Refusal | null {
  const { state, session } = read.scope
  for (const candidate of candidates(read.text)) {
    for (const place of placesOf(candidate, state.cwd, session.context)) {
      const refusal = readAt(place, read)
      if (refusal) return refusal
    }
  }
  return null
}

function readAt(place: Place, { program, scope, isReader, isRecursive }: Read): Refusal | null {
  const { home } = scope.session.context
  const path = place.full
  const what = `${program} would read ${show(path)}`
  if (
    keys.test(path) ||
    matchesSample(path, [`${home}/.ssh`, `${home}/.ssh/id_rsa`, `${home}/.ssh/id_ed25519`])
  )
    return refuse('ssh-keys', `${what}, which holds keys`)
  if (/^\/proc\/[^/]+\/environ$/u.test(path)) return refuse('env-dump', `${what}, which is an environment`)
  const samples = [`${home}/.aws/credentials`, `${home}/.netrc`, `${home}/.git-credentials`, `${home}/.npmrc`]
  if (credentials.test(path) || path === `${home}/.npmrc` || matchesSample(path, samples))
    return refuse('credential-read', `${what}, which holds credentials`)
  if (!isReader) return null
  const inside = place.relative || path
  if (ofProject.test(inside) || matchesSample(inside, projectSamples))
    return refuse('credential-read', `${what}, which holds the secrets of the project`)
  const holders = ['/', '/home', '/root', '/Users', home, `${home}/.config`, `${home}/.local`]
  if (isRecursive && !place.uncertain && holders.includes(path))
    return refuse('credential-read', `${what} and all below it, where credentials lie`)
  return null
}

function matchesSample(path: string, samples: readonly string[]): boolean {
  if (!hasGlob(path)) return false
  const glob = globPattern(path)
  return samples.some(sample => glob.test(sample))
}

/** Paths hide behind `--file=`, `@` and in `host:path` or `from:to`. */
function candidates(text: string): string[] {
  // A sentence that speaks of a file is not that file.
  if (/\s/u.test(text) && !text.startsWith('/')) return []
  const found = [text]
  for (const mark of ['=', '@', ':']) {
    if (!text.includes(mark)) continue
    const parts = text.split(mark)
    // Enough for any real argument, and no more work for a made-up one.
    found.push(...parts.slice(0, 8))
  }
  const short = /^-[A-Za-z](.+)$/u.exec(text)?.[1]
  if (short) found.push(short)
  return found.filter(part => part !== '').map(part => part.replace(/^(?:file:\/\/|.*=@|@)/u, ''))
}
