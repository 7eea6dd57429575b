import type { Call, Rule } from '../call.ts'
import { show } from '../marks.ts'
import { has, type Options, parseOptions, valuesOf } from '../options.ts'
import { judgeRead } from '../reads.ts'
import { deeper } from '../scope.ts'
import { type Refusal, refuse } from '../verdict.ts'
import { judgeDelete } from '../writes.ts'

/** git: what rewrites history, throws work away, or makes git run something else. */
export const gitRules: readonly Rule[] = [
  { programs: ['git'], judge: judgeGit },
  {
    programs: ['git-filter-repo', 'git-filter-branch', 'bfg'],
    judge: call => refuse('git-history', `${call.program} would rewrite the whole history`),
  },
  {
    programs: [
      'git-credential-store',
      'git-credential-cache',
      'git-credential-manager',
      'git-credential-osxkeychain',
    ],
    judge: () => refuse('credential-read', 'git would print a stored password'),
  },
]

type Git = { call: Call; sub: string; args: readonly string[]; options: Options }
type Judge = (git: Git) => Refusal | null

function judgeGit(call: Call): Refusal | null {
  let at = 0
  const settings: string[] = []
  for (; at < call.args.length; at++) {
    const arg = call.args[at] ?? ''
    if (!arg.startsWith('-')) break
    if (arg === '-c' || arg === '--config-env') settings.push(call.args[++at] ?? '')
    else if (/^-c./u.test(arg)) settings.push(arg.slice(2))
    else if (/^--config-env=/u.test(arg)) settings.push(arg.slice(13))
    else if (/^(?:-C|--git-dir|--work-tree|--namespace|--super-prefix|--attr-source)$/u.test(arg)) at++
    else if (/^--exec-path=/u.test(arg))
      return refuse('guard-tamper', 'git would take its programs from elsewhere')
  }
  for (const setting of settings) {
    const equals = setting.indexOf('=')
    const refusal = judgeSetting(
      setting.slice(0, equals === -1 ? undefined : equals),
      setting.slice(equals + 1),
      call,
    )
    if (refusal) return refusal
  }
  const sub = call.args[at] ?? ''
  const args = call.args.slice(at + 1)
  if (args.some(arg => arg === '--help' || arg === '-h')) return null
  const alias = call.scope.session.gitAliases.get(sub)
  if (alias !== undefined) runAlias(alias, args, call)
  const git: Git = { call, sub, args, options: parseOptions(args, valuedOptions[sub] ?? '') }
  const judge = Object.hasOwn(subcommands, sub) ? subcommands[sub] : undefined
  return judge ? judge(git) : readsSecrets(git)
}

const valuedOptions: Record<string, string> = {
  push: '-o --push-option --repo --receive-pack --exec',
  checkout: '-b -B --orphan --conflict',
  switch: '-c -C --orphan',
  restore: '-s --source',
  commit: '-m -F -C -c -t --message --file --author --date --fixup --squash --trailer --template',
  rebase: '--onto -x --exec -s -X --strategy',
  clone: '-b --branch -o --origin --depth -u --upload-pack -c --config --template -j',
  tag: '-m -F -u --message --file --sort --format',
  config: '-f --file --type --default',
  branch: '-u --set-upstream-to --sort --format --contains --merged',
  stash: '-m --message',
  fetch: '--upload-pack -j --depth',
  'ls-remote': '--upload-pack --exec',
  clean: '-e --exclude',
}

const history = (what: string) => refuse('git-history', what)
const never =
  (what: string): Judge =>
  () =>
    history(what)

const subcommands: Record<string, Judge> = {
  push: judgePush,
  reset: ({ options }) =>
    has(options, '--hard', '--merge', '--keep')
      ? history('git reset would throw away uncommitted work')
      : null,
  checkout: judgeCheckout,
  switch: ({ options }) =>
    has(options, '-f', '--force', '--discard-changes')
      ? history('git switch would throw away uncommitted work')
      : null,
  restore: ({ options }) =>
    has(options, '-S', '--staged') && !has(options, '-W', '--worktree')
      ? null
      : history('git restore would throw away uncommitted work'),
  clean: ({ options }) =>
    has(options, '-n', '--dry-run') || !has(options, '-f', '--force')
      ? null
      : history('git clean would delete files that git does not know'),
  stash: ({ options }) =>
    /^(?:drop|clear)$/u.test(options.words[0] ?? '')
      ? history('git stash would throw away stashed work')
      : null,
  branch: ({ options }) =>
    has(options, '-D', '-f', '--force')
      ? history('git branch would throw away commits that are nowhere else')
      : null,
  tag: ({ options }) =>
    has(options, '-d', '--delete', '-f', '--force') ? history('git tag would remove or move a tag') : null,
  rebase: judgeRebase,
  'filter-branch': never('git filter-branch would rewrite the whole history'),
  'filter-repo': never('git filter-repo would rewrite the whole history'),
  'update-ref': never('git update-ref would move a branch without a trace'),
  'symbolic-ref': ({ options }) =>
    options.words.length > 1 || has(options, '-d', '--delete')
      ? history('git symbolic-ref would move HEAD')
      : null,
  reflog: ({ options }) =>
    /^(?:expire|delete)$/u.test(options.words[0] ?? '')
      ? history('git reflog would forget where branches were')
      : null,
  gc: ({ args }) =>
    args.some(arg => /^--prune/u.test(arg)) ? history('git gc would delete what no branch holds') : null,
  prune: never('git prune would delete what no branch holds'),
  replace: never('git replace would change what commits hold'),
  'read-tree': ({ options }) =>
    has(options, '-u', '--reset') ? history('git read-tree would throw away uncommitted work') : null,
  'checkout-index': ({ options }) =>
    has(options, '-f', '--force') ? history('git checkout-index would throw away uncommitted work') : null,
  worktree: ({ options }) =>
    options.words[0] === 'remove' && has(options, '-f', '--force')
      ? history('git worktree would throw away the work in that folder')
      : null,
  rm: git => {
    if (has(git.options, '--cached', '-n', '--dry-run')) return null
    for (const text of git.options.words) {
      const refusal = judgeDelete({ program: 'git rm', text, scope: git.call.scope })
      if (refusal) return refusal
    }
    return null
  },
  commit: git =>
    has(git.options, '-n', '--no-verify')
      ? history('git commit would go around the hooks of the project')
      : readsSecrets(git),
  config: judgeConfig,
  remote: ({ options, call }) => {
    const [action, name, url] = options.words
    if (/^(?:add|set-url)$/u.test(action ?? '') && name) call.scope.session.remotes.add(name)
    return /^(?:add|set-url)$/u.test(action ?? '') && url?.startsWith('ext::') ? outsider(url) : null
  },
  clone: ({ options }) => judgeTransport(options),
  fetch: ({ options }) => judgeTransport(options),
  pull: ({ options }) => judgeTransport(options),
  'ls-remote': ({ options }) => judgeTransport(options),
  archive: ({ options }) => judgeTransport(options),
  submodule: ({ options, call }) => {
    if (options.words[0] === 'foreach') run(options.words.slice(1).join(' '), call)
    return null
  },
  bisect: ({ args, call }) => {
    if (args[0] === 'run') call.scope.session.run.call(args.slice(1), deeper(call.scope))
    return null
  },
  difftool: ({ args, call }) => {
    for (const code of valuesOf(parseOptions(args, '-x --extcmd'), '-x', '--extcmd')) run(code, call)
    return null
  },
  credential: () => refuse('credential-read', 'git credential would print a stored password'),
  'credential-store': () => refuse('credential-read', 'git credential-store would print a stored password'),
  'credential-cache': () => refuse('credential-read', 'git credential-cache would print a stored password'),
}

function judgePush({ options, call }: Git): Refusal | null {
  const force = (what: string) => refuse('git-force-push', what)
  if (has(options, '-n', '--dry-run')) return null
  if (has(options, '-f', '--force', '--force-with-lease', '--force-if-includes', '--mirror', '--prune'))
    return force('git push would overwrite what lies on the remote')
  if (has(options, '-d', '--delete')) return force('git push would delete a branch on the remote')
  if (has(options, '--no-verify')) return history('git push would go around the hooks of the project')
  if (has(options, '--receive-pack', '--exec')) return outsider('another program')
  const [remote = '', ...refs] = options.words
  const bad = refs.find(ref => /^\+|^:/u.test(ref))
  if (bad) return force(`git push ${show(bad)} would overwrite or delete a branch on the remote`)
  if (/^ext::/u.test(remote)) return outsider(remote)
  if (call.scope.session.remotes.has(remote) || /^[a-z+]+:\/\/|^[^/]+@[^/]+:/u.test(remote))
    return refuse(
      'exfiltration',
      `git push would send the repository to ${show(remote)}, which is no remote of the project`,
    )
  return null
}

function judgeCheckout({ options, args }: Git): Refusal | null {
  const lost = history('git checkout would throw away uncommitted work')
  if (has(options, '-f', '--force', '--ours', '--theirs', '-p', '--patch')) return lost
  const end = args.indexOf('--')
  if (end !== -1 && end < args.length - 1) return lost
  if (has(options, '-b', '-B', '--orphan', '-t', '--track', '--detach')) return null
  const isPath = (word: string) =>
    /^\.{1,2}(?:\/|$)|^:|^\/|[\uE001\uE002]|\/$|^\.[a-z]|\.(?:[cm]?[jt]sx?|json|md|ya?ml|py|rs|go|java|rb|php|css|html|sh|toml|lock|txt|c|h|cpp|vue|svelte|sql|snap)$/u.test(
      word,
    )
  return options.words.some(isPath) || options.words.length > 1 ? lost : null
}

function judgeRebase({ options, call }: Git): Refusal | null {
  if (has(options, '--root')) return history('git rebase --root would rewrite the whole history')
  for (const code of valuesOf(options, '-x', '--exec')) run(code, call)
  return null
}

function judgeTransport(options: Options): Refusal | null {
  if (
    has(options, '-u', '--upload-pack', '--exec') &&
    [...options.values.keys()].some(key => /^-u|^--upl|^--exec/u.test(key))
  )
    return outsider('another program')
  for (const [key, values] of options.values)
    if (/^(?:-c|--config)$/u.test(key) && values.some(value => isDangerous(value.split('=')[0] ?? '')))
      return outsider('a setting')
  const url = options.words.find(word => /^ext::/u.test(word))
  return url ? outsider(url) : null
}

function outsider(what: string): Refusal {
  return refuse('obfuscation', `git would start ${show(what)} to talk with a remote`)
}

function judgeConfig({ options, args, call }: Git): Refusal | null {
  const reads = /^--(?:get|list|get-all|get-regexp|get-urlmatch|show-origin|name-only)$|^-l$/u
  const words = /^(?:get|list|set|unset|edit)$/u.test(options.words[0] ?? '')
    ? options.words.slice(1)
    : options.words
  const [key = '', value] = words
  const isRead = args.some(arg => reads.test(arg)) || /^(?:get|list)$/u.test(options.words[0] ?? '')
  if (
    isRead ||
    (value === undefined && !has(options, '--unset', '--unset-all', '-e', '--edit', '--remove-section'))
  )
    return null
  if (has(options, '--global', '--system'))
    return refuse('persistence', `git config would change ${show(key)} for every repository`)
  const refusal = judgeSetting(key, value ?? '', call)
  if (refusal) return refusal
  if (/^alias\./iu.test(key)) call.scope.session.gitAliases.set(key.slice(6), value ?? '')
  return null
}

function isDangerous(key: string): boolean {
  return /^(?:core\.(?:hookspath|fsmonitor|sshcommand|gitproxy|askpass|worktree|attributesfile)|credential\..*|credential|diff\..*(?:external|command|textconv)|diff\.external|filter\..*|merge\..*driver|include\.path|includeif\..*|url\..*|gpg\.(?:.*\.)?program|protocol\..*|remote\..*\.(?:url|pushurl|uploadpack|receivepack|proxy)|uploadpack\..*|receive\..*|init\.templatedir|interactive\.difffilter|sendemail\..*|http\.(?:.*\.)?(?:proxy|sslverify|extraheader|cookiefile))$/iu.test(
    key,
  )
}

/** Settings by which git would start something or send things elsewhere; an alias or editor is judged as the command it is. */
function judgeSetting(key: string, value: string, call: Call): Refusal | null {
  if (isDangerous(key)) {
    if (/^core\.(?:fsmonitor|hookspath)$/iu.test(key) && /^(?:false|0|)$/u.test(value)) return null
    return refuse('persistence', `${show(key)} would make git start something or send things elsewhere`)
  }
  if (/^alias\./iu.test(key)) {
    call.scope.session.gitAliases.set(key.slice(6), value)
    if (value.startsWith('!')) run(value.slice(1), call)
  }
  if (/^(?:core\.(?:editor|pager)|sequence\.editor|pager\..*)$/iu.test(key) && value !== '') run(value, call)
  return null
}

function runAlias(alias: string, args: readonly string[], call: Call): void {
  if (alias.startsWith('!')) run(`${alias.slice(1)} ${args.join(' ')}`, call)
  else call.scope.session.run.call(['git', ...alias.trim().split(/\s+/u), ...args], deeper(call.scope))
}

function run(code: string, call: Call): void {
  call.scope.session.run.text(code, deeper({ ...call.scope, stdin: null }))
}

/** What git would print or take into the history. */
function readsSecrets({ call, sub, options }: Git): Refusal | null {
  if (!/^(?:add|diff|show|grep|blame|hash-object|commit|stash)$/u.test(sub)) return null
  for (const text of sub === 'commit' || sub === 'grep' ? options.words.slice(1) : options.words) {
    const refusal = judgeRead({ program: `git ${sub}`, text, scope: call.scope, isReader: true })
    if (refusal) return refusal
  }
  return null
}
