import type { Call, Rule } from '../call.ts'
import { isPlain, isUnknown, net, secret, show } from '../marks.ts'
import { has, parseOptions, valuesOf } from '../options.ts'
import { placesOf } from '../paths.ts'
import { judgeRead } from '../reads.ts'
import { remember } from '../scope.ts'
import { type Refusal, refuse } from '../verdict.ts'
import { judgeWrite } from '../writes.ts'

/** What sends things to other machines, lets them in, or brings files from them. */
export const networkRules: readonly Rule[] = [
  { programs: ['curl'], judge: judgeCurl },
  { programs: ['wget'], judge: judgeWget },
  { programs: ['http', 'https', 'xh'], judge: judgeHttpie },
  { programs: ['scp', 'rsync', 'sftp'], judge: judgeCopy },
  { programs: ['ssh', 'autossh'], judge: judgeSsh },
  { programs: ['nc', 'ncat', 'netcat', 'socat', 'telnet'], judge: judgeSocket },
  {
    programs: ['dig', 'nslookup', 'host', 'ping', 'drill', 'traceroute'],
    judge: call =>
      call.args.some(arg => isUnknown(arg))
        ? refuse('exfiltration', `${call.program} would send unknown data to another machine inside a name`)
        : null,
  },
  {
    programs: [
      'ftp',
      'lftp',
      'tftp',
      'ncftpput',
      'rclone',
      'sendmail',
      'mail',
      'mailx',
      'mutt',
      'swaks',
      'croc',
      'wormhole',
      'transfer',
    ],
    judge: call => refuse('exfiltration', `${call.program} would send files to another machine`),
  },
  {
    programs: [
      'ngrok',
      'cloudflared',
      'localtunnel',
      'lt',
      'bore',
      'chisel',
      'frpc',
      'tailscale',
      'msfvenom',
      'pwncat',
    ],
    judge: call =>
      call.program === 'tailscale' && /^(?:status|ip|version)$/u.test(call.args[0] ?? '')
        ? null
        : refuse('reverse-shell', `${call.program} would open a way into this machine`),
  },
  {
    programs: ['openssl'],
    judge: call =>
      call.args[0] === 's_client' && (call.scope.stdin ?? '') !== ''
        ? refuse('exfiltration', 'openssl s_client would send its input to another machine')
        : null,
  },
  { programs: ['aws', 'gsutil', 'gcloud', 'az', 's3cmd', 'mc'], judge: judgeCloudCopy },
  {
    programs: ['gh'],
    judge: call =>
      call.args[0] === 'gist' && /^(?:create|edit)$/u.test(call.args[1] ?? '')
        ? refuse('exfiltration', 'gh gist would publish files')
        : null,
  },
]

/** Given to a program of this machine only. */
function isLocal(url: string): boolean {
  const host = /^(?:[a-z]+:\/\/)?(?:[^/@]*@)?(\[[^\]]+\]|[^/:?#]+)/iu.exec(url)?.[1] ?? ''
  return /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1\]|host\.docker\.internal)$/iu.test(
    host,
  )
}

const curlValued =
  '-d --data --data-raw --data-binary --data-ascii --data-urlencode --json -F --form --form-string -T --upload-file -o --output -H --header -X --request -u --user -A --user-agent -e --referer -b --cookie -c --cookie-jar -K --config -x --proxy --unix-socket -w --write-out -m --max-time --connect-timeout --retry --retry-delay --cacert --cert --key -r --range --resolve --url -D --dump-header --output-dir -E -y -Y -z -C -t -P -Q --limit-rate --url-query --oauth2-bearer'

function judgeCurl(call: Call): Refusal | null {
  const options = parseOptions(call.args, curlValued)
  const urls = [...options.words, ...valuesOf(options, '--url')]
  const data = valuesOf(
    options,
    '-d',
    '--data',
    '--data-raw',
    '--data-binary',
    '--data-ascii',
    '--data-urlencode',
    '--json',
    '-F',
    '--form',
    '-H',
    '--header',
    '-u',
    '--user',
    '-b',
    '--cookie',
    '--oauth2-bearer',
    '-A',
    '-e',
    '--url-query',
  )
  const files = valuesOf(options, '-T', '--upload-file')
  const isOut = options.values.has('--unix-socket') ? false : urls.length === 0 || !urls.every(isLocal)
  if (has(options, '-K', '--config') && options.values.has('-K'))
    return refuse('obfuscation', 'curl would take its orders from a file')
  const refusal = sends(call, { texts: [...data, ...urls], files, isOut })
  if (refusal) return refusal
  const outputs = valuesOf(options, '-o', '--output', '-D', '--dump-header', '-c', '--cookie-jar')
  const named = has(options, '-O', '--remote-name') ? urls.map(fileOf) : []
  return saves(
    call,
    [...outputs.filter(text => text !== '-'), ...named],
    valuesOf(options, '--output-dir')[0],
  )
}

function judgeWget(call: Call): Refusal | null {
  const options = parseOptions(
    call.args,
    '-O --output-document -P --directory-prefix -o --output-file -a --post-data --post-file --body-data --body-file --header -U --user-agent -e --execute -i --input-file -t -T -Q -l --method --user --password',
  )
  const isOut = !options.words.every(isLocal) || options.words.length === 0
  const files = valuesOf(options, '--post-file', '--body-file')
  const texts = [...valuesOf(options, '--post-data', '--body-data', '--header'), ...options.words]
  if (
    valuesOf(options, '-e', '--execute').some(text => /use_askpass|proxy/u.test(text)) ||
    has(options, '--use-askpass')
  )
    return refuse('obfuscation', 'wget would start another program')
  const refusal = sends(call, { texts, files, isOut })
  if (refusal) return refusal
  const outputs = valuesOf(options, '-O', '--output-document')
  const targets = outputs.length > 0 ? outputs.filter(text => text !== '-') : options.words.map(fileOf)
  return saves(call, targets, valuesOf(options, '-P', '--directory-prefix')[0])
}

function judgeHttpie(call: Call): Refusal | null {
  const words = call.args.filter(arg => !arg.startsWith('-'))
  const isOut = !words.slice(0, 2).some(isLocal)
  return sends(call, {
    texts: words,
    files: words.filter(word => /@/u.test(word) && /^[\w-]*@/u.test(word)),
    isOut,
  })
}

type Sending = { texts: readonly string[]; files: readonly string[]; isOut: boolean }

/** Files, secrets and what nobody knows do not leave this machine. */
function sends(call: Call, { texts, files, isOut }: Sending): Refusal | null {
  const [file] = [
    ...files,
    ...texts.filter(text => /^@|=@|^[\w-]+@[^.]*$/u.test(text) && !/^[\w.+-]+@[\w-]+\.\w+$/u.test(text)),
  ]
  if (isOut && file)
    return refuse('exfiltration', `${call.program} would send ${show(file)} to another machine`)
  if (isOut && texts.some(text => text.includes(secret)))
    return refuse('exfiltration', `${call.program} would send a secret to another machine`)
  const data = texts.filter(text => !/^[a-z]+:\/\//iu.test(text))
  if (isOut && data.some(text => isUnknown(text) && !/^[\w-]+:/u.test(text)) && hasData(call))
    return refuse(
      'exfiltration',
      `${call.program} would send data to another machine that nobody can know before`,
    )
  for (const text of texts) {
    const refusal = /^file:/u.test(text)
      ? judgeRead({ program: call.program, text, scope: call.scope, isReader: true })
      : null
    if (refusal) return refusal
  }
  return null
}

function hasData(call: Call): boolean {
  return call.args.some(arg => /^-[a-zA-Z]*[dFT]$|^-[dFT].|^--(?:data|form|json|post|body|upload)/u.test(arg))
}

function fileOf(url: string): string {
  return (
    url
      .replace(/[?#].*$/u, '')
      .split('/')
      .at(-1) || 'index.html'
  )
}

/** What is fetched into a file is remembered, for it may be run a moment later. */
function saves(call: Call, targets: readonly string[], folder: string | undefined): Refusal | null {
  const { scope } = call
  for (const target of targets) {
    const text = folder === undefined ? target : `${folder}/${target}`
    const refusal = judgeWrite({ program: call.program, text, scope })
    if (refusal) return refusal
    for (const place of placesOf(text, scope.state.cwd, scope.session.context))
      remember(scope, place.path, net)
  }
  return null
}

function judgeCopy(call: Call): Refusal | null {
  const { words } = parseOptions(
    call.args,
    '-e --rsh -P -i -o -F -l -c -J -S --exclude --include -f --filter --files-from',
  )
  const target = words.at(-1) ?? ''
  if (call.program === 'sftp') return refuse('exfiltration', 'sftp would exchange files with another machine')
  const isRemote =
    /^(?:[\w.-]+@)?[\w.-]+::?|^(?:rsync|scp|ssh):\/\//u.test(target) && !/^\.{0,2}\//u.test(target)
  return isRemote && words.length > 1
    ? refuse('exfiltration', `${call.program} would copy files to ${show(target)}`)
    : null
}

function judgeSsh(call: Call): Refusal | null {
  const options = parseOptions(call.args, '-o -i -p -l -F -J -L -R -D -b -c -E -I -m -O -Q -S -w -W')
  if (has(options, '-R', '-D', '-w'))
    return refuse('reverse-shell', 'ssh would open a way from another machine into this one')
  if (has(options, '-V', '-Q', '-G')) return null
  if ((call.scope.stdin ?? '') !== '')
    return refuse('exfiltration', 'ssh would send its input to another machine')
  if (options.words.slice(1).some(isUnknown))
    return refuse('exfiltration', 'ssh would send data to another machine that nobody can know before')
  return null
}

function judgeSocket(call: Call): Refusal | null {
  const { program, args, scope } = call
  const text = args.join(' ')
  const starts =
    program === 'socat'
      ? /\b(?:EXEC|SYSTEM|SHELL):/iu.test(text)
      : args.some(arg => /^-[a-zA-Z]*[ec]$|^--(?:exec|sh-exec|lua-exec)|^-e/u.test(arg)) &&
        program !== 'telnet'
  if (starts) return refuse('reverse-shell', `${program} would connect a program with another machine`)
  if (
    args.some(arg => /^-[a-zA-Z]*z/u.test(arg)) ||
    args.some(isLocal) ||
    /localhost|127\.0\.0\.1|UNIX/u.test(text)
  )
    return null
  if (args.some(arg => /^-[a-zA-Z]*l/u.test(arg)) || /LISTEN:/u.test(text)) return null
  return scope.stdin === null
    ? null
    : refuse('exfiltration', `${program} would send its input to another machine`)
}

function judgeCloudCopy(call: Call): Refusal | null {
  const { program, args } = call
  const words = args.filter(arg => !arg.startsWith('-'))
  const verbs = /^(?:cp|mv|sync|put|rsync|mirror|upload|upload-batch)$/u
  if (!words.some(word => verbs.test(word))) return null
  const remote = /^(?:s3|gs|az|https?):\/\//u
  const isUpload =
    remote.test(words.at(-1) ?? '') || (program === 'az' && words.some(word => /^upload/u.test(word)))
  const from = words.at(-2) ?? ''
  if (!isUpload || (remote.test(from) && isPlain(from))) return null
  return refuse('exfiltration', `${program} would upload files`)
}
