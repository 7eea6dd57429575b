import type { Call, Rule } from '../call.ts'
import { secret } from '../marks.ts'
import { isSecretName } from '../parameters.ts'
import { judgeRead } from '../reads.ts'
import { type Refusal, refuse } from '../verdict.ts'
import { subcommandRules } from './words.ts'

/** Programs that show, copy or pack what they read. */
const readers = new Set(
  'cat less more most bat batcat head tail sed awk gawk mawk nawk grep egrep fgrep rg ag ack cut sort uniq strings xxd od hexdump base64 base32 cp mv scp rsync dd tar zip 7z gzip openssl gpg vim vi view nano emacs ex ed diff cmp comm paste fold nl tac rev jq yq tee install ln split cksum column fmt pr xargs curl wget gh pbcopy xclip look join perl ruby php'.split(
    ' ',
  ),
)
const recursive = new Set('rg ag ack tar zip 7z rsync scp'.split(' '))
/** They take their arguments as text, or have rules of their own. */
const blind = new Set('echo printf test [ mkdir touch rm git true :'.split(' '))
/** They tell of a file, not what is in it: only what keys lie where is nobody's business. */
const lookers = new Set(
  'ls stat file which type command alias export basename dirname cd npm chmod'.split(' '),
)

/** Whatever program it is: the files it is given. */
export const readRule = {
  judge(call: Call): Refusal | null {
    const { program, scope } = call
    if (blind.has(program)) return null
    const isReader = readers.has(program)
    const isRecursive =
      recursive.has(program) || call.args.some(arg => /^-[a-zA-Z]*[rRa]|^--(?:recursive|archive)/u.test(arg))
    for (const text of readTexts(call)) {
      if (lookers.has(program) && !/\.ssh(?:\/|$)|environ$/u.test(text)) continue
      const refusal = judgeRead({ program, text, scope, isReader, isRecursive })
      if (refusal) return refusal
    }
    return null
  },
}

/** The arguments that may be files: no pattern of grep, no script of sed, no target of a copy. */
function readTexts({ program, args }: Call): readonly string[] {
  if (/^(?:grep|egrep|fgrep|rg|ag|ack|sed|awk|gawk|mawk|nawk|jq|yq)$/u.test(program)) {
    const isGiven = args.some(arg => /^-[a-zA-Z]*[ef]$|^--(?:regexp|expression|file)/u.test(arg))
    const first = args.findIndex(arg => !arg.startsWith('-'))
    return isGiven || first === -1 ? args : args.filter((_, index) => index !== first)
  }
  // Into .env one may write, as when .env.example is copied.
  if (/^(?:cp|mv|install|ln)$/u.test(program) && args.length > 1)
    return [...args.slice(0, -1), ...args.slice(-1).filter(arg => !/(?:^|\/)\.env[^/]*$/u.test(arg))]
  return program === 'tee' ? [] : args
}

const prints = refuse('env-dump', 'it would print the environment, which holds secrets')

export const secretRules: readonly Rule[] = [
  {
    programs: ['env'],
    judge: ({ args }) =>
      args.every(arg => /^-(?!S)|^\w+=/u.test(arg)) && !args.some(arg => /^--(?:help|version)/u.test(arg))
        ? prints
        : null,
  },
  {
    programs: ['printenv'],
    judge: ({ args }) => {
      const names = args.filter(arg => !arg.startsWith('-'))
      return names.length === 0 || names.some(isSecretName) ? prints : null
    },
  },
  { programs: ['set'], judge: ({ args }) => (args.length === 0 ? prints : null) },
  {
    programs: ['compgen'],
    judge: ({ args }) => (args.some(arg => /^-[a-z]*[ve]|variable|export/u.test(arg)) ? prints : null),
  },
  {
    programs: ['echo', 'printf', 'cat', 'tee', 'wall', 'write', 'logger', 'base64', 'xxd', 'rev'],
    judge: call =>
      [...call.args, call.scope.stdin ?? ''].some(text => text.includes(secret))
        ? refuse('env-dump', `${call.program} would print a secret of the environment`)
        : null,
  },
  {
    programs: ['jq', 'gojq', 'jaq'],
    judge: ({ args }) => {
      const isValue = (index: number) => /^--(?:arg|argjson|slurpfile|rawfile)$/u.test(args[index - 2] ?? '')
      const [filter = ''] = args.filter(
        (arg, index) => !arg.startsWith('-') && !isValue(index) && !isValue(index + 1),
      )
      const named = [...filter.matchAll(/(?:(?<![.\w])env|\$ENV)\s*\.\s*(\w+)/gu)].map(
        ([, variable = '']) => variable,
      )
      return /(?<![.\w$"])(?:env|\$ENV)\b(?!\s*\.\s*\w)/u.test(filter) || named.some(isSecretName)
        ? prints
        : null
    },
  },
  {
    programs: ['ps'],
    // The old form, without a dash.
    judge: ({ args: [first = ''] }) =>
      /^[a-z]*e[a-z]*$/u.test(first)
        ? refuse('env-dump', 'ps would print the environment of processes')
        : null,
  },
  ...subcommandRules([
    {
      category: 'credential-read',
      what: 'would print or change stored passwords or tokens',
      lines: [
        ...[
          'gh auth token|status|login|setup-git',
          'gcloud auth print-access-token|print-identity-token|login',
        ],
        ...[
          'gcloud secrets versions',
          'aws configure get|export-credentials',
          'aws secretsmanager get-secret-value',
        ],
        ...[
          'aws sts get-session-token',
          'aws ssm get-parameter|get-parameters',
          'az account get-access-token',
        ],
        ...[
          'az keyvault secret',
          'kubectl get|describe secret|secrets',
          'vault read|kv|login|token',
          'heroku config|auth:token',
        ],
        ...[
          'op read|item|get|signin',
          'pass show|ls|-c|git',
          'gopass show',
          'bw get|list|unlock|export',
          'lpass show|export',
        ],
        ...[
          'security find-generic-password|find-internet-password|dump-keychain|export',
          'secret-tool lookup|search',
        ],
        ...['keyring get', 'npm token list', 'doppler secrets', 'chamber read|export', 'sops -d|--decrypt'],
        ...[
          'keepassxc-cli show|export',
          'ssh-add -L|-l|-D|-d',
          'gpg --export-secret-keys',
          'gpg --export-secret-subkeys',
        ],
      ],
    },
  ]),
  {
    programs: ['npm', 'pnpm', 'yarn'],
    judge: ({ program, args }) =>
      /^(?:config|c|get)$/u.test(args[0] ?? '') && args.some(arg => /_auth|token|password/iu.test(arg))
        ? refuse('credential-read', `${program} would print a stored token`)
        : null,
  },
  {
    programs: ['pass'],
    judge: () => refuse('credential-read', 'pass would print a stored password'),
  },
]
