/**
 * Whether a shell command can only read. Strict on purpose: what is not known to be harmless is refused, since a reviewer
 * can do without, and the engine looks afterwards whether anything was changed.
 */
export function onlyReads(command: string): boolean {
  // The one thing that everybody uses sed for in reading; its other commands can write.
  const printed = command.replace(/\bsed -n (['"]?)\d+(?:,(?:\d+|\$))?p\1(?=\s|$)/gu, 'sed-print')
  const bare = withoutQuotes(printed)
  if (bare === null || bare.trim() === '') return false
  // Redirections, substitutions, groups, background jobs: nothing of that is needed for reading.
  if (/[<>`$(){}\\!#\0]|(?<!&)&(?!&)/u.test(bare)) return false
  return bare.split(/&&|\|\||[;|\n]/u).every(isReader)
}

/** Quoted text as one harmless word; null when a quotation is left open or something in it would be expanded. */
function withoutQuotes(command: string): string | null {
  const bare = command.replace(/'[^']*'|"[^"$`\\!]*"/gu, 'quoted')
  return /['"]/u.test(bare) ? null : bare
}

const readers = new Set(
  'basename cat cd cmp cut diff dirname du echo egrep fgrep file find grep head id jq ls md5sum nl od printf pwd readlink realpath rg sed-print sha1sum sha256sum sort stat tail test tr true tree uname uniq wc which'.split(
    ' ',
  ),
)

const gitReaders = new Set(
  'blame cat-file describe diff grep log ls-files ls-tree merge-base rev-list rev-parse shortlog show status'.split(
    ' ',
  ),
)

/** Options of otherwise harmless programs that write or start something. */
const writes: Record<string, RegExp> = {
  diff: /^--output/u,
  find: /^-(?:delete|exec|execdir|ok|okdir|fprint|fprintf|fprint0|fls)$/u,
  rg: /^--(?:pre|hostname-bin)/u,
  sort: /^(?:-o|--output|--compress-program|-T)/u,
  git: /^(?:-c|--output|--ext-diff|--textconv|--open-files-in-pager|-O|--exec-path|--config-env)/u,
  tree: /^-o/u,
  uniq: /^[^-]/u,
  file: /^-(?:C|-compile)/u,
  'sed-print': /^-/u,
}

function isReader(part: string): boolean {
  const [program = '', ...args] = part.trim().split(/\s+/u)
  if (args.some(arg => writes[program]?.test(arg))) return false
  if (program === 'git') return gitReaders.has(args.find(arg => arg !== '--no-pager') ?? '')
  return readers.has(program)
}
