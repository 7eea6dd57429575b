import type { Call, Rule } from '../call.ts'
import { parseOptions } from '../options.ts'
import { type Refusal, refuse } from '../verdict.ts'

/** Options of programs that take a value and may stand before the subcommand. */
const valued: Record<string, string> = {
  npm: '--registry --prefix -C -w --workspace --userconfig --tag --access --otp --loglevel',
  pnpm: '--registry -C --dir -F --filter -w --tag --access',
  yarn: '--cwd --registry',
  docker: '-H --host -c --context --config -l --log-level',
  podman: '-H --host -c --connection --url --log-level --root --runroot',
  kubectl: '-n --namespace --context --kubeconfig --cluster --user -s --server -l -f --filename',
  helm: '-n --namespace --kube-context --kubeconfig',
  aws: '--profile --region --output --endpoint-url --query',
  gcloud: '--project --account --format --configuration',
  az: '--subscription -o --output --query -n -g',
  gh: '-R --repo -X --method -f -F -H --jq -q',
  cargo: '-Z --config --manifest-path -C --version --vers',
  'redis-cli': '-h -p -a -n -u -s --user --pass',
  tmux: '-L -S -f -t -s',
  systemctl: '-H --host -M --machine -t --type',
  mvn: '-f --file -s --settings -P -pl --projects',
  git: '-C -c --git-dir --work-tree --namespace --exec-path',
}

/** The words of a call that are no options: `npm --registry x publish` → publish. */
export function wordsOf(call: Call): string[] {
  return parseOptions(call.args, valued[call.program] ?? '').words
}

export type Subcommands = {
  category: Refusal['category']
  what: string
  /** One line each: program and words, `a|b` for either, `*` for any one word. */
  lines: readonly string[]
  /** With one of these the call only looks. */
  unless?: readonly string[]
}

/** A rule per program out of a table of subcommands. */
export function subcommandRules(tables: readonly Subcommands[]): Rule[] {
  const programs = [...new Set(tables.flatMap(table => table.lines.flatMap(programsOf)))]
  return programs.map(program => ({
    programs: [program],
    judge: (call: Call) => {
      for (const table of tables) {
        if (table.unless?.some(flag => call.args.includes(flag))) continue
        if (table.lines.some(line => programsOf(line).includes(program) && fits(line, call)))
          return refuse(table.category, `${program} ${wordsOf(call).slice(0, 2).join(' ')} ${table.what}`)
      }
      return null
    },
  }))
}

function programsOf(line: string): string[] {
  return (line.split(' ')[0] ?? '').split('|')
}

function fits(line: string, call: Call): boolean {
  if (call.args.some(arg => arg === '--help' || arg === '-help')) return false
  const wanted = line.split(' ').slice(1)
  const words = wordsOf(call)
  return wanted.every((want, index) => {
    const word = words[index]
    if (want === '*') return word !== undefined
    // An option may stand anywhere.
    if (want.startsWith('-'))
      return want.split('|').some(flag => call.args.some(arg => arg === flag || arg.startsWith(`${flag}=`)))
    return word !== undefined && want.split('|').includes(word)
  })
}
