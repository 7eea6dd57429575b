import { Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from './config/duration.ts'

declare const __RALPH_VERSION__: string

/** Every command, its options and its help. What a command does is loaded only when it runs. */
export function createProgram(): Command {
  const program = new Command('ralph')
    .description('Runs any coding-agent CLI in a loop until the work is proven done.')
    .version(__RALPH_VERSION__)
    .addOption(new Option(...projectDir))
    .showSuggestionAfterError()
    .exitOverride()
    .enablePositionalOptions()
    .addHelpText('after', overview)

  command(
    program,
    'demo',
    'a throw-away project, an agent that first lies, a full verified run (no key, no network)',
  )
    .addHelpText('after', examples(['ralph demo']))
    .action(async () => (await import('./commands/demo.ts')).demo())

  command(program, 'init', 'write a configuration and the first files of a preset for this project')
    .option('--preset <name>', 'the way of working (what lies here, else reviewed)')
    .option('--name <name>', 'name of the feature')
    .option('--prompts', 'write the prompt templates too, to be changed for this project')
    .option('-y, --yes', 'ask nothing')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples(['ralph init', 'ralph init --preset stories --yes']))
    .action(async (options, self) =>
      (await import('./commands/init.ts')).init({ ...options, ...globals(self) }),
    )

  command(program, 'new', 'write a valid skeleton of a story or task')
    .argument('<what>', 'story or task')
    .argument('<id>', 'e.g. 3.2')
    .argument('[title...]', 'its title')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples(['ralph new story 3.2 "Reset a forgotten password"']))
    .action(async (what, id, title, options, self) =>
      (await import('./commands/new.ts')).newTask({
        what,
        id,
        title: title.join(' '),
        ...options,
        ...globals(self),
      }),
    )

  command(program, 'validate', 'check configuration, backlog, specs and dependencies; spends nothing')
    .option('--json', 'print the problems as JSON')
    .addHelpText('after', examples(['ralph validate', 'ralph validate --json']))
    .action(async (options, self) =>
      (await import('./commands/validate.ts')).validate({ ...options, ...globals(self) }),
    )

  runOptions(command(program, 'run', 'work through the backlog until every task is done with evidence'))
    .option('--interval <duration>', 'wait so long between two steps', duration)
    .addHelpText(
      'after',
      examples([
        'ralph run',
        'ralph run -n 10 -v',
        'ralph run -s 8.3',
        'ralph run --agent claude -m opus -- --effort high',
        'ralph run --dry-run',
      ]) + needs,
    )
    .action(async (agentArgs, options, self) =>
      (await import('./commands/run.ts')).run({ ...options, agentArgs, once: false, ...globals(self) }),
    )

  runOptions(command(program, 'step', 'do exactly one step, then exit'))
    .option('--wait', 'when another engine works here, wait for it instead of giving up')
    .option('--as-instructions', 'print the step as text for an agent that executes it itself')
    .addHelpText('after', examples(['ralph step', 'while ralph step; do :; done']))
    .action(async (agentArgs, options, self) =>
      (await import('./commands/run.ts')).run({ ...options, agentArgs, once: true, ...globals(self) }),
    )

  command(program, 'status', 'where the backlog stands')
    .option('--json', 'print it as JSON')
    .option('--all', 'list every task')
    .option('--watch', 'print it again whenever something changes')
    .addHelpText(
      'after',
      examples(['ralph status', 'ralph status --watch', 'ralph status --json | jq .counts']),
    )
    .action(async (options, self) =>
      (await import('./commands/status.ts')).status({ ...options, ...globals(self) }),
    )

  command(program, 'logs', 'what happened, as lines')
    .argument('[task]', 'only this task')
    .option('-f, --follow', 'go on as it happens')
    .option('--lines <n>', 'how many of the last lines', count, 200)
    .option('--json', 'print the events as JSON lines')
    .addHelpText('after', examples(['ralph logs', 'ralph logs 8.3 --follow']))
    .action(async (task, options, self) =>
      (await import('./commands/logs.ts')).logs({ task, ...options, ...globals(self) }),
    )

  command(program, 'show', 'one step in full: prompt, output, diff, verdict')
    .argument('[step]', 'number of the step, or its id; the last one by default')
    .option('--prompt', 'only the prompt')
    .option('--output', 'only the output')
    .option('--diff', 'only the diff')
    .option('--json', 'print it as JSON')
    .addHelpText('after', examples(['ralph show', 'ralph show 12 --diff']))
    .action(async (step, options, self) =>
      (await import('./commands/show.ts')).show({ step, ...options, ...globals(self) }),
    )

  for (const [name, text, sample] of [
    ['cancel', 'stop the run, or one task', ['ralph cancel', 'ralph cancel 8.3']],
    ['retry', 'begin a task anew, or end a wait now', ['ralph retry 8.3', 'ralph retry']],
  ] as const) {
    command(program, name, text)
      .argument('[task]', 'the task; all that stopped by default')
      .option('--json', 'print the result as JSON')
      .addHelpText('after', examples([...sample]))
      .action(async (task, options, self) =>
        (await import('./commands/request.ts')).request({
          kind: name,
          task,
          text: '',
          ...options,
          ...globals(self),
        }),
      )
  }
  for (const [name, text] of [
    ['pause', 'let the running loop finish its step, then wait'],
    ['resume', 'go on after a pause'],
  ] as const) {
    command(program, name, text)
      .option('--json', 'print the result as JSON')
      .addHelpText('after', examples([`ralph ${name}`]))
      .action(async (options, self) =>
        (await import('./commands/request.ts')).request({
          kind: name,
          text: '',
          ...options,
          ...globals(self),
        }),
      )
  }
  command(program, 'steer', 'tell the agent something with its next prompt')
    .argument('<task>', 'the task')
    .argument('<text...>', 'what to tell it')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples(['ralph steer 8.3 use the existing date helper']))
    .action(async (task, text, options, self) =>
      (await import('./commands/request.ts')).request({
        kind: 'steer',
        task,
        text: text.join(' '),
        ...options,
        ...globals(self),
      }),
    )

  command(program, 'evidence', 'why a task counts as done')
    .argument('[task]', 'the task; all done ones by default')
    .option('--json', 'print it as JSON')
    .addHelpText('after', examples(['ralph evidence 8.3']))
    .action(async (task, options, self) =>
      (await import('./commands/evidence.ts')).evidence({ task, ...options, ...globals(self) }),
    )

  command(program, 'verify', 'run the gates again on what is there today')
    .argument('[task]', 'the task')
    .option('--all', 'every done task')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples(['ralph verify --all', 'ralph verify 8.3']))
    .action(async (task, options, self) =>
      (await import('./commands/verify.ts')).verify({ task, ...options, ...globals(self) }),
    )

  command(program, 'explain', 'why it stopped, why it goes on, what comes next')
    .argument('[task]', 'the task; the whole backlog by default')
    .option('--json', 'print it as JSON')
    .addHelpText('after', examples(['ralph explain', 'ralph explain 8.3']))
    .action(async (task, options, self) =>
      (await import('./commands/explain.ts')).explain({ task, ...options, ...globals(self) }),
    )

  command(program, 'report', 'what came of the backlog: proofs, costs, reviews, what needs a person')
    .option('--json', 'print it as JSON')
    .addHelpText('after', examples(['ralph report > report.md', 'ralph report --json | jq .agents']))
    .action(async (options, self) =>
      (await import('./commands/report.ts')).report({ ...options, ...globals(self) }),
    )

  command(program, 'doctor', 'what works here, what does not, how to mend it')
    .option('--salvage <file>', 'copy what can be read of a damaged journal to this file')
    .option('--json', 'print it as JSON')
    .addHelpText('after', examples(['ralph doctor']))
    .action(async (options, self) =>
      (await import('./commands/doctor.ts')).doctor({ ...options, ...globals(self) }),
    )

  command(program, 'journal', 'write or read the journal as JSON lines')
    .argument('<action>', 'export or import')
    .argument('[file]', 'the file; standard output or input by default')
    .addHelpText(
      'after',
      examples(['ralph journal export > backup.jsonl', 'ralph journal import backup.jsonl']),
    )
    .action(async (action, file, options, self) =>
      (await import('./commands/journal.ts')).journal({ action, file, ...options, ...globals(self) }),
    )

  command(program, 'hook', 'entry point for hooks of agent CLIs (docs/hooks)')
    .argument('<event>', 'stop')
    .option('--ralph-dir <path>', 'the folder of tasks.json', 'ralph')
    .addHelpText('after', examples(['ralph hook stop < event.json']))
    .action(async (event, options) => (await import('./commands/hook.ts')).hook({ event, ...options }))

  command(program, 'guard', 'would the command guard let an agent run this (docs/guard.md)')
    .argument('[command]', 'the shell command, in quotes; it is only judged, never run')
    .option('--list', 'what is denied, with examples')
    .option('--hook', 'entry point for hooks of agent CLIs: a tool call as JSON on stdin')
    .option('--json', 'print it as JSON')
    .addHelpText(
      'after',
      `${examples(["ralph guard 'rm -rf dist'", "ralph guard 'git push --force' --json", 'ralph guard --list'])}
Exit codes: 0 allowed · 1 denied · 2 wrong usage; with --hook 2 is a refusal
`,
    )
    .action(async (text, options, self) =>
      (await import('./commands/guard.ts')).guard({
        ...(text === undefined ? {} : { command: text }),
        ...options,
        ...globals(self),
      }),
    )

  command(program, 'completion', 'shell completion')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText(
      'after',
      examples([
        'source <(ralph completion bash)',
        'ralph completion fish > ~/.config/fish/completions/ralph.fish',
      ]),
    )
    .action(async shell => (await import('./commands/completion.ts')).completion({ shell, program }))

  return program
}

/** The folder may be named before the command and after it. */
function command(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .addOption(new Option(...projectDir))
    .exitOverride()
    .showSuggestionAfterError()
}

const projectDir = ['-C, --project-dir <path>', 'work in this folder instead of the current one'] as const

function runOptions(run: Command): Command {
  return run
    .argument('[agent-args...]', 'after --: arguments for the agent')
    .addOption(
      new Option('-n, --max-iterations <n>', 'iterations of this run')
        .argParser(count)
        .env('RALPH_MAX_ITERATIONS'),
    )
    .addOption(new Option('-m, --model <model>', 'model for the agent').env('RALPH_MODEL'))
    .option('-v, --verbose', 'show the agent’s full output as it comes')
    .addOption(
      new Option('-t, --timeout <duration>', 'wall time of one agent call; plain numbers are seconds')
        .argParser(duration)
        .env('RALPH_TIMEOUT'),
    )
    .option('--idle-timeout <duration>', 'an agent that is silent for so long is stopped', duration)
    .option('-l, --log <file>', 'log file')
    .option('-s, --task <id>', 'only this task')
    .addOption(new Option('--story <id>', 'the same as --task').hideHelp())
    .option('-r, --from <id>', 'skip all tasks before this one')
    .option('-d, --dry-run', 'print the prompts, call no agent, change nothing')
    .addOption(new Option('--preset <name>', 'the way of working').env('RALPH_PRESET'))
    .addOption(new Option('--agent <name>', 'the agent').env('RALPH_AGENT'))
    .option('--script <file>', 'script of the scripted agent')
    .option('--attempts <n>', 'tries per task, in total', count)
    .addOption(
      new Option('--max-cost <usd>', 'stop when this much money is spent')
        .argParser(money)
        .env('RALPH_MAX_COST'),
    )
    .option(
      '--verify <command>',
      'a command the engine runs itself (repeatable); none = accept the agents’ word',
      collect,
    )
    .addOption(
      new Option('--sandbox [provider]', 'isolate agents and gates; fail when that is not possible').env(
        'RALPH_SANDBOX',
      ),
    )
    .option('--no-sandbox', 'direct mode: the agent has all your rights, watched by the command guard')
    .option('--worktree <name>', 'work in a worktree of its own, from HEAD')
    .option('--clean-gates', 'run the gates in a checkout that holds only what would be committed')
    .option(
      '--branch <name>',
      'work on this branch, made from HEAD when missing; {run}, {epic} and {story} are filled in',
    )
    .option(
      '--in-place',
      'work although tracked files have uncommitted changes; they are kept and never committed',
    )
    .option('--keep-retries', 'do not begin anew with tasks that ran out of tries')
    .option('--strict-deps', 'a task whose needs are not done blocks')
    .option('--skip-review', 'leave the review stages of the preset out')
    .option('--review-cap <n>', 'reviews per task at most', count)
    .option('--timeout-multiplier <factor>', 'all time limits times this', factor)
    .option('--resume', 'tasks that were given up go on where they stopped')
    .option('--fresh', 'tasks that were given up begin anew')
    .addOption(new Option('--ralph-dir <path>', 'reviewed: the folder of prd.md and tasks.json').hideHelp())
    .addOption(new Option('--plan <file>', 'gated: the plan').hideHelp())
    .addOption(new Option('--action <what>', 'stepwise: start or loop').choices(['start', 'loop']).hideHelp())
    .addOption(new Option('--spec <folder>', 'stepwise: the folder of the spec').hideHelp())
    .addOption(new Option('--from-task <id>', 'stepwise: first task of the range').hideHelp())
    .addOption(new Option('--to-task <id>', 'stepwise: last task of the range').hideHelp())
    .addOption(new Option('--force', 'stepwise: begin the range anew').hideHelp())
    .addOption(new Option('--apply-spec-sync', 'stepwise: let sync change the spec').hideHelp())
    .addOption(
      new Option('--style <name>', "stepwise: print as the skill or as the seed's shell script does")
        .choices(['skill', 'script'])
        .hideHelp(),
    )
    .option('--json', 'print events as JSON lines')
}

function globals(self: Command): { projectDir?: string } {
  const { projectDir } = self.optsWithGlobals<{ projectDir?: string }>()
  return projectDir === undefined ? {} : { projectDir }
}

function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/u.test(text)) throw new InvalidArgumentError('expected a whole number of 1 or more')
  return Number(text)
}

function money(text: string): number {
  const amount = Number(text)
  if (!Number.isFinite(amount) || amount <= 0)
    throw new InvalidArgumentError('expected an amount like 5 or 2.50')
  return amount
}

function factor(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('expected a factor like 1.5 or 2')
  return value
}

function duration(text: string): number {
  const ms = parseDuration(text)
  if (ms === null) throw new InvalidArgumentError('expected a duration like 1800, 90s, 30m or 1h')
  return ms
}

function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value]
}

function examples(lines: string[]): string {
  return `\nExamples:\n${lines.map(line => `  $ ${line}`).join('\n')}\n`
}

const overview = `
First steps:
  $ ralph demo            see it work, without a key or a network
  $ ralph init            set this project up
  $ ralph validate        find every problem before money is spent
  $ ralph run             work until every task is proven done

Exit codes: 0 every task is done with evidence · 1 not complete (the last line says why) ·
2 wrong usage or configuration · 130/143 interrupted`

const needs = `
Needs: git, and the CLI of an agent (claude, codex, copilot, gemini, opencode, or any program) that is logged in.
Recommended for isolation: bubblewrap (Linux), or Docker's sbx (the older \`docker sandbox\`: Docker Desktop 4.58 to 4.79).
With these each project has a microVM of its own that may take half of the memory: two or three at a time fill a laptop.
`
