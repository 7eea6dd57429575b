import type { Call } from './call.ts'
import { hole, net, secret, show } from './marks.ts'
import { parseOptions } from './options.ts'
import { decodeEscapes } from './outputs-text.ts'
import { isSecretName } from './parameters.ts'
import { judgeRead } from './reads.ts'
import { deeper, deny, type Scope, spend } from './scope.ts'
import { refuse } from './verdict.ts'
import { judgeDelete, judgeWrite } from './writes.ts'

/** Programs in other languages are not parsed: their text is searched for what is known to be dangerous. */
export function judgeCode(language: string, code: string, scope: Scope): void {
  spend(scope, 20 + code.length / 20)
  const part = `${language}: ${show(code)}`
  if (code.includes(net))
    deny(refuse('pipe-to-shell', `${language} would run what comes from the network`), part)
  if (code.includes(hole) || code.includes(secret))
    deny(refuse('obfuscation', `${language} would run code that nobody can know before`), part)
  for (const { pattern, category, what, languages } of patterns)
    if ((!languages || languages.test(language)) && pattern.every(one => one.test(code)))
      deny(refuse(category, `the ${language} code ${what}`), part)
  forbidEnvironment(language, code, part)
  judgePlaces(language, code, { scope, part })
  runCommands(language, code, { scope, part })
}

/** All of `pattern` must be there; each alone is cheap to find. */
type Pattern = { pattern: RegExp[]; category: Parameters<typeof refuse>[0]; what: string; languages?: RegExp }

const fetches =
  /(?:urlopen|requests?\.get|\bfetch\s*\(|https?\.get|LWP|Net::HTTP|\biwr\b|Invoke-WebRequest|DownloadString|open-uri|urllib|file_get_contents\s*\(\s*['"]https?)/u
const decodes =
  /(?:base64|b64decode|fromhex|unhexlify|atob\s*\(|pack\b|rot.?13|codecs\.decode|zlib|marshal|String\.fromCharCode|\bchr\s*\()/u
const evaluates =
  /(?:\beval\b|(?<![.\w])exec\s*\(|\bcompile\s*\(|new\s+Function|\bFunction\s*\(|vm\.run\w*|instance_eval|loadstring|\biex\b|Invoke-Expression|\bassert\s*\(\s*base64)/u

const patterns: readonly Pattern[] = [
  {
    pattern: [fetches, evaluates],
    category: 'pipe-to-shell',
    what: 'would run what it fetches from the network',
  },
  {
    pattern: [decodes, evaluates],
    category: 'obfuscation',
    what: 'would run text that it decodes first',
  },
  {
    pattern: [
      /(?<![.\w])(?:eval|exec)\s*\(\s*(?![\s"'`\d)])|\bgetattr\s*\(\s*(?:os|shutil|subprocess|builtins|__builtins__)|__import__\s*\(\s*(?![\s"'])|\[\s*['"](?:ev|exe|sys|unl|rmS|rm)['"]\s*\+|child_process['"]?\s*\]|['"]child['"]?\s*\+|process\.binding/u,
    ],
    category: 'obfuscation',
    what: 'would run something that cannot be judged',
    languages: /^(?:python|node|deno|bun|php|ruby)$/u,
  },
  {
    pattern: [
      /\bsocket\b|inet_aton|fsockopen|TCPSocket/iu,
      /dup2|\/bin\/(?:ba)?sh|subprocess|\bspawn|\bexec/u,
    ],
    category: 'reverse-shell',
    what: 'would give another machine a shell',
    languages: /^(?:python|perl|ruby|php|lua|tclsh)$/u,
  },
  {
    pattern: [
      /\bnet\.(?:connect|Socket|createConnection)|require\(\s*["'](?:node:)?net["']|Deno\.connect|Bun\.connect/u,
      /\bspawn|\bexec|\/bin\/(?:ba)?sh/u,
    ],
    category: 'reverse-shell',
    what: 'would give another machine a shell',
  },
  {
    pattern: [/\/inet\d?\/(?:tcp|udp)\//u],
    category: 'reverse-shell',
    what: 'would connect with another machine',
    languages: /^awk$/u,
  },
  {
    pattern: [/\bfork\s+while\b|(?:while|for\s*\(\s*;\s*;\s*\)|loop\s*(?:do|\{))[\s\S]{0,80}\bfork\b/iu],
    category: 'fork-bomb',
    what: 'would start itself without end',
  },
  {
    pattern: [
      /\bos\.kill(?:pg)?\s*\(\s*(?:-1|0|1\b|os\.getppid)|process\.kill\s*\(\s*(?:-1|0|1\b|process\.ppid)/u,
    ],
    category: 'kill',
    what: 'would end processes that are not its own',
  },
  {
    pattern: [/\bos\.(?:setuid|setgid|chroot)\s*\(|os\.chmod\s*\([^)]{0,200}0o?[67]777/u],
    category: 'privilege',
    what: 'would take other rights',
  },
  {
    pattern: [/\bsystem\s*\(\s*(?![\s"'])|\|\s*getline|print[^;}]{0,200}\|\s*"|\|&/u],
    category: 'obfuscation',
    what: 'would start programs that cannot be judged',
    languages: /^awk$/u,
  },
]

function forbidEnvironment(language: string, code: string, part: string): void {
  const whole =
    language === 'awk'
      ? /\bENVIRON\b(?!\s*\[\s*")/u
      : /(?<!\benv:\s{0,3}\{?\s{0,3}(?:\.\.\.)?)process\.env\b(?!\s*(?:\.\s*\w|\?\.|\[))|(?<!\benv=(?:dict\(|\{\s?\*\*)?)os\.environ\b(?!\s*(?:\[|\.get\b|\.setdefault\b|\.pop\b))|%ENV\b|keys\s+%?ENV|\bENV\.(?:each|to_h|inspect|to_a|map)|\bputs\s+ENV\b|\bgetenv\s*\(\s*\)|Deno\.env\.toObject|\$_ENV\b(?!\s*\[)|Bun\.env\b(?!\s*\.)/u
  const named = [
    ...code.matchAll(
      /(?:process\.env\.|environ(?:\.get\s*\(|\s*\[)\s*["']|getenv\s*\(\s*["']|\bENV(?:IRON)?\s*[[{]\s*["']?|process\.env\s*\[\s*["'`]|Deno\.env\.get\s*\(\s*["'])(\w+)/gu,
    ),
  ]
  if (whole.test(code) || named.some(([, variable = '']) => isSecretName(variable)))
    deny(refuse('env-dump', `the ${language} code would read secrets from the environment`), part)
}

type Where = { scope: Scope; part: string }

const deletes =
  /\b(?:rmtree|rm(?:dir)?Sync|unlinkSync|removedirs|rimraf(?:\.sync)?|removeSync|emptyDirSync|rm_rf|rm_r|remove_dir|(?:os|fs|fsp|promises|File|FileUtils|Dir|Deno|path)\.(?:remove|removeSync|rm|rmdir|unlink|delete|truncate|rmtree|rm_f)|unlink|truncateSync)\b\s*\(?\s*/gu
const writes =
  /\b(?:writeFile(?:Sync)?|appendFile(?:Sync)?|createWriteStream|copyFile(?:Sync)?|renameSync|symlinkSync|chmodSync|file_put_contents|write_text|File\.write|IO\.write|shutil\.(?:copy\w*|move)|os\.(?:rename|replace|symlink|chmod|chown))\s*\(\s*/gu
const opens = /\bopen\s*\(\s*(["'])((?:(?!\1).)*)\1\s*,\s*["'][wax+>]/gu
const literal = /^(?:(?:pathlib\.)?Path\s*\(\s*)?[rbu]?(["'`])((?:(?!\1)[^\\]|\\.)*)\1/u

/** Files that the code names in full are judged as those of a command; what it deletes must be named. */
function judgePlaces(language: string, code: string, { scope, part }: Where): void {
  for (const match of code.matchAll(deletes)) {
    const rest = code.slice(match.index + match[0].length)
    const text = literal.exec(rest)?.[2]
    // A word in a text or an import is no call.
    if (text === undefined && !match[0].includes('(') && language !== 'perl') continue
    if (text === undefined || /\$\{/u.test(text))
      deny(refuse('fs-destroy', `nobody can know what the ${language} code would delete`), part)
    const refusal = judgeDelete({ program: language, text, scope })
    if (refusal) deny(refusal, part)
  }
  for (const match of code.matchAll(writes)) {
    const found = [
      ...code.slice(match.index, match.index + 400).matchAll(/(["'`])((?:(?!\1)[^\\\n]|\\.)*)\1/gu),
    ]
    for (const [, , text = ''] of /copy|move|rename|replace|symlink/iu.test(match[0])
      ? found.slice(0, 2)
      : found.slice(0, 1)) {
      const refusal = judgeWrite({ program: language, text, scope })
      if (refusal) deny(refusal, part)
    }
  }
  for (const [, , text = ''] of code.matchAll(opens)) {
    const refusal = judgeWrite({ program: language, text, scope })
    if (refusal) deny(refusal, part)
  }
  let left = 200
  for (const [, , text = ''] of code.matchAll(/(["'`])((?:(?!\1)[^\\\n]|\\.)*)\1/gu)) {
    if (left-- === 0) break
    const refusal = /^[~/.\w-][^\s]*$/u.test(text)
      ? judgeRead({
          program: language,
          text: text.replace(/^~/u, scope.session.context.home),
          scope,
          isReader: true,
        })
      : null
    if (refusal) deny(refusal, part)
  }
}

const starts =
  /\b(?:os\.(?:system|popen|exec\w*|spawn\w*)|subprocess\.\w+|commands\.getoutput|pty\.spawn|(?:exec|execFile|spawn|fork)(?:Sync)?|execaSync|execa|shell_exec|passthru|proc_open|popen|system|Open3\.\w+|Kernel\.\w+|IO\.popen|os\.execute|io\.popen|Deno\.Command|Bun\.spawn(?:Sync)?|do shell script)\s*\(?\s*/gu

/** Commands the code starts: given as a text or as a list of texts they are judged, otherwise nobody can. */
function runCommands(language: string, code: string, { scope, part }: Where): void {
  const isJs = /^(?:node|deno|bun)$/u.test(language)
  const mayStart = !isJs || /child_process|execa|Deno\.Command|Bun\.spawn|zx|shelljs/u.test(code)
  for (const match of mayStart ? code.matchAll(starts) : []) {
    // Some languages call without brackets.
    const isCall = match[0].includes('(') || /^(?:perl|ruby|php|osascript)$/u.test(language)
    const before = code[match.index - 1] ?? ''
    // `/x/.exec(text)` is no program; `require("child_process").exec(…)` is one.
    if (
      !isCall ||
      (isJs &&
        before === '.' &&
        !/child_process['"]\s*\)\.$|cp\.$|process\.$/u.test(code.slice(0, match.index)))
    )
      continue
    const rest = code.slice(match.index + match[0].length, match.index + match[0].length + 4000)
    const command = commandIn(rest)
    if (command === null) {
      if (match[0].includes('(') || literalStart.test(rest))
        deny(refuse('obfuscation', `the ${language} code would start programs that cannot be judged`), part)
    } else scope.session.run.text(command, deeper(scope))
  }
  if (/^(?:perl|ruby|php)$/u.test(language))
    for (const [, command = ''] of code.matchAll(/`([^`]+)`|%x[({]([^)}]+)[)}]|\bqx[({/]([^)}/]+)/gu))
      scope.session.run.text(command, deeper(scope))
}

const literalStart = /^[$@\w]/u

function commandIn(rest: string): string | null {
  const list = /^\[([^\]]*)\]/u.exec(rest)?.[1]
  const first = literal.exec(rest)
  if (list === undefined && !first) return null
  if (list !== undefined) return wordsIn(list)
  const text = first?.[2] ?? ''
  if (/\$\{|#\{|^["']?\s*%/u.test(text)) return null
  // `spawn("rm", ["-rf", "/"])` and `system("rm", "-rf", "/")`
  const more = /^\s*,\s*(\[[^\]]*\]|(?:["'][^"']*["']\s*,?\s*)+)/u.exec(
    rest.slice(first?.[0].length ?? 0),
  )?.[1]
  return more ? `${text} ${wordsIn(more) ?? ''}` : decodeEscapes(text)
}

/** The texts of a list as words of a shell. */
function wordsIn(list: string): string | null {
  const words = [...list.matchAll(/(["'`])((?:(?!\1)[^\\]|\\.)*)\1/gu)].map(match =>
    decodeEscapes(match[2] ?? ''),
  )
  const other = list.replace(/(["'`])(?:(?!\1)[^\\]|\\.)*\1/gu, '').replace(/[\s,[\]]/gu, '')
  if (words.length === 0 || other !== '') return null
  return words.map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
}

export type Program = { codes: string[]; script: string | null; readsInput: boolean }

const codeOptions: Record<string, RegExp> = {
  python: /^-[a-zA-Z]*c$/u,
  node: /^(?:-[a-z]*[ep]+|--eval|--print)$/u,
  perl: /^-[a-zA-Z0-9]*[eE]$/u,
  ruby: /^-[a-zA-Z]*e$/u,
  php: /^-r$/u,
  deno: /^eval$/u,
  bun: /^(?:-e|--eval|-p|--print)$/u,
  lua: /^-e$/u,
  osascript: /^-e$/u,
  pwsh: /^-(?:c|command)$/iu,
  powershell: /^-(?:c|command)$/iu,
  julia: /^-[eE]$/u,
  r: /^-e$/u,
  rscript: /^-e$/u,
}

/** Where an interpreter finds its code: arguments, a file, or the input. */
export function codeOf({ program, args }: Call): Program {
  const option = codeOptions[program]
  const codes: string[] = []
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    const glued = /^(?:--eval|--print|-c|-e|-r)=?(.+)$/su.exec(arg)?.[1]
    if (option?.test(arg)) codes.push(args[++at] ?? '')
    else if (glued && arg.startsWith('--') && program === 'node') codes.push(glued)
    else if (glued && /^-[ce]/u.test(arg) && /^(?:python|perl|ruby)$/u.test(program)) codes.push(glued)
    else if (!arg.startsWith('-') && codes.length === 0) break
  }
  if (codes.length > 0) return { codes, script: null, readsInput: false }
  const { words, flags } = parseOptions(
    args,
    '-m -W -X -r --require --import --loader -I -M --env-file --conditions',
  )
  if (
    flags.some(flag => /^-m$|^--(?:test|check|version|help|watch)$|^-[chV]$/u.test(flag)) ||
    flags.includes('-m')
  )
    return { codes, script: null, readsInput: false }
  const isSub = /^(?:deno|bun)$/u.test(program) && words[0] === 'run'
  const script = (isSub ? words[1] : words[0]) ?? null
  return { codes, script: script === '-' ? null : script, readsInput: script === null || script === '-' }
}
