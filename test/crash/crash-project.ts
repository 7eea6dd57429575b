import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createProject, type TestProject } from '../helpers/ralph.ts'

/** A project with a folder beside it, which no putting back can reach: there agents leave word of what they saw. */
export type CrashProject = TestProject & { outside: string }

export type CrashOptions = {
  stories: Record<string, { verify?: string }>
  /** Shell lines that an agent plays, by `task:attempt`; `*` for all others. `$task` and `$attempt` are set. */
  plays: Record<string, string>
  config?: string[]
  /** The gates of every story, as the configuration writes them. */
  verify?: string
  files?: Record<string, string>
}

export function crashProject(options: CrashOptions): CrashProject {
  const specs = Object.entries(options.stories).map(([id, { verify }]) => [specPath(id), spec(id, verify)])
  const project = createProject({
    'CLAUDE.md': '# Project\n',
    'check.sh': check,
    'src/existing.txt': 'as it was\n',
    'src/user.txt': 'one\ntwo\nthree\n',
    'ralph.config.yaml': [
      // A shell, not node: hundreds of agents are started.
      'agent: { command: ["sh", "../outside/agent.sh"] }',
      `verify: ${options.verify ?? '["sh check.sh"]'}`,
      'sandbox: none',
      ...(options.config ?? []),
      '',
    ].join('\n'),
    ...Object.fromEntries(specs),
    ...options.files,
  })
  const outside = path.join(project.root, '..', 'outside')
  mkdirSync(path.join(outside, 'alive'), { recursive: true })
  writeFileSync(path.join(outside, 'agent.sh'), agentScript(options.plays))
  return { ...project, outside }
}

/** What a user has lying about: a tracked file with a staged and an unstaged part, and an untracked one. */
export function dirtyAsUser(project: CrashProject): void {
  project.write('src/user.txt', 'one\nstaged by the user\nthree\n')
  project.git('add', 'src/user.txt')
  project.write('src/user.txt', 'one\nstaged by the user\nthree\nand not yet staged\n')
  project.write('notes of the user.txt', 'never touch this\n')
}

export function specPath(id: string): string {
  return `specs/epic-${id.split('.')[0]}/story-${id}-answer.md`
}

function spec(id: string, verify: string | undefined): string {
  const own = verify === undefined ? '' : `verify: ["${verify}"]\n`
  return `---\nstatus: pending\n${own}---\n# Answer ${id}\n\nWrite it.\n\n## Acceptance criteria\n- [ ] it is there\n`
}

/** With a story's id: its answer must be there. Always: no answer may be wrong. */
const check = `for file in work/*.txt; do
  [ -e "$file" ] || continue
  name=\${file##*/}
  [ "$(cat "$file")" = "answer \${name%.txt}" ] || { echo "wrong: $file"; exit 1; }
done
[ -z "$1" ] || [ -e "work/$1.txt" ] || { echo "no answer for $1"; exit 1; }
echo "all answers are right"
`

/** An honest attempt: the work and a commit of just that. */
export const honest = 'answer; commit "feat: answer $task" "work/$task.txt"; claim'

/**
 * Every agent first looks whether one of an earlier call, or a child of it, is still alive, and tells it outside; then it
 * signs in itself. A name is a pid with its start, so a pid that was used again is not taken for somebody old.
 */
function agentScript(plays: Record<string, string>): string {
  const cases = Object.entries(plays).map(([when, lines]) => `  ${when})\n${lines}\n  ;;`)
  return `out=../outside task=$RALPH_TASK attempt=$RALPH_ATTEMPT
# start: when a process began; nothing when it is gone or only its remains are left.
start() {
  start=
  if [ -e /proc/self/stat ]; then
    read -r line 2>/dev/null <"/proc/$1/stat" || return 0
    set -- \${line##*) }
    case $1 in Z | X) return 0 ;; esac
    start=\${20}
  else
    start=$(ps -o state=,lstart= -p "$1" | sed 's/^[^Z] *//; /^Z/d')
  fi
}
sign_in() { start "$1"; echo "$start" >"$out/alive/$1"; }
for file in "$out"/alive/*; do
  [ -e "$file" ] || continue
  start "\${file##*/}"
  if [ -n "$start" ] && [ "$start" = "$(cat "$file")" ]; then
    echo "$RALPH_STEP ($task:$attempt) began while \${file##*/} was alive" >>"$out/overlaps"
  else
    rm -f "$file"
  fi
done
sign_in $$
echo "$task:$attempt" >>"$out/calls"

answer() { mkdir -p work; echo "answer $task" >"work/$task.txt"; }
commit() { git add -- "$2" && git commit -q -m "$1" -- "$2"; }
claim() { echo "<ralph>DONE $task</ralph>"; }
# child: one in our session, which would live on. stranger: one in a session of its own, below us.
child() { sleep 60 & sign_in $!; }
stranger() { setsid sleep 60 & sign_in $!; }
case $task:$attempt in
${cases.join('\n')}
esac
`
}

/** Calls of agents in their order, as `task:attempt`; calls of one attempt that follow each other count as one. */
export function attemptsSeen(project: CrashProject): string[] {
  return lines(project, 'calls').filter((call, index, all) => call !== all[index - 1])
}

export function callsSeen(project: CrashProject): string[] {
  return lines(project, 'calls')
}

/** What agents told that should never be: another one alive at their start. */
export function overlaps(project: CrashProject): string[] {
  return lines(project, 'overlaps')
}

function lines(project: CrashProject, name: string): string[] {
  const file = path.join(project.outside, name)
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}

/** Agents and their children that signed in and are still alive. */
export function aliveAgents(project: CrashProject): number[] {
  return readdirSync(path.join(project.outside, 'alive'))
    .map(Number)
    .filter(pid => {
      const signed = readFileSync(path.join(project.outside, 'alive', String(pid)), 'utf8').trim()
      return signed !== '' && startOf(pid) === signed
    })
}

function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null)
  } catch {
    return null
  }
}
