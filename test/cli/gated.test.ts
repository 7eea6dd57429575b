import { spawn } from 'node:child_process'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { approves, gatedProject, honest, implemented, wrong } from '../helpers/gated-project.ts'
import { ralph, startRalph, type TestProject, until } from '../helpers/ralph.ts'

let project: TestProject
afterEach(() => project?.cleanup())

const lines = (text: string, pattern: RegExp) => text.split('\n').filter(line => pattern.test(line))
const seed = /^(?:Ralph Loop|SUCCESS|STUCK|CAP HIT|GLOBAL TIMEOUT)/u
const branches = () =>
  project.git('for-each-ref', '--format=%(refname:short)', 'refs/heads').trim().split('\n')

/** All events so far. */
async function events(): Promise<{ type: string; stage: string; step: string }[]> {
  const { stdout } = await ralph(project, ['logs', '--json', '--lines', '1000'])
  return stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
    .map(one => one.event ?? one)
}

/** What the agents of a stage were told, in order. */
async function prompts(stage: string): Promise<string[]> {
  const own = (await events()).filter(event => event.type === 'step.started' && event.stage === stage)
  return own.map(event => project.read(`.ralph/runs/${event.step}/prompt.md`))
}

describe('a run over a plan', () => {
  it('S3-01 S3-T01 S3-12 S3-34 S3-35 S3-36 S3-37 S3-38 S3-51 S3-53 succeeds at the first try, task after task', async () => {
    project = gatedProject({ tasks: ['auth', 'limit'], script: honest() })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(lines(result.stdout, seed)).toEqual([
      'Ralph Loop: Iteration 1/5 for auth',
      'SUCCESS: auth completed in 1 iterations',
      'Ralph Loop: Iteration 1/5 for limit',
      'SUCCESS: limit completed in 1 iterations',
    ])
    const stages = (await events()).flatMap(event => (event.type === 'step.started' ? [event.stage] : []))
    expect(stages.filter(stage => !stage.startsWith('@'))).toEqual(
      [1, 2].flatMap(() => ['implement', 'tests', 'spec', 'quality']),
    )
    expect(project.exists('.ralph_state.md')).toBe(false)
    expect(project.exists('.ralph.lock')).toBe(false)
    expect(branches()).toEqual(['main'])
    expect(project.git('log', '--format=%s').trim().split('\n')).toEqual([
      'feat: answer limit',
      'feat: answer auth',
      'first',
    ])
    expect(project.read('plan.md').match(/^Status: completed$/gmu)).toHaveLength(2)
    expect(project.read('plan.md')).not.toContain('- [ ]')
    expect(project.git('status', '--short').trim().split('\n')).toEqual([
      'M plan.md',
      '?? "notes of the user.txt"',
    ])
  })

  it('S3-T02 S3-T07 S3-T08 S3-T09 S3-24 S3-33 H-34 succeeds after a retry, in a new process that knows the real error', async () => {
    project = gatedProject({
      script: [
        {
          on: { stage: 'implement', attempt: 1 },
          do: [{ run: 'echo $PPID > seen-1' }, ...wrong('nonsense')],
        },
        {
          on: { stage: 'implement', attempt: 2 },
          do: [
            { run: 'cp .ralph_state.md seen-state; cp work/auth.txt seen-work; echo $PPID > seen-2' },
            ...implemented(),
          ],
        },
        ...honest(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(lines(result.stdout, seed).at(-1)).toBe('SUCCESS: auth completed in 2 iterations')
    const state = project.read('seen-state')
    expect(state).toContain(
      'task_id: auth\niteration: 1\nmax_iterations: 5\nlast_gate: tests\nexit_code: 1\n',
    )
    expect(state).toContain('files_modified:\n  - work/auth.txt\n---\n')
    expect(state).toContain(
      '## Test Output (verbatim)\n```\nFAIL work/auth.txt\n  Expected: answer auth\n  Received: nonsense\n```\n',
    )
    expect(project.read('seen-1')).not.toBe(project.read('seen-2'))
    // What the first attempt left is there to build on.
    expect(project.read('seen-work')).toBe('nonsense\n')
    const [first = '', second = ''] = await prompts('implement')
    expect(first).toContain('## Previous Attempts\nFirst attempt\n')
    expect(second).toContain(`## Previous Attempts\n${state.trimEnd()}\n`)
    expect(project.exists('.ralph_state.md')).toBe(false)
    expect(branches()).toEqual(['main'])
    expect(project.git('log', '--format=%s').trim().split('\n')).toEqual([
      'feat: answer auth',
      'try: nonsense',
      'first',
    ])
  })

  it('S3-T03 S3-T12 S3-14 S3-39 S3-43 S3-44 S3-46 S3-52 C-39 H-24 the cap makes a branch with the diagnostics, undoes only its own commits, and the next task is run', async () => {
    project = gatedProject({
      tasks: ['auth', 'limit'],
      script: [
        ...[1, 2, 3, 4, 5].map(attempt => ({
          on: { task: 'auth', stage: 'implement', attempt },
          do: wrong(`error ${'x'.repeat(attempt)}`),
        })),
        ...honest(),
      ],
    })
    project.git('remote', 'add', 'origin', 'nowhere')
    const result = await ralph(project, ['run'])
    expect(result.code).toBe(1)
    expect(lines(result.stdout, seed)).toEqual([
      ...[1, 2, 3, 4, 5].map(count => `Ralph Loop: Iteration ${count}/5 for auth`),
      'CAP HIT: auth failed after 5 attempts',
      'Ralph Loop: Iteration 1/5 for limit',
      'SUCCESS: limit completed in 1 iterations',
    ])
    const branch = branches().find(name => name !== 'main') ?? ''
    expect(branch).toMatch(/^wip\/ralph-fail-auth-\d{8}-\d{6}$/u)
    const hash = /error_hash: (.*)/u.exec(project.read('.ralph_state.md'))?.[1]
    expect(project.git('log', '-1', '--format=%B', branch).trim()).toBe(
      `Ralph Loop failed: auth\n\nIterations: 5/5\nLast gate: tests\nError hash: ${hash}\n\nSee .ralph_state.md for full history`,
    )
    expect(project.git('show', `${branch}:.ralph_state.md`)).toBe(project.read('.ralph_state.md'))
    expect(project.git('show', `${branch}:work/auth.txt`)).toBe('error xxxxx\n')
    expect(project.git('ls-tree', '-r', '--name-only', branch)).not.toMatch(/ralph\.lock|notes of/u)
    expect(project.git('log', '--format=%s', `main..${branch}`).trim().split('\n')).toHaveLength(6)
    // The working branch has the other task's work alone, on the commit it began with.
    expect(project.git('log', '--format=%s', 'main').trim().split('\n')).toEqual([
      'feat: answer limit',
      'first',
    ])
    expect(project.exists('work/auth.txt')).toBe(false)
    expect(project.read('notes of the user.txt')).toBe('never touch this\n')
    expect(result.stdout).toContain(`# Ralph Loop Execution Summary

## Completed: 1/2 tasks

## Failed Tasks (require human attention):

### Task 1: Answer auth
- Attempts: 5/5
- Last gate: tests
- Branch: ${branch}
- Error: FAIL work/auth.txt
- Stuck: No
- Quality warnings: 0
`)
    expect((await ralph(project, ['report'])).stdout).toContain('## Completed: 1/2 tasks')
    expect(project.read('plan.md')).toContain('## Task 1: Answer auth {#auth}\n\nStatus: failed\n')
  })

  it('S3-T04 S3-T17 S3-13 S3-28 S3-29 S3-31 the same error three times escalates, two failed shifts stop it, and the next task is run', async () => {
    project = gatedProject({
      tasks: ['auth', 'limit'],
      script: [{ on: { task: 'auth', stage: 'implement' }, do: wrong('nonsense') }, ...honest()],
    })
    const result = await ralph(project, ['run', '-n', '9'])
    expect(result.code).toBe(1)
    expect(lines(result.stdout, seed)).toEqual([
      'Ralph Loop: Iteration 1/9 for auth',
      'Ralph Loop: Iteration 2/9 for auth',
      'Ralph Loop: Iteration 3/9 for auth',
      'STUCK: Escalating to strategy shift',
      'Ralph Loop: Iteration 4/9 for auth',
      'STUCK: Escalating to strategy shift',
      'Ralph Loop: Iteration 5/9 for auth',
      'STUCK: auth failed after 5 attempts: same error 5x, strategy shift failed',
      'Ralph Loop: Iteration 1/9 for limit',
      'SUCCESS: limit completed in 1 iterations',
    ])
    const told = await prompts('implement')
    expect(told.map(text => text.includes('## IMPORTANT: Strategy Shift Required'))).toEqual([
      false,
      false,
      false,
      true,
      true,
      false,
    ])
    expect(told[3]).toContain(
      "You're stuck. Previous approach failed 3x with same error. Try fundamentally different approach.",
    )
    expect(told[3]).toContain('> Received: nonsense')
    expect(told[4]).not.toContain('## Additional File Context')
    const state = project.read('.ralph_state.md')
    expect(state).toMatch(/^stuck_count: 5\nstrategy_shifts: 2$/mu)
    expect(
      state.match(/^\| \d \| tests \| [0-9a-f]{8} \| (?:yes|no) \|$/gmu)?.map(row => row.split(' | ').at(-1)),
    ).toEqual(['no |', 'no |', 'no |', 'yes |', 'yes |'])
    expect(result.stdout).toContain('- Stuck: Yes (same error 3x, strategy shift failed)\n')
    expect(result.stdout).toContain('- Attempts: 5/9 (ended by the hard stop of the stuck rule)\n')
  })

  it('S3-30 an error of missing information brings file context with the second shift', async () => {
    project = gatedProject({
      script: [{ on: { stage: 'implement' }, do: wrong('nonsense') }, ...honest()],
      files: {
        'check.sh':
          'echo "ImportError: cannot import name \'token_store\' from app"; [ ! -e work/auth.txt ]\n',
        'app/token_store.py': 'x = 1\n',
      },
    })
    await ralph(project, ['run'])
    const told = await prompts('implement')
    expect(told.map(text => text.includes('## Additional File Context'))).toEqual([
      false,
      false,
      false,
      false,
      true,
    ])
    expect(told[4]).toContain('- app/token_store.py\n')
  })

  it('S3-02 S3-35 S3-T10 the spec reviewer runs on its own, sends the work back, and its words are kept verbatim', async () => {
    project = gatedProject({
      script: [
        {
          on: { stage: 'implement', attempt: 1 },
          do: [...implemented(), { say: 'SECRET THOUGHTS of the implementer' }],
        },
        {
          on: { stage: 'spec', attempt: 1 },
          do: [
            { run: 'env | grep ^RALPH_ | sort > seen-env' },
            { say: 'Missing: password reset flow (spec line 24)\nExtra: added --json flag' },
            { verdict: { is: 'fail', findings: 'Missing: password reset flow' } },
          ],
        },
        {
          on: { stage: 'implement', attempt: 2 },
          do: [{ run: 'cp .ralph_state.md seen-state' }, { say: 'Added it.' }],
        },
        ...honest(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(project.read('seen-state')).toContain('last_gate: spec-review\n')
    expect(project.read('seen-state')).toContain(
      '## Spec Reviewer Output (verbatim)\n```\nMissing: password reset flow (spec line 24)\nExtra: added --json flag\nVERDICT: fail: Missing: password reset flow\n```\n',
    )
    const [told = ''] = await prompts('spec')
    expect(told).toContain('Write `answer auth` to work/auth.txt.')
    expect(told).not.toContain('SECRET THOUGHTS')
    expect(lines(result.stdout, /^FAILED/u)).toEqual([
      'FAILED: spec-compliance (attempt 1/5): Missing: password reset flow',
    ])
  })

  it('S3-02 a review without a verdict is a rejection, and a reviewer that edits is found out', async () => {
    project = gatedProject({
      script: [
        { on: { stage: 'spec', attempt: 1 }, do: [{ say: 'Looks good to me.' }] },
        {
          on: { stage: 'spec', attempt: 2 },
          do: [{ append: { path: 'src/existing.txt', text: 'mine\n' } }, ...approves()],
        },
        {
          on: { stage: 'implement' },
          do: [{ run: 'mkdir -p work; echo "answer auth" > work/auth.txt' }, { say: 'done' }],
        },
        ...honest(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(lines(result.stdout, /^FAILED/u)).toEqual([
      'FAILED: spec-compliance (attempt 1/5): Review gave no verdict',
      'FAILED: spec-compliance (attempt 2/5): Changed src/existing.txt, but a reviewer may not edit',
    ])
    expect(project.read('src/existing.txt')).toBe('as it was\n')
  })

  it('S3-36 S3-T11 S3-53 S3-54 quality warnings are logged, counted, and block nothing', async () => {
    project = gatedProject({
      script: [
        {
          on: { stage: 'quality' },
          do: [
            { say: 'WARNING: work/auth.txt:1 has no newline rule\nWARNING: no test' },
            { verdict: 'fail' },
          ],
        },
        ...honest(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(lines(result.stdout, /warnings$|^WARNING/u)).toEqual([
      'code-quality: 2 warnings',
      'WARNING: work/auth.txt:1 has no newline rule',
      'WARNING: no test',
    ])
    expect(lines(result.stdout, seed).at(-1)).toBe('SUCCESS: auth completed in 1 iterations')
  })

  it('S3-23 the state file and the plan are the system’s: an agent’s edit is undone and fails the attempt', async () => {
    project = gatedProject({
      script: [
        { on: { stage: 'implement', attempt: 1 }, do: wrong('nonsense') },
        {
          on: { stage: 'implement', attempt: 2 },
          do: [{ write: { path: '.ralph_state.md', text: 'stuck_count: 0\n' } }, ...implemented()],
        },
        {
          on: { stage: 'implement', attempt: 3 },
          do: [{ replace: { path: 'plan.md', find: '[ ]', with: '[x]' } }, { say: 'all done' }],
        },
        {
          on: { stage: 'implement', attempt: 4 },
          do: [{ run: 'cp .ralph_state.md seen-state' }, { say: 'all done' }],
        },
        ...honest(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(lines(result.stdout, /^FAILED: implement/u)).toEqual([
      'FAILED: implement (attempt 2/5): Changed .ralph_state.md, which only Ralph writes; it was put back',
      'FAILED: implement (attempt 3/5): Changed the protected file plan.md',
    ])
    expect(project.read('seen-state')).toContain('task_id: auth\niteration: 3\n')
    expect(project.read('seen-state')).toContain('Changed the protected file plan.md\n')
  })

  it('S3-06 S3-51 C-01 runs a single task with its own cap, and leaves the others alone', async () => {
    project = gatedProject({
      tasks: ['first', 'auth'],
      script: [{ on: { stage: 'implement' }, do: wrong('nonsense') }, ...honest()],
    })
    const result = await ralph(project, ['run', '--task', 'auth', '-n', '2'])
    expect(result.code).toBe(1)
    expect(lines(result.stdout, seed)).toEqual([
      'Ralph Loop: Iteration 1/2 for auth',
      'Ralph Loop: Iteration 2/2 for auth',
      'CAP HIT: auth failed after 2 attempts',
    ])
    expect(project.read('.ralph_state.md')).toContain('max_iterations: 2\n')
  })
})

describe('time limits', () => {
  it('S3-T05 S3-17 S3-54 a soft limit warns, a gate’s hard limit is a failed attempt and the loop goes on', async () => {
    project = gatedProject({
      script: [
        { on: { stage: 'implement', attempt: 1 }, do: [{ hang: true }] },
        {
          on: { stage: 'implement', attempt: 2 },
          do: [...implemented(), { write: { path: 'go', text: '' } }],
        },
        { on: { stage: 'quality' }, do: [{ hang: true }] },
        ...honest(),
      ],
      verify: '["sh slow.sh"]',
      files: { 'slow.sh': 'if [ -e go ]; then rm go; sleep 30; fi\nsh check.sh\n' },
      config:
        'stages:\n  implement: { time: { soft: 300ms, hard: 3s } }\n  tests: { time: { soft: 200ms, hard: 3s } }\n  quality: { time: { hard: 2s } }',
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(result.stdout).toContain('! implement takes longer than 300 ms\n')
    expect(result.stdout).toContain('! tests takes longer than 200 ms\n')
    expect(lines(result.stdout, /^FAILED/u)).toEqual([
      expect.stringMatching(/^FAILED: implement \(attempt 1\/5\): Timeout after \d+s/u),
      'FAILED: tests (attempt 2/5): `sh slow.sh` did not end in time',
    ])
    expect(lines(result.stdout, /^WARNING/u)).toEqual([
      expect.stringMatching(/^WARNING: Timeout after \d+s/u),
    ])
    expect(lines(result.stdout, seed).at(-1)).toBe('SUCCESS: auth completed in 3 iterations')
    const record = (await ralph(project, ['logs', '--json', '--lines', '1000'])).stdout
    expect(record.match(/"late":true/gu)?.length).toBeGreaterThanOrEqual(2)
  })

  it('S3-T05 S3-15 S3-18 H-33 the global limits: soft warns, hard ends the loop as a cap does, and the report says so', async () => {
    project = gatedProject({
      script: [
        { on: { stage: 'implement', attempt: 1 }, do: wrong('nonsense') },
        { on: { stage: 'implement' }, do: [...wrong('more'), { hang: true }] },
        ...honest(),
      ],
      config: 'limits: { taskTime: { soft: 2s, hard: 4s } }',
    })
    const result = await ralph(project, ['run'])
    expect(result.code).toBe(1)
    expect(result.stdout).toContain('! auth takes longer than 2.0 s in all; it is ended at 4.0 s.')
    expect(lines(result.stdout, seed).at(-1)).toBe(
      'GLOBAL TIMEOUT: auth failed after 2 attempts: its 4.0 s are used up',
    )
    expect(result.stdout).toContain('- Attempts: 2/5 (ended by the global time limit of 4.0 s)\n')
    expect(branches()[1]).toMatch(/^wip\/ralph-fail-auth-/u)
    expect(project.read('.ralph_state.md')).toContain('last_gate: implement\nexit_code: 124\n')
    expect((await ralph(project, ['logs', '--json', '--lines', '1000'])).stdout).toContain('"overdue":true')
  })

  it('S3-19 --timeout-multiplier scales every limit', async () => {
    project = gatedProject({
      script: [{ on: { stage: 'implement' }, do: [{ sleep: 700 }, ...implemented()] }, ...honest()],
      config:
        'limits: { taskTime: { soft: 500ms, hard: 1s } }\nstages:\n  implement: { time: { soft: 25ms, hard: 300ms } }',
    })
    const result = await ralph(project, ['run', '--timeout-multiplier', '20'])
    expect(result.code, result.stdout).toBe(0)
    expect(result.stdout).toContain('! implement takes longer than 500 ms\n')
    expect(result.stdout).not.toContain('in all')
    expect(lines(result.stdout, seed).at(-1)).toBe('SUCCESS: auth completed in 1 iterations')
  })
})

describe('one loop at a time', () => {
  it('S3-T06 S3-T14 S3-08 S3-42 a second one is refused in the seed’s words, and the lock goes when the first ends', async () => {
    project = gatedProject({
      script: [{ on: { stage: 'implement' }, do: [{ 'wait-for': 'go' }, ...implemented()] }, ...honest()],
    })
    const running = startRalph(project, ['run'])
    await until('the lock', () => project.exists('.ralph.lock') && running.stdout().includes('Iteration'))
    expect(project.read('.ralph.lock')).toBe(`${running.pid}\n`)
    const second = await ralph(project, ['run'])
    expect(second.code).toBe(1)
    expect(second.stderr.split('\n')[0]).toBe(`ERROR: Another Ralph loop active (PID ${running.pid})`)
    project.write('go', '')
    expect((await running.ended).code).toBe(0)
    expect(project.exists('.ralph.lock')).toBe(false)
  })

  it('S3-08 S3-09 heeds the lock of the seed’s own runner, and takes over that of a dead one', async () => {
    project = gatedProject({ script: honest() })
    const other = spawn('sleep', ['60'])
    const ended = new Promise(resolve => other.on('exit', resolve))
    project.write('.ralph.lock', `${other.pid}\n`)
    const refused = await ralph(project, ['run'])
    expect([refused.code, refused.stderr.split('\n')[0]]).toEqual([
      1,
      `ERROR: Another Ralph loop active (PID ${other.pid})`,
    ])
    expect(project.read('.ralph.lock')).toBe(`${other.pid}\n`)
    other.kill()
    await ended
    const taken = await ralph(project, ['run'])
    expect(taken.code, taken.stderr).toBe(0)
    expect(project.exists('.ralph.lock')).toBe(false)
  })

  it('S3-40 S3-T16 an interrupt keeps the state as it is and makes no branch; the lock of a killed loop is taken over', async () => {
    project = gatedProject({
      script: [
        { on: { stage: 'implement', attempt: 1 }, do: wrong('nonsense') },
        {
          on: { stage: 'implement', attempt: 2 },
          do: [{ write: { path: 'seen', text: '' } }, { 'wait-for': 'go' }, ...implemented()],
        },
        ...honest(),
      ],
    })
    const first = startRalph(project, ['run'])
    await until('the second attempt', () => project.exists('seen'))
    const state = project.read('.ralph_state.md')
    first.kill('SIGINT')
    expect((await first.ended).code).toBe(130)
    expect(project.read('.ralph_state.md')).toBe(state)
    expect(branches()).toEqual(['main'])
    expect(project.exists('.ralph.lock')).toBe(false)

    const second = startRalph(project, ['run'])
    await until('the attempt again', () => second.stdout().includes('Iteration 2/5 for auth'))
    second.kill('SIGKILL')
    await second.ended
    expect(project.read('.ralph.lock')).toBe(`${second.pid}\n`)
    expect(branches()).toEqual(['main'])
    project.write('go', '')
    const third = await ralph(project, ['run'])
    expect(third.code, third.stdout + third.stderr).toBe(0)
    expect(lines(third.stdout, seed)).toEqual([
      'Ralph Loop: Iteration 2/5 for auth',
      'SUCCESS: auth completed in 2 iterations',
    ])
  })
})

describe('a rerun', () => {
  it('S3-T13 S3-41 H-26 resumes by default: tries begin anew, what failed is known, old branches are archived', async () => {
    project = gatedProject({ script: [{ on: { stage: 'implement' }, do: wrong('nonsense') }, ...honest()] })
    expect((await ralph(project, ['run', '-n', '2'])).code).toBe(1)
    const [, branch = ''] = branches()
    project.write('agent.json', JSON.stringify(honest()))
    project.git('commit', '-qam', 'a better agent')
    const kept = await ralph(project, ['run', '-n', '2', '--keep-retries'])
    expect([kept.code, lines(kept.stdout, seed)]).toEqual([1, []])
    const again = await ralph(project, ['run', '-n', '2'])
    expect(again.code, again.stdout).toBe(0)
    expect(lines(again.stdout, seed)).toEqual([
      'Ralph Loop: Iteration 1/2 for auth',
      'SUCCESS: auth completed in 1 iterations',
    ])
    expect((await prompts('implement')).at(-1)).toContain(
      '## Previous Attempts\n---\ntask_id: auth\niteration: 2\n',
    )
    expect(branches()).toEqual([branch.replace('wip/', 'archive/'), 'main'])
    expect(project.exists('.ralph_state.md')).toBe(false)
  })

  it('S3-41 --fresh begins as if nothing had been tried, also in the middle of a loop', async () => {
    project = gatedProject({
      script: [
        { on: { stage: 'implement', attempt: 1 }, do: wrong('nonsense') },
        { on: { stage: 'implement' }, do: [{ write: { path: 'seen', text: '' } }, { hang: true }] },
        ...honest(),
      ],
    })
    const first = startRalph(project, ['run'])
    await until('the second attempt', () => project.exists('seen'))
    first.kill('SIGTERM')
    expect((await first.ended).code).toBe(143)
    expect(project.read('work/auth.txt')).toBe('nonsense\n')
    const rules = [
      { on: { stage: 'implement' }, do: [{ run: 'ls > seen-files' }, ...implemented()] },
      ...honest(),
    ]
    project.write('agent.json', JSON.stringify(rules))
    const again = await ralph(project, ['run', '--fresh', '--in-place'])
    expect(again.code, again.stdout + again.stderr).toBe(0)
    expect(lines(again.stdout, seed)).toEqual([
      'Ralph Loop: Iteration 1/5 for auth',
      'SUCCESS: auth completed in 1 iterations',
    ])
    expect((await prompts('implement')).at(-1)).toContain('## Previous Attempts\nFirst attempt\n')
    expect(project.read('seen-files')).not.toContain('work')
    expect(project.git('log', '--format=%s').trim().split('\n')).toEqual(['feat: answer auth', 'first'])
  })

  it('goes on where the seed’s own runner stopped, by its state file', async () => {
    const state = `---\ntask_id: auth\niteration: 3\nmax_iterations: 5\nlast_gate: tests\nexit_code: 1\nerror_hash: a3f2b7c1\ntimestamp: 2026-01-21T10:30:00Z\nstuck_count: 3\nstrategy_shifts: 0\nfiles_modified:\n  - src/auth.ts\n---\n\n## Test Output (verbatim)\n\`\`\`\nFAIL src/auth.test.ts\n\`\`\`\n\n## Attempt History\n| # | Gate | Error Hash | Strategy Shift |\n|---|------|------------|----------------|\n| 1 | tests | a3f2b7c1 | no |\n| 2 | tests | a3f2b7c1 | no |\n| 3 | tests | a3f2b7c1 | no |\n`
    project = gatedProject({ script: honest() })
    project.write('.ralph_state.md', state)
    project.git('branch', 'wip/ralph-fail-auth-20260120-080000')
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(lines(result.stdout, seed)).toEqual([
      'Ralph Loop: Iteration 4/5 for auth',
      'SUCCESS: auth completed in 4 iterations',
    ])
    const [told = ''] = await prompts('implement')
    expect(told).toContain('FAIL src/auth.test.ts')
    expect(told).toContain('## IMPORTANT: Strategy Shift Required')
    expect(branches()).toEqual(['archive/ralph-fail-auth-20260120-080000', 'main'])
  })

  it('S3-43 H-24 pushes the branch when asked to, and a remote that cannot be reached is only a warning', async () => {
    project = gatedProject({
      script: [{ on: { stage: 'implement' }, do: wrong('nonsense') }, ...honest()],
      config: 'push: origin',
    })
    const bare = path.join(project.home, 'remote.git')
    project.git('init', '-q', '--bare', bare)
    project.git('remote', 'add', 'origin', bare)
    await ralph(project, ['run', '-n', '1'])
    const pushed = project.git('--git-dir', bare, 'for-each-ref', '--format=%(refname:short)').trim()
    expect(branches()).toContain(pushed)
    project.git('remote', 'set-url', 'origin', path.join(project.home, 'gone.git'))
    const again = await ralph(project, ['run', '-n', '1'])
    expect(again.stdout).toMatch(/! wip\/ralph-fail-auth-\S+ was not pushed to origin: /u)
    expect(lines(again.stdout, seed).at(-1)).toBe('CAP HIT: auth failed after 1 attempts')
  })
})

describe('H-24 what a person did in the meantime', () => {
  /** The first attempt failed, the second waits for the file `go`, and Ralph was stopped. */
  async function stoppedInSecondAttempt(): Promise<void> {
    project = gatedProject({
      script: [
        { on: { stage: 'implement', attempt: 1 }, do: wrong('one') },
        {
          on: { stage: 'implement' },
          do: [{ write: { path: 'seen', text: '' } }, { 'wait-for': 'go' }, ...wrong('two')],
        },
        ...honest(),
      ],
    })
    const first = startRalph(project, ['run', '-n', '2'])
    await until('the second attempt', () => project.exists('seen'))
    first.kill('SIGINT')
    await first.ended
  }

  it('edits of the plan and new branches stay when the work is put back', async () => {
    await stoppedInSecondAttempt()
    project.write('go', '')
    project.write('plan.md', `${project.read('plan.md')}\nA note.\n`)
    project.git('branch', 'mine')
    project.write('new notes.txt', 'of the user\n')
    const result = await ralph(project, ['run', '-n', '2'])
    expect(lines(result.stdout, seed).at(-1)).toBe('CAP HIT: auth failed after 2 attempts')
    expect(project.read('plan.md')).toContain('\nA note.\n')
    expect(branches()).toContain('mine')
    expect(project.read('new notes.txt')).toBe('of the user\n')
    expect(project.exists('work/auth.txt')).toBe(false)
    expect(project.git('log', '--format=%s').trim()).toBe('first')
  })

  it('a commit of the user’s on top of the work is never undone, and that is told', async () => {
    await stoppedInSecondAttempt()
    project.write('mine.txt', 'mine\n')
    project.git('add', 'mine.txt')
    project.git('commit', '-qm', 'mine')
    project.write('go', '')
    const result = await ralph(project, ['run', '-n', '2'])
    expect(lines(result.stdout, seed).at(-1)).toBe('CAP HIT: auth failed after 2 attempts')
    expect(result.stdout).toContain(
      '! main holds commits that no agent made, on top of the work of auth: nothing was put back\n',
    )
    expect(project.git('log', '--format=%s').trim().split('\n')).toEqual([
      'try: two',
      'mine',
      'try: one',
      'first',
    ])
    expect(project.git('show', `${branches()[1]}:.ralph_state.md`)).toBe(project.read('.ralph_state.md'))
  })
})

describe('G-13 S3-03 the consensus at the end', () => {
  const rejects = [{ say: 'the two formats differ' }, { verdict: { is: 'fail', findings: 'formats differ' } }]
  const consensus = 'consensus: { reviewers: 3, quorum: 2 }'

  it('is not held unless asked for; then once, over the whole change, and enough must approve', async () => {
    project = gatedProject({
      tasks: ['auth', 'limit'],
      script: [
        { on: { stage: 'consensus', attempt: 1 }, do: rejects },
        { on: { stage: 'consensus' }, do: [{ 'write-prompt': 'seen-prompt' }, ...approves()] },
        ...honest(),
      ],
      config: consensus,
    })
    const first = project.git('rev-parse', 'HEAD').trim()
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(lines(result.stdout, /of the whole/u)).toEqual([
      '✗ scripted, reviewer 1 of the whole: formats differ',
      '✓ scripted, reviewer 2 of the whole: approved',
      '✓ scripted, reviewer 3 of the whole: approved',
    ])
    expect(result.stdout).toContain('2 of 3 reviewers approve the whole (2 of 3 must): formats differ')
    const told = project.read('seen-prompt')
    expect(told).toContain(`from commit ${first} to ${project.git('rev-parse', 'HEAD').trim()}`)
    expect(told).toContain('- auth: Answer auth\n- limit: Answer limit\n')
    expect(told).toContain('- work/auth.txt\n- work/limit.txt\n')
    const again = await ralph(project, ['run'])
    expect([again.code, lines(again.stdout, /reviewer \d/u)]).toEqual([0, []])
  })

  it('ends the run as failed, with the findings, when too many reject; the same commit is not asked about again', async () => {
    project = gatedProject({
      script: [{ on: { stage: 'consensus' }, do: rejects }, ...honest()],
      config: consensus,
    })
    const result = await ralph(project, ['run'])
    expect(result.code).toBe(1)
    expect(result.stdout).toContain(
      'every task is done, but only 0 of 2 reviewers approve the whole (2 of 3 must): formats differ; formats differ',
    )
    expect(result.stdout).toContain(
      '## Completed: 1/1 tasks\n\n## Consensus Review: 0/2 approve, 2 of 3 must\n\n- Reviewer 1 (scripted): formats differ\n',
    )
    const again = await ralph(project, ['run'])
    expect([again.code, lines(again.stdout, /, reviewer \d/u)]).toEqual([1, []])
    project.write('agent.json', JSON.stringify(honest()))
    project.git('commit', '-qam', 'a better agent')
    expect((await ralph(project, ['run'])).code).toBe(0)
  })

  it('goes on where it was cut off, and what a reviewer changed is put back', async () => {
    project = gatedProject({
      script: [
        {
          on: { stage: 'consensus', attempt: 2 },
          do: [
            { append: { path: 'src/existing.txt', text: 'mine\n' } },
            { write: { path: 'seen', text: '' } },
            { 'wait-for': 'go' },
            ...approves(),
          ],
        },
        ...honest(),
      ],
      config: consensus,
    })
    const running = startRalph(project, ['run'])
    await until('the second reviewer', () => project.exists('seen'))
    running.kill('SIGKILL')
    await running.ended
    project.write('go', '')
    const result = await ralph(project, ['run'])
    expect(result.stdout).toContain(
      'reviewer 2 of the whole: Changed src/existing.txt, but a reviewer may not edit',
    )
    expect(lines(result.stdout, /, reviewer \d/u)).toHaveLength(2)
    expect(result.code, result.stdout).toBe(0)
    expect(project.read('src/existing.txt')).toBe('as it was\n')
  })
})

describe('the templates and the skeleton', () => {
  it('S3-04 S3-05 each role’s prompt can be replaced by the project’s own', async () => {
    project = gatedProject({
      script: honest(),
      files: { 'ralph/prompts/spec.md': 'Look at {{id}}: {{criteria}}\n' },
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(await prompts('spec')).toEqual([
      'Look at auth: - [ ] work/auth.txt holds the answer\n- [ ] nothing else is changed\n',
    ])
  })

  it('a new project is valid and can be rehearsed', async () => {
    project = gatedProject({ script: [], files: { 'package.json': '{"scripts":{"test":"true"}}\n' } })
    project.git('rm', '-q', 'plan.md', 'ralph.config.yaml', 'agent.json')
    project.git('commit', '-qm', 'empty')
    const init = await ralph(project, ['init', '--preset', 'gated', '--yes', '--name', 'Add login'])
    expect(init.code, init.stderr).toBe(0)
    project.git('add', 'plan.md', 'ralph.config.yaml')
    project.git('commit', '-qm', 'ralph init')
    expect(project.read('plan.md')).toContain('## Task 1: Add login\n')
    const run = await ralph(project, ['run', '--agent', 'scripted', '--no-sandbox'])
    expect(run.code, run.stdout + run.stderr).toBe(0)
    expect(lines(run.stdout, seed).at(-1)).toBe('SUCCESS: add-login completed in 1 iterations')
  })
})
