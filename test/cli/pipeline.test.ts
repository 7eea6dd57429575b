import { afterEach, describe, expect, it } from 'vitest'
import {
  honest,
  honestRules,
  logOf,
  pipelineProject,
  taskJson,
  taskOf,
  taskPath,
} from '../helpers/pipeline-project.ts'
import { ralph, startRalph, type TestProject, until } from '../helpers/ralph.ts'

let project: TestProject
afterEach(() => project?.cleanup())

/** Stage and iteration of every call, in order. */
const calls = (id?: string) =>
  logOf(project, id).map(one => `${one.stage} ${one.ralph_iteration}/${one.ralph_max}`)
const reasons = () => logOf(project).map(one => (one.verification as { reason: string } | null)?.reason)
const silent = { say: 'I have looked around.' }

describe('a task on its way through the pipeline', () => {
  it('S2-01 S2-02 S2-03 S2-04 S2-T02 S2-38 repeats each stage until its promise holds, in the order of the seed', async () => {
    project = pipelineProject({
      script: [
        { on: { call: 1 }, do: [silent] },
        {
          on: { call: 2 },
          do: [{ say: 'Committed. TODO: the edge cases' }, { promise: 'IMPLEMENTATION_COMPLETE' }],
        },
        { on: { call: 4 }, do: [{ say: 'Looks good.' }, { promise: 'REVIEW_COMPLETE' }] },
        { on: { call: 6 }, do: [{ say: 'Done.' }, { promise: 'TESTS_COMPLETE' }] },
        { on: { call: 8 }, do: [{ promise: 'qa_passed' }] },
        ...honestRules(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(calls()).toEqual([
      'coder 1/15',
      'coder 2/15',
      'coder 3/15',
      'reviewer 1/5',
      'reviewer 2/5',
      'tester 1/10',
      'tester 2/10',
      'qa 1/5',
      'qa 2/5',
    ])
    expect(reasons()).toEqual([
      'Promise not found or malformed',
      'Output contains contradictions to promise',
      'Promise verified',
      'No review approval detected',
      'Promise verified',
      'No passing tests detected',
      'Promise verified',
      'Promise not found or malformed',
      'Promise verified',
    ])
    expect(logOf(project).map(one => one.continuing)).toEqual([
      true,
      true,
      false,
      true,
      false,
      true,
      false,
      true,
      false,
    ])
    expect(logOf(project)[1]?.verification).toMatchObject({ matched: 'TODO: the edge cases' })
    expect(taskOf(project)).toMatchObject({ status: 'done', metadata: {} })
    expect(result.stdout).toContain('Output contains contradictions to promise: TODO: the edge cases')
  })

  it('H-22 what a reviewer finds goes back to the coder, who is told; then all stages come again', async () => {
    project = pipelineProject({
      script: [
        {
          on: { call: 2 },
          do: [
            { say: 'The empty cart is not tested.' },
            { verdict: { is: 'fail', findings: 'no test for the empty cart' } },
          ],
        },
        {
          on: { call: 3 },
          do: [
            { 'write-prompt': '../told.txt' },
            { append: { path: 'work/{{task}}.txt', text: 'and tested\n' } },
            { commit: { message: 'test it', paths: ['work/{{task}}.txt'] } },
            { say: 'Committed.' },
            { promise: 'IMPLEMENTATION_COMPLETE' },
          ],
        },
        ...honestRules(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(calls()).toEqual([
      'coder 1/15',
      'reviewer 1/5',
      'coder 2/15',
      'reviewer 2/5',
      'tester 1/10',
      'qa 1/5',
    ])
    const told = project.read('.ralph/worktrees/told.txt')
    expect(told).toContain('stage reviewer: no test for the empty cart')
    expect(told).toContain('> The empty cart is not tested.')
    expect(told).toContain('- **Ralph Iteration**: 2/15')
  })

  it('H-20 a commit and passing tests are seen, not believed', async () => {
    project = pipelineProject({
      script: [
        {
          on: { call: 1 },
          do: [
            { write: { path: 'work/TASK-001.txt', text: 'nothing yet\n' } },
            { say: 'Committed.' },
            { promise: 'IMPLEMENTATION_COMPLETE' },
          ],
        },
        {
          on: { call: 2 },
          do: [
            { commit: { message: 'a start', paths: ['work/TASK-001.txt'] } },
            { say: 'Committed.' },
            { promise: 'IMPLEMENTATION_COMPLETE' },
          ],
        },
        ...honestRules(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(reasons()[0]).toBe('No commit detected: HEAD did not move')
    // The tester's word was accepted, the gates were red, and the coder had to come again.
    expect(calls()).toEqual([
      'coder 1/15',
      'coder 2/15',
      'reviewer 1/5',
      'tester 1/10',
      'coder 3/15',
      'reviewer 2/5',
      'tester 2/10',
      'qa 1/5',
    ])
    expect(project.read('work/TASK-001.txt')).toBe('answer TASK-001\n')
  })

  it('H-23 an agent that repeats its prompt, quotes the promise or shows it in code has promised nothing', async () => {
    const tag = '<promise>IMPLEMENTATION_COMPLETE</promise>'
    project = pipelineProject({
      script: [
        { on: { call: 1 }, do: [...honest.coder().slice(0, 2), { 'echo-prompt': true }] },
        {
          on: { call: 2 },
          do: [
            { say: `I will print ${tag} when I am done.\n\n> ${tag}\n\n\`\`\`\n${tag}\n\`\`\`\n\`${tag}\`` },
          ],
        },
        { on: { call: 3 }, do: [{ say: `Committed.\n\n${tag}` }] },
        ...honestRules(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(reasons().slice(0, 3)).toEqual([
      'Promise not found or malformed',
      'Promise not found or malformed',
      'Promise verified',
    ])
    expect(logOf(project)[1]?.promises).toEqual([
      { text: 'IMPLEMENTATION_COMPLETE', accepted: false, reason: 'Promise not found or malformed' },
    ])
  })

  it('S2-48 S2-50 S2-T07 a timeout is one iteration used and logged, and the loop goes on', async () => {
    project = pipelineProject({
      script: [
        { on: { call: 1 }, do: [{ hang: true }] },
        { on: { call: 3 }, do: [{ hang: true }] },
        ...honestRules(),
      ],
      config: 'limits: { timeout: 1s }',
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(calls().slice(0, 4)).toEqual(['coder 1/15', 'coder 2/15', 'reviewer 1/5', 'reviewer 2/5'])
    expect(logOf(project)[0]).toMatchObject({
      timed_out: true,
      continuing: true,
      success: false,
      issues: [expect.stringMatching(/^Timeout after \ds$/u)],
    })
    expect(logOf(project)[2]).toMatchObject({ stage: 'reviewer', timed_out: true, continuing: true })
  })

  it('S2-14 S2-T06 a switched-off stage runs once and needs no promise; the global switch is above all', async () => {
    project = pipelineProject({
      script: [{ on: { stage: 'reviewer' }, do: [silent] }, ...honestRules()],
      specflow: 'ralph:\n  reviewer:\n    enabled: false\n',
    })
    const one = await ralph(project, ['run'])
    expect(one.code, one.stdout + one.stderr).toBe(0)
    expect(calls()).toEqual(['coder 1/15', 'reviewer 1/1', 'tester 1/10', 'qa 1/5'])
    expect(logOf(project)[1]).toMatchObject({
      promise_found: false,
      continuing: false,
      success: true,
      verification: null,
    })
    project.cleanup()
    project = pipelineProject({
      script: [{ on: { stage: 'coder' }, do: [...honest.coder().slice(0, 2), silent] }, { do: [silent] }],
      specflow: 'ralph:\n  enabled: false\n  coder:\n    enabled: true\n',
    })
    const all = await ralph(project, ['run'])
    expect(all.code, all.stdout + all.stderr).toBe(0)
    expect(calls()).toEqual(['coder 1/1', 'reviewer 1/1', 'tester 1/1', 'qa 1/1'])
  })

  it('S2-14 a switched-off stage that crashes is not repeated', async () => {
    project = pipelineProject({
      script: [{ on: { stage: 'coder' }, do: [{ exit: 7 }] }, ...honestRules()],
      specflow: 'ralph:\n  coder:\n    enabled: false\n',
      config: 'limits: { requeues: 0 }',
    })
    const result = await ralph(project, ['run'])
    expect(result.code).toBe(1)
    expect(calls()).toEqual(['coder 1/1'])
    expect(taskOf(project)).toMatchObject({
      status: 'failed',
      metadata: { ralph_failure: { stage: 'coder', iterations_used: 1, reason: 'Agent exited with code 7' } },
    })
  })

  it('S2-25 S2-49 a wrong configuration is refused before anything runs', async () => {
    project = pipelineProject({
      script: honestRules(),
      specflow: 'ralph:\n  coder:\n    max_iterations: 0\n',
    })
    for (const command of ['run', 'validate']) {
      const result = await ralph(project, [command])
      expect(result.code).not.toBe(0)
      expect(result.stdout + result.stderr).toContain(
        '.specflow/config.yaml:3: ralph.coder.max_iterations: expected a whole number from 1 to 1000, found 0',
      )
    }
    expect(project.exists('.ralph/runs')).toBe(false)
  })
})

describe('limits', () => {
  const two = 'ralph:\n  coder:\n    max_iterations: 2\n'

  it('S2-15 S2-46 S2-T05 when the limit is reached the task is todo again, with the failure in the seed’s shape', async () => {
    project = pipelineProject({ script: [{ do: [{ say: 'Not finished.\nStill at it.' }] }], specflow: two })
    const result = await ralph(project, ['run', '-n', '2'])
    expect(result.code).toBe(1)
    expect(project.read(taskPath('TASK-001'))).toBe(
      taskJson('TASK-001', {
        metadata: {
          ralph_failure: {
            stage: 'coder',
            iterations_used: 2,
            last_output: 'Not finished.\nStill at it.',
            reason: 'Max iterations reached without completion promise',
          },
        },
      }),
    )
    expect(logOf(project).at(-1)).toMatchObject({
      success: false,
      continuing: false,
      issues: ['Promise not found or malformed', 'Ralph loop exceeded 2 iterations'],
    })
    expect((await ralph(project, ['explain', 'TASK-001'])).stdout).toContain(
      'Ralph loop exceeded 2 iterations',
    )
  })

  it('H-21 a task goes back to the queue twice, then it failed; the work of each pass is kept', async () => {
    project = pipelineProject({
      script: [{ do: [{ write: { path: 'half.txt', text: 'half' } }, silent] }],
      specflow: two,
      tasks: ['TASK-001', 'TASK-002'],
      verify: 'none',
    })
    const result = await ralph(project, ['run', '-s', 'TASK-001'])
    expect(result.code).toBe(1)
    expect(calls()).toEqual(Array.from({ length: 6 }, (_, index) => `coder ${(index % 2) + 1}/2`))
    expect(taskOf(project)).toMatchObject({
      status: 'failed',
      metadata: { ralph_failure: { iterations_used: 2 } },
    })
    expect(result.stdout).toContain('1 task failed: TASK-001')
    const branch = project.git('branch', '--list', 'wip/ralph-fail-*').trim()
    expect(project.git('show', `${branch}:half.txt`)).toBe('half')
    expect(project.git('for-each-ref', 'refs/ralph/failed').trim().split('\n')).toHaveLength(3)
    expect(project.exists('half.txt')).toBe(false)
  })

  it('S2-51 S2-52 S2-T09 the cost of every call is logged, and the breakers of task and run stop, after a warning', async () => {
    const dear = { usage: { costUsd: 0.3, inputTokens: 10, outputTokens: 5 } }
    project = pipelineProject({
      script: [{ do: [silent, dear] }],
      tasks: ['TASK-001', 'TASK-002'],
      verify: 'none',
      config: 'limits: { taskCost: 1, cost: 2.2 }',
    })
    const result = await ralph(project, ['run'])
    expect(result.code).toBe(1)
    expect(logOf(project).map(one => one.cost_usd)).toEqual([0.3, 0.3, 0.3, 0.3])
    expect(result.stdout).toContain("TASK-001: $0.90 of $1.00 spent (80 % of the task's budget)")
    expect(taskOf(project)).toMatchObject({ status: 'failed' })
    expect(result.stdout).toContain('Money for this task is used up')
    expect(result.stdout).toContain('(80 % of the budget)')
    // The second task had four calls as well; then both breakers are at their end.
    expect(logOf(project, 'TASK-002')).toHaveLength(4)
    const run = await ralph(project, ['run', '--fresh', '--max-cost', '0.5'])
    expect(run.code).toBe(1)
    expect(run.stdout).toContain('$0.60 of $0.50 spent')
  })
})

describe('from outside', () => {
  it('S2-06 S2-36 S2-39 S2-40 S2-41 S2-42 S2-T08 the loop can be seen and cancelled from another process', async () => {
    project = pipelineProject({
      script: [{ on: { call: 1 }, do: [silent] }, { do: [{ say: 'at work' }, { hang: true }] }],
      tasks: ['TASK-001', 'TASK-002'],
      verify: 'none',
    })
    const running = startRalph(project, ['run'])
    await until('the second iteration', () => taskOf(project).metadata.ralph?.iteration === 2)
    const { status, metadata } = taskOf(project)
    expect(status).toBe('in_progress')
    expect(metadata.ralph).toEqual({
      stage: 'coder',
      iteration: 2,
      max_iterations: 15,
      started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/u),
      completion_promise: 'IMPLEMENTATION_COMPLETE',
    })
    const looked = await ralph(project, ['status'])
    expect(looked.stdout).toMatch(
      /^Active Ralph Loops:\n {2}TASK-001 \(coder\): iteration 2\/15, started \d+s ago$/mu,
    )
    const json = JSON.parse((await ralph(project, ['status', '--json'])).stdout)
    expect(json.loops).toMatchObject([{ task: 'TASK-001', stage: 'coder', iteration: 2, max: 15 }])
    const step = json.working.step as string
    expect(project.read(`.ralph/runs/${step}/prompt.md`)).toContain('- **Ralph Iteration**: 2/15')

    expect((await ralph(project, ['cancel', 'TASK-009'])).code).toBe(1)
    const cancelled = await ralph(project, ['cancel', 'TASK-001'])
    expect(cancelled.code, cancelled.stderr).toBe(0)
    expect(cancelled.stdout).toBe('Cancelled Ralph loop for TASK-001 at iteration 2/15\n')
    await until('the next task', () => taskOf(project, 'TASK-002').metadata.ralph)
    expect(taskOf(project)).toMatchObject({ status: 'cancelled', metadata: {} })
    expect(taskOf(project).metadata.ralph).toBeUndefined()
    running.kill('SIGINT')
    expect((await running.ended).code).toBe(130)
    expect((await ralph(project, ['status'])).stdout).toMatch(/^No active Ralph loops\.$/mu)
    const again = await ralph(project, ['cancel', 'TASK-001'])
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('task TASK-001 is cancelled')
  })

  it('C-29 the settings of SpecFlow are read, and Ralph’s own win', async () => {
    project = pipelineProject({
      script: [{ do: [silent] }],
      specflow: 'ralph:\n  coder:\n    max_iterations: 2\n  qa:\n    max_iterations: 1\n',
      config: 'stages: { coder: { limit: 3 } }',
      verify: 'none',
    })
    await ralph(project, ['run', '-n', '3'])
    expect(calls()).toEqual(['coder 1/3', 'coder 2/3', 'coder 3/3'])
  })

  it('goes on with a project that SpecFlow has worked on: what is done stays done', async () => {
    project = pipelineProject({
      tasks: ['TASK-001', 'TASK-002'],
      script: honestRules(),
      verify: 'none',
      files: {
        [taskPath('TASK-001')]: taskJson('TASK-001', { status: 'done', metadata: { worktree: 'x' } }),
      },
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(logOf(project)).toEqual([])
    expect(project.read(taskPath('TASK-001'))).toBe(
      taskJson('TASK-001', { status: 'done', metadata: { worktree: 'x' } }),
    )
    expect(taskOf(project, 'TASK-002').status).toBe('done')
  })
})
