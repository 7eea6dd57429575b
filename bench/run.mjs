// Measures the budgets of the design on this machine, beside a bare bash loop that does the same work.
// `npm run bench`; `npm run bench -- start iteration` for some of them. Prints a table; exit code 1 when a budget is missed.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { readerCosts } from './readers.mjs'

const originMono = process.hrtime.bigint()
const originWall = BigInt(Date.now()) * 1_000_000n
const ralph = fileURLToPath(new URL('../dist/ralph.js', import.meta.url))
const home = mkdtempSync(path.join(os.tmpdir(), 'ralph-bench-home-'))
// Node 20 reads a whole certificate bundle at start when NODE_EXTRA_CA_CERTS is set; that is not ours to measure.
const env = {
  PATH: process.env.PATH,
  HOME: home,
  GIT_CONFIG_NOSYSTEM: '1',
  LANG: 'C.UTF-8',
  TMPDIR: os.tmpdir(),
}
writeFileSync(path.join(home, '.gitconfig'), '[user]\nname = Bench\nemail = bench@example.invalid\n')

const measures = { start, iteration, box, hook, status, selection, memory, readers, prompt, pack }
const asked = process.argv.slice(2)
const rows = []
for (const [name, measure] of Object.entries(measures)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  process.stderr.write(`… ${name}\n`)
  rows.push(...(await measure()))
}
print(rows)
rmSync(home, { recursive: true, force: true })
process.exitCode = rows.some(row => row.ok === false) ? 1 : 0

/** CPU per MB of agent output, in lines as short as they come. */
async function readers() {
  const costs = await readerCosts()
  return costs.map(({ name, cost, bare }) =>
    row(`reader of ${name}`, cost, 5, 'ms/MB', `JSON.parse alone ${bare.toFixed(1)} ms/MB`),
  )
}

/** `ralph run` start → first agent call. */
async function start() {
  const times = []
  const bash = []
  for (let round = 0; round < 15; round++) {
    const project = stories(1)
    const before = nanos()
    run(project, ['run'])
    times.push(firstCall(project) - before)
    const loop = stories(1)
    const began = nanos()
    bashLoop(loop)
    bash.push(firstCall(loop) - began)
    drop(project, loop)
  }
  const bare = median(
    Array.from({ length: 15 }, () => timed(() => execFileSync(process.execPath, ['-e', '0'], { env }))),
  )
  return [
    row(
      'start → first agent call',
      median(times) / 1e6,
      150,
      'ms',
      `bare node ${bare.toFixed(0)} ms, bash loop ${(median(bash) / 1e6).toFixed(0)} ms`,
    ),
  ]
}

/** The engine's own time per iteration: from the end of one agent to the start of the next. */
async function iteration() {
  const count = 60
  const project = stories(count)
  run(project, ['run', '-n', String(count)])
  const loop = stories(count)
  bashLoop(loop)
  const own = gaps(project)
  const bare = gaps(loop)
  drop(project, loop)
  const processes = gitProcesses(20)
  return [
    row(
      'git processes per iteration',
      processes.count,
      5,
      '',
      `${processes.cpu.toFixed(0)} ms of CPU, agent included; bash loop ${processes.bashCpu.toFixed(0)} ms`,
    ),
    row('own time per iteration (median)', median(own), 20, 'ms', `bash loop ${median(bare).toFixed(1)} ms`),
    row(
      'own time per iteration (95th)',
      percentile(own, 0.95),
      null,
      'ms',
      `bash loop ${percentile(bare, 0.95).toFixed(1)} ms`,
    ),
  ]
}

/** What a box adds to an iteration: the time from one agent's end to the next one's start, with and without it. */
async function box() {
  const gapsIn = sandbox => {
    const project = stories(30, undefined, sandbox)
    run(project, ['run', '-n', '30'])
    const found = gaps(project)
    drop(project)
    return median(found)
  }
  if (spawnSync('bwrap', ['--version'], { stdio: 'ignore' }).status !== 0)
    return [row('bubblewrap, added per agent start', Number.NaN, 30, 'ms', 'not installed')]
  const [bare, boxed] = [gapsIn('none'), gapsIn('bubblewrap')]
  return [
    row(
      'bubblewrap, added per agent start',
      boxed - bare,
      30,
      'ms',
      `${boxed.toFixed(0)} ms against ${bare.toFixed(0)} ms`,
    ),
  ]
}

/** The guard's hook, as an agent calls it before each tool call, against an empty start of Node. */
async function hook() {
  const file = path.join(path.dirname(ralph), 'guard-start.js')
  const input = JSON.stringify({
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'npm test && git status' },
    cwd: os.tmpdir(),
  })
  const once = args =>
    timed(() => spawnSync(process.execPath, args, { env, input, stdio: ['pipe', 'ignore', 'ignore'] }))
  const empty = path.join(home, 'empty.cjs')
  writeFileSync(empty, '')
  const pairs = Array.from({ length: 25 }, () => [once([empty]), once([file])])
  const bare = median(pairs.map(([one]) => one))
  const asked = median(pairs.map(([, two]) => two))
  return [row('guard hook, per call', asked, bare * 1.3, 'ms', `empty Node start ${bare.toFixed(0)} ms`)]
}

/** How many git processes the engine starts per iteration, and the CPU time of it all, which a busy machine does not change. */
function gitProcesses(count) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'ralph-bench-git-'))
  const log = path.join(folder, 'calls')
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  // The agent calls git as well; only the engine's calls carry this variable.
  const script = `#!/bin/sh\n[ "$GIT_OPTIONAL_LOCKS" = 0 ] && echo "$1" >> '${log}'\nexec '${real}' "$@"\n`
  writeFileSync(path.join(folder, 'git'), script, { mode: 0o755 })
  const counted = tasks => {
    const project = stories(tasks)
    rmSync(log, { force: true })
    const with_ = { ...env, PATH: `${folder}${path.delimiter}${env.PATH}` }
    spawnSync(process.execPath, [ralph, 'run', '-n', String(tasks)], {
      cwd: project,
      env: with_,
      stdio: 'ignore',
    })
    drop(project)
    return readFileSync(log, 'utf8').trim().split('\n').length
  }
  const spent = (tasks, words) => {
    const project = stories(tasks)
    const timed = `TIMEFORMAT='%U %S'; time "$@" > /dev/null 2>&1`
    const { stderr } = spawnSync('bash', ['-c', timed, 'bash', ...words], {
      cwd: project,
      env,
      encoding: 'utf8',
    })
    drop(project)
    return stderr
      .trim()
      .split(' ')
      .reduce((sum, part) => sum + Number(part) * 1000, 0)
  }
  // The difference of two runs leaves out what every start costs.
  const each = measure => (measure(count + 5) - measure(5)) / count
  const result = {
    count: each(counted),
    cpu: each(tasks => spent(tasks, [process.execPath, ralph, 'run', '-n', String(tasks)])),
    bashCpu: each(tasks => spent(tasks, ['bash', '-c', bashScript()])),
  }
  rmSync(folder, { recursive: true, force: true })
  return result
}

/** `ralph status` with 10,000 tasks and 100,000 events. */
async function status() {
  const project = stories(3)
  await fill(project, 10_000, 100_000)
  const times = Array.from({ length: 11 }, () => timed(() => run(project, ['status'])))
  const small = stories(3)
  run(small, ['run'])
  const few = Array.from({ length: 11 }, () => timed(() => run(small, ['status'])))
  drop(project, small)
  return [
    row(
      'status, 10,000 tasks, 100,000 events',
      median(times),
      150,
      'ms',
      `3 tasks ${median(few).toFixed(0)} ms`,
    ),
  ]
}

/** Choosing the next of 10,000 tasks against the next of 10. */
async function selection() {
  const { openStore, chooseTask } = await import('../dist/index.js')
  const choose = async count => {
    const project = stories(3)
    await fill(project, count, count * 2)
    const store = openStore(path.join(project, '.ralph', 'ralph.db'))
    const times = []
    for (let round = 0; round < 21; round++) {
      const began = performance.now()
      await chooseTask(store.log, { only: null, strict: true }, Date.now())
      times.push(performance.now() - began)
    }
    store.close()
    drop(project)
    return median(times)
  }
  const few = await choose(10)
  const many = await choose(10_000)
  return [row('choosing the next of 10,000 tasks', many, few * 2 + 10, 'ms', `of 10: ${few.toFixed(2)} ms`)]
}

/** Peak memory of the engine while an agent prints 100 MB. */
async function memory() {
  const project = stories(1, 'head -c 100000000 /dev/zero | tr "\\0" "x" | fold -w 200')
  const peak = await new Promise(resolve => {
    const child = spawn(process.execPath, [ralph, 'run', '--attempts', '1'], {
      cwd: project,
      env,
      stdio: 'ignore',
    })
    let most = 0
    const timer = setInterval(() => {
      try {
        const found = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))
        if (found) most = Math.max(most, Number(found[1]) / 1024)
      } catch {}
    }, 20)
    child.on('exit', () => {
      clearInterval(timer)
      resolve(most)
    })
  })
  drop(project)
  return [row('peak memory, 100 MB of agent output', peak, 120, 'MB', 'VmHWM of the engine')]
}

/** Size of the prompt as the history grows to 500 iterations. */
async function prompt() {
  const project = stories(
    1,
    'i=0; while [ $i -lt 200 ]; do echo "error $RALPH_CALL in line $i"; i=$((i+1)); done; echo "<ralph>LEARN: lesson $RALPH_CALL</ralph>"; echo "<ralph>FAIL 1.1: reason $RALPH_CALL</ralph>"; exit 0',
  )
  run(project, ['run', '--attempts', '600', '-n', '500'])
  const runs = path.join(project, '.ralph', 'runs')
  const sizes = execFileSync('find', [runs, '-name', 'prompt.md', '-printf', '%P %s\\n'], {
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
    .sort()
    .map(line => Number(line.split(' ')[1]))
  drop(project)
  // By then the windows of failures and learnings are full.
  const early = sizes[49] ?? 0
  const last = sizes.at(-1) ?? 0
  return [
    row(
      `prompt at iteration ${sizes.length}`,
      last / 1024,
      (early * 1.05) / 1024,
      'kB',
      `at iteration 50: ${(early / 1024).toFixed(1)} kB`,
    ),
  ]
}

async function pack() {
  const out = execFileSync('npm', ['pack', '--dry-run', '--json'], {
    cwd: path.dirname(path.dirname(ralph)),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return [row('npm pack', JSON.parse(out)[0].size / 1024 / 1024, 2, 'MB', '')]
}

/** A project of `count` stories whose agent is a line of sh: it notes its start and end, changes a file, claims done. */
function stories(
  count,
  does = 'echo "$RALPH_TASK" > "out-$RALPH_TASK.txt"; git add "out-$RALPH_TASK.txt"; git commit -q -m "$RALPH_TASK"; echo "<ralph>DONE $RALPH_TASK</ralph>"',
  sandbox = 'none',
) {
  const root = mkdtempSync(path.join(os.tmpdir(), 'ralph-bench-'))
  for (let n = 1; n <= count; n++) {
    const folder = path.join(root, 'specs', `epic-${Math.ceil(n / 100)}`)
    mkdirSync(folder, { recursive: true })
    const id = `${Math.ceil(n / 100)}.${((n - 1) % 100) + 1}`
    writeFileSync(
      path.join(folder, `story-${id}-item.md`),
      `---\nstatus: pending\n---\n# Story ${id}\n\n## Acceptance criteria\n- [ ] x\n`,
    )
  }
  writeFileSync(path.join(root, 'CLAUDE.md'), '# bench\n')
  writeFileSync(path.join(root, '.gitignore'), 'trace\n')
  writeFileSync(
    path.join(root, 'agent.sh'),
    `#!/bin/sh\ndate +"start %s%N" >> trace\ncat > /dev/null\n(${does})\ncode=$?\ndate +"end %s%N" >> trace\nexit $code\n`,
    { mode: 0o755 },
  )
  writeFileSync(
    path.join(root, 'ralph.config.yaml'),
    `agent: { command: ["sh", "agent.sh"] }\nverify: none\nsandbox: ${sandbox}\n`,
  )
  const git = (...args) => execFileSync('git', args, { cwd: root, env, stdio: 'ignore' })
  git('init', '-q')
  git('add', '-A')
  git('commit', '-q', '-m', 'bench')
  return root
}

/** The least that does the same: pick the next story, call the agent with its spec, look for the tag, note it. */
function bashScript() {
  return `for spec in $(ls specs/epic-*/story-*.md | sort -V); do
  id=$(basename "$spec" | sed 's/story-\\([0-9.]*\\)-.*/\\1/'); grep -q "\\[DONE\\] $id" progress.txt 2>/dev/null && continue
  out=$(RALPH_TASK=$id sh agent.sh < "$spec"); case "$out" in *"<ralph>DONE $id</ralph>"*) echo "[DONE] $id" >> progress.txt;; esac
done`
}

function bashLoop(project) {
  spawnSync('bash', ['-c', bashScript()], { cwd: project, env, stdio: 'ignore' })
}

async function fill(project, tasks, events) {
  const { openStore } = await import('../dist/index.js')
  const { fillJournal } = await import('./fill.mjs')
  mkdirSync(path.join(project, '.ralph'), { recursive: true })
  const store = openStore(path.join(project, '.ralph', 'ralph.db'))
  await fillJournal(store.log, { tasks, events })
  store.close()
}

function run(project, args) {
  const result = spawnSync(process.execPath, [ralph, ...args], {
    cwd: project,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (result.status !== 0 && result.status !== 1) throw new Error(`ralph ${args.join(' ')}: ${result.stderr}`)
}

function trace(project) {
  return readFileSync(path.join(project, 'trace'), 'utf8')
    .trim()
    .split('\n')
    .map(line => line.split(' '))
    .map(([what, at]) => ({ what, at: Number(at) }))
}

function firstCall(project) {
  return trace(project)[0].at
}

function gaps(project) {
  const found = []
  const lines = trace(project)
  for (let i = 1; i < lines.length; i++) {
    if (lines[i].what === 'start' && lines[i - 1].what === 'end')
      found.push((lines[i].at - lines[i - 1].at) / 1e6)
  }
  return found
}

function nanos() {
  return Number(process.hrtime.bigint() - originMono + originWall)
}

function timed(work) {
  const began = performance.now()
  work()
  return performance.now() - began
}

function median(values) {
  return percentile(values, 0.5)
}

function percentile(values, part) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

function row(what, value, budget, unit, note) {
  return { what, value, budget, unit, note, ok: budget === null ? null : value <= budget }
}

function print(all) {
  const text = all.map(({ what, value, budget, unit, note, ok }) => [
    ok === null ? ' ' : ok ? '✓' : '✗',
    what,
    `${value.toFixed(1)} ${unit}`,
    budget === null ? '' : `≤ ${budget.toFixed(budget < 10 ? 1 : 0)} ${unit}`,
    note,
  ])
  const widths = [0, 1, 2, 3, 4].map(column => Math.max(...text.map(cells => cells[column].length)))
  console.log(`\n${os.cpus().length} cores, Node ${process.version}, ${os.arch()}`)
  for (const cells of text)
    console.log(
      cells
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
}

function drop(...projects) {
  for (const project of projects) rmSync(project, { recursive: true, force: true })
}
