import { statSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Ended, program, ralph, startRalph, type TestProject, until } from '../helpers/ralph.ts'
import {
  editState,
  fixes,
  honest,
  implementation,
  plan,
  planFile,
  reviews,
  stepwiseProject,
  taskPath,
  taskText,
} from '../helpers/stepwise-project.ts'

let project: TestProject
afterEach(() => project?.cleanup())

const step = (...args: string[]) => ralph(project, ['step', ...args])
const run = (...args: string[]) => ralph(project, ['run', ...args], { timeout: 60_000 })
const task = 'docs/specs/001-feature/tasks/TASK-037.md'
const rule = '═'.repeat(55)
/** The steps that were printed, in their order. */
const stepsIn = ({ stdout }: Ended) =>
  [...stdout.matchAll(/^Ralph Loop \| Step: (\w+)/gmu)].map(match => match[1])
/** Keeps the plan as it is while the agent of a step runs. */
const keepPlan = { run: `mkdir -p seen && cp ${planFile()} "seen/$RALPH_STAGE-\${RALPH_TASK##*/}.json"` }
const seen = (name: string) => JSON.parse(project.read(`seen/${name}.json`))

describe('step by step', () => {
  it('S0-01 S0-03 S0-04 S0-21 S0-22 S0-26 S0-35 S0-40 S0-41 S0-45 S0-50 S0-52 S0-61 S0-65 S0-72 S0-T07 one invocation is one step, printed in the seed’s words', async () => {
    project = stepwiseProject({
      tasks: [
        { id: 'TASK-036', status: 'completed' },
        { id: 'TASK-037', title: 'Implement caching layer', needs: ['TASK-036'] },
      ],
    })
    const state = () => plan(project).state
    const said = async () => {
      const { code, stdout, stderr } = await step()
      expect([code, stderr]).toEqual([0, ''])
      return stdout
    }
    expect(await said()).toBe(
      'Ralph Loop | Step: init | Range: TASK-036→TASK-037\n→ Found 2 tasks in range\n→ Initialized fix_plan.json\n→ Next: choose_task\n',
    )
    expect(state()).toMatchObject({ step: 'choose_task', current_task: null, iteration: 1, error: null })
    expect(await said()).toBe(
      'Ralph Loop | Step: choose_task | Iteration: 1\n→ Selected: TASK-037 "Implement caching layer"\n→ Dependencies: satisfied\n→ Next: implementation\n',
    )
    expect(project.exists('work')).toBe(false)
    expect(state()).toMatchObject({
      step: 'implementation',
      current_task: 'TASK-037',
      current_task_file: task,
      current_task_lang: 'spring',
      retry_count: 0,
    })
    expect(await said()).toBe(
      `Ralph Loop | Step: implementation | Task: TASK-037\n→ Running /specs:task-implementation --lang=spring --task="${task}"\n→ Success → Next: review\n`,
    )
    expect(state().step).toBe('review')
    expect(await said()).toBe(
      `Ralph Loop | Step: review | Task: TASK-037 | Retry: 0/3\n→ Running /specs:task-review --no-confirm --lang=spring "${task}"\n→ Reading review report\n→ Clean → Next: cleanup\n`,
    )
    expect(state().step).toBe('cleanup')
    expect(await said()).toBe(
      `Ralph Loop | Step: cleanup | Task: TASK-037\n→ Running /specs:code-cleanup --no-confirm --lang=spring --task="${task}"\n→ Cleanup complete → Next: sync\n`,
    )
    expect(state().step).toBe('sync')
    expect(await said()).toBe(
      'Ralph Loop | Step: sync | Task: TASK-037\n→ Running /specs:spec-sync-with-code docs/specs/001-feature/ --after-task=TASK-037\n→ Sync complete → Next: update_done\n',
    )
    expect(state().step).toBe('update_done')
    expect(await said()).toBe(
      'Ralph Loop | Step: update_done | Task: TASK-037\n→ Marked TASK-037 done\n→ Progress: 2/2 in range (100%)\n→ Iteration: 2\n→ Next: choose_task\n',
    )
    expect(state()).toMatchObject({ step: 'choose_task', iteration: 2, current_task: 'TASK-037' })
    expect(await said()).toBe(
      'Ralph Loop | Step: choose_task | Iteration: 2\n→ No more tasks in range\n→ Next: complete\n',
    )
    expect(state().step).toBe('complete')
    const bytes = project.read(planFile())
    expect(await said()).toBe(
      `Ralph Loop | COMPLETE\n${rule}\nTask Range: TASK-036 → TASK-037\nTasks Completed: 2/2\nTotal Iterations: 4\nDeviations Detected: 0\nLearnings Captured: 0\n\nRun --action=start with a new range to continue.\n`,
    )
    expect(project.read(planFile())).toBe(bytes)
  })
})

describe('a step that is killed', () => {
  it('S0-03 is taken again, and nothing of it is left', async () => {
    const first = 'test -e seen-it || { echo half done > src/existing.txt; touch seen-it; sleep 60; }'
    project = stepwiseProject({
      script: [{ on: { stage: 'implementation' }, do: [{ run: first }, ...implementation()] }, ...honest()],
    })
    for (let count = 0; count < 2; count++) await step()
    const running = startRalph(project, ['step'])
    await until('the agent at work', () => project.exists('seen-it'))
    running.kill('SIGKILL')
    await running.ended
    expect(plan(project).state).toMatchObject({ step: 'implementation', current_task: 'TASK-001' })
    const again = await step('--wait')
    expect(again.stdout, again.stderr).toContain('→ Success → Next: review\n')
    expect(project.read('src/existing.txt')).toBe('as it was\n')
    expect(plan(project).state).toMatchObject({ step: 'review', retry_count: 0 })
  })
})

describe('a whole run', () => {
  it('S0-T01 S0-T05 S0-T06 S0-37 S0-38 S0-39 S0-69 S0-70 S0-84 H-04 does the range in order and stops', async () => {
    project = stepwiseProject({
      tasks: [
        { id: 'TASK-035', complexity: 1 },
        { id: 'TASK-036', complexity: 50 },
        { id: 'TASK-037', complexity: 10, needs: ['TASK-039'] },
        { id: 'TASK-038', complexity: null },
        { id: 'TASK-039', complexity: 30, needs: ['TASK-040'] },
        { id: 'TASK-040', complexity: 30 },
        { id: 'TASK-041', complexity: 50 },
        { id: 'TASK-042', complexity: 1 },
      ],
      script: [{ on: { stage: 'implementation' }, do: [keepPlan, ...implementation()] }, ...honest()],
    })
    const result = await run('--from-task=TASK-036', '--to-task=TASK-041', '--interval', '1ms')
    expect(result.code, result.stdout + result.stderr).toBe(0)
    const each = ['choose_task', 'implementation', 'review', 'cleanup', 'sync', 'update_done']
    expect(stepsIn(result)).toEqual(['init', ...Array(6).fill(each).flat(), 'choose_task'])
    expect(result.stdout).toContain(
      `Ralph Loop | COMPLETE\n${rule}\nTask Range: TASK-036 → TASK-041\nTasks Completed: 6/6\nTotal Iterations: 24\n`,
    )
    const order = ['TASK-040', 'TASK-039', 'TASK-037', 'TASK-036', 'TASK-041', 'TASK-038']
    expect(plan(project)).toMatchObject({
      state: { step: 'complete', iteration: 7, range_progress: { done_in_range: 6, total_in_range: 6 } },
      done: order,
      pending: [],
    })
    const ready = (name: string) =>
      seen(name).tasks.flatMap((one: { id: string; dependencies_satisfied: boolean }) =>
        one.dependencies_satisfied ? [one.id] : [],
      )
    expect(ready('implementation-TASK-040')).toEqual(['TASK-036', 'TASK-038', 'TASK-040', 'TASK-041'])
    expect(ready('implementation-TASK-039')).toContain('TASK-039')
    expect(ready('implementation-TASK-039')).not.toContain('TASK-037')
    expect(ready('implementation-TASK-037')).toContain('TASK-037')
    const subjects = project.git('log', '--format=%s').trim().split('\n').reverse()
    expect(subjects).toEqual([
      'first',
      ...order.map((id, at) => `Ralph iteration ${at + 1}: ${id} [Do ${id}]`),
    ])
    for (const id of ['TASK-035', 'TASK-042']) expect(project.read(taskPath(id))).toContain('status: pending')
  })

  it('S0-T11 S0-68 S0-71 H-07 the record: two fields of the front matter, the plan saved first, then the commit', async () => {
    const odd = `---\r\nid: TASK-001   # the first\r\ntitle: 'It''s {title}'\r\nstatus: "in_progress" # soon\r\nlang: php\r\n---\r\nText\u2026  \r\n\r\nno newline at the end`
    project = stepwiseProject({ files: { [taskPath('TASK-001')]: odd } })
    for (let count = 0; count < 7; count++) expect((await step()).code).toBe(0)
    const day = new Date().toISOString().slice(0, 10)
    expect(project.read(taskPath('TASK-001'))).toBe(
      odd
        .replace('"in_progress" # soon', 'completed # soon')
        .replace('lang: php\r\n', `lang: php\r\ncompleted_date: ${day}\r\n`),
    )
    expect(project.git('log', '-1', '--format=%s').trim()).toBe("Ralph iteration 1: TASK-001 [It's {title}]")
    expect(project.git('show', '--name-only', '--format=').trim().split('\n').sort()).toEqual([
      planFile(),
      'docs/specs/001-feature/_ralph_loop/run-ralph.sh',
      'docs/specs/001-feature/tasks/TASK-001--review.md',
      taskPath('TASK-001'),
      'work/001-feature/TASK-001.txt',
    ])
    expect(JSON.parse(project.git('show', `HEAD:${planFile()}`)).state.step).toBe('choose_task')
    expect(project.git('status', '--porcelain')).toBe('')
  })

  it('S0-T02 S0-24 S0-28 S0-51 S0-53 S0-54 S0-56 S0-57 S0-58 a review that fails once leads to one fix', async () => {
    project = stepwiseProject({
      tasks: [{ id: 'TASK-001' }, { id: 'TASK-002' }],
      script: [
        { on: { stage: 'review', call: 2 }, do: [keepPlan, ...reviews('fail', 'the empty list crashes')] },
        { on: { stage: 'review', call: 4 }, do: [keepPlan, ...reviews('pass')] },
        { on: { stage: 'fix' }, do: [{ 'write-prompt': 'seen-fix.md' }, ...fixes()] },
        { on: { stage: 'cleanup', call: 5 }, do: [keepPlan, { say: 'Clean.' }] },
        { on: { stage: 'implementation', call: 7 }, do: [keepPlan, ...implementation()] },
        ...honest(),
      ],
    })
    const result = await run()
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(stepsIn(result).slice(2, 8)).toEqual([
      'implementation',
      'review',
      'fix',
      'review',
      'cleanup',
      'sync',
    ])
    expect(result.stdout).toContain('Task: TASK-001 | Retry: 0/3\n')
    expect(result.stdout).toContain('→ Reading review report\n→ Issues found → Next: fix\n')
    expect(result.stdout).toContain(
      'Ralph Loop | Step: fix | Task: TASK-001 | Retry: 1/3\n→ Reading review report: docs/specs/001-feature/tasks/TASK-001--review.md\n→ Fixes applied → Next: review\n',
    )
    expect(result.stdout).toContain('Ralph Loop | Step: review | Task: TASK-001 | Retry: 1/3\n')
    expect(seen('cleanup-TASK-001').state.retry_count).toBe(1)
    expect(seen('implementation-TASK-002').state).toMatchObject({ retry_count: 0, current_task: 'TASK-002' })
    const prompt = project.read('seen-fix.md')
    expect(prompt).toContain('docs/specs/001-feature/tasks/TASK-001--review.md')
    expect(prompt).toContain('> 1. the empty list crashes')
    expect(project.read('work/001-feature/TASK-001.txt')).toBe('the work\nmended\n')
  })
})

describe('failures', () => {
  it('S0-T03 S0-27 S0-75 S0-77 C-22 three failed reviews end it; it is told again and again, until --resume goes on at the review', async () => {
    project = stepwiseProject({
      script: [{ on: { stage: 'review' }, do: reviews('fail') }, ...honest()],
      config: 'limits: { iterations: 99 }',
    })
    const result = await run()
    expect(result.code).toBe(1)
    expect(stepsIn(result).filter(name => name === 'fix')).toHaveLength(2)
    expect(stepsIn(result).filter(name => name === 'review')).toHaveLength(3)
    expect(result.stdout).toContain('→ Issues found → Next: failed\n')
    expect(plan(project).state).toMatchObject({
      step: 'failed',
      error: 'review failed after 3 retries',
      retry_count: 3,
      current_task: 'TASK-001',
    })
    const bytes = project.read(planFile())
    const failed = await step('--action=loop')
    expect(failed.code).toBe(1)
    expect(failed.stdout).toBe(
      `Ralph Loop | FAILED\n${rule}\nTask: TASK-001\nError: review failed after 3 retries\n\nFix the issues manually, then resume:\nralph run --preset stepwise --action=loop --resume --spec=docs/specs/001-feature/\n`,
    )
    expect((await run()).code).toBe(1)
    expect(project.read(planFile())).toBe(bytes)

    // A person mends it, in a file of the agent and in one of his own.
    project.write('work/001-feature/TASK-001.txt', 'mended by hand\n')
    project.write('src/existing.txt', 'mended by hand, too\n')
    project.write('agent.json', JSON.stringify(honest()))
    const hint = failed.stdout.trim().split('\n').at(-1) ?? ''
    const resumed = await ralph(project, hint.split(' ').slice(1))
    expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0)
    expect(stepsIn(resumed)).toEqual(['review', 'cleanup', 'sync', 'update_done', 'choose_task'])
    expect(resumed.stdout).toContain('Step: review | Task: TASK-001 | Retry: 0/3')
    expect(plan(project).state).toMatchObject({ step: 'complete', error: null })
    expect(project.git('show', 'HEAD:src/existing.txt')).toBe('mended by hand, too\n')
  })

  it('S0-T04 S0-23 S0-25 a failed implementation and a failed fix have the seed’s words', async () => {
    project = stepwiseProject({
      script: [{ on: { stage: 'implementation', call: 1 }, do: [{ say: 'no' }, { exit: 3 }] }, ...honest()],
    })
    const first = await run()
    expect(first.code).toBe(1)
    expect(first.stdout).toContain('→ Failed → Next: failed\n')
    expect(first.stdout).toContain('Error: implementation failed\n')
    expect(plan(project).state).toMatchObject({ step: 'failed', error: 'implementation failed' })
    project.write(
      'agent.json',
      JSON.stringify([
        { on: { stage: 'review' }, do: reviews('fail') },
        { on: { stage: 'fix' }, do: [{ say: 'VERDICT: fail: I cannot' }] },
        ...honest(),
      ]),
    )
    const second = await run('--resume')
    expect(stepsIn(second)).toEqual(['implementation', 'review', 'fix'])
    expect(plan(project).state).toMatchObject({ step: 'failed', error: 'fix failed', retry_count: 1 })
  })

  it('H-03 S0-49 no report, an old report and a reviewer that edits are failed reviews', async () => {
    project = stepwiseProject({
      script: [
        { on: { stage: 'review', call: 2 }, do: [{ say: 'All fine!' }] },
        {
          on: { stage: 'review', call: 4 },
          do: [...reviews('pass'), { write: { path: 'src/existing.txt', text: 'x' } }],
        },
        { on: { stage: 'review', call: 6 }, do: [{ say: 'It is fine, see the report.' }] },
        ...honest(),
      ],
    })
    const result = await run()
    expect(result.code).toBe(1)
    expect(plan(project).state.error).toBe('review failed after 3 retries')
    const { stdout } = await ralph(project, ['explain', '001-feature/TASK-001'])
    expect(stdout).toContain('The review report is an old one')
    expect(project.read('src/existing.txt')).toBe('as it was\n')
  })

  it('H-06 a clean-up that breaks the checks is found out and mended', async () => {
    project = stepwiseProject({
      script: [
        {
          on: { stage: 'cleanup', call: 3 },
          do: [{ append: { path: 'work/001-feature/TASK-001.txt', text: 'BROKEN\n' } }, { say: 'Tidy!' }],
        },
        { on: { stage: 'fix' }, do: [{ 'write-prompt': 'seen-fix.md' }, ...implementation()] },
        ...honest(),
      ],
    })
    const result = await run()
    expect(result.code, result.stdout).toBe(0)
    expect(stepsIn(result)).toEqual([
      ...['init', 'choose_task', 'implementation', 'review', 'cleanup', 'sync', 'update_done'],
      ...['fix', 'review', 'cleanup', 'sync', 'update_done', 'choose_task'],
    ])
    expect(result.stdout).toContain('→ Not done: `sh check.sh` fails with exit code 1\n→ Next: fix\n')
    expect(project.read('seen-fix.md')).toContain('something is broken')
    expect(project.git('show', 'HEAD:work/001-feature/TASK-001.txt')).toBe('the work\n')
  })

  it('H-05 a usage limit is waited out and does not count', async () => {
    project = stepwiseProject({
      script: [{ on: { stage: 'implementation', call: 1 }, do: [{ limit: true }] }, ...honest()],
    })
    for (let count = 0; count < 2; count++) await step()
    const limited = await step()
    expect(limited.code, limited.stdout).toBe(0)
    expect(limited.stdout).toContain('this does not count')
    expect(plan(project).state).toMatchObject({ step: 'implementation', error: null })
    const result = await run()
    expect(result.code, result.stdout).toBe(0)
  })

  it('H-08 a dirty tree is refused; S0-71 so is one in the middle of a merge', async () => {
    project = stepwiseProject()
    project.write('src/existing.txt', 'the user’s own work\n')
    const dirty = await step()
    expect(dirty.code).toBe(1)
    expect(dirty.stderr).toContain('src/existing.txt')
    expect(project.exists(planFile())).toBe(false)
    project.git('checkout', '-q', 'src/existing.txt')
    project.write('.git/MERGE_HEAD', project.git('rev-parse', 'HEAD'))
    const merging = await step()
    expect(merging.code).toBe(1)
    expect(merging.stderr).toMatch(/merge/iu)
  })
})

describe('starting, continuing, blocked', () => {
  const two = [{ id: 'TASK-036' }, { id: 'TASK-037' }, { id: 'TASK-038' }]

  it('H-01 S0-29 S0-32 S0-33 S0-76 S0-83 start on an unfinished plan goes on; another range begins a new plan; --force resets', async () => {
    project = stepwiseProject({ tasks: two })
    const start = [
      '--action=start',
      '--spec=docs/specs/001-feature/',
      '--from-task=TASK-036',
      '--to-task=TASK-037',
    ]
    expect((await step(...start)).stdout).toContain(
      'Step: init | Range: TASK-036→TASK-037\n→ Found 2 tasks in range',
    )
    expect((await step(...start)).stdout).toContain('Selected: TASK-036')
    expect((await step(...start)).stdout).toContain('Step: implementation | Task: TASK-036')
    const other = await step('--action=loop', '--to-task=TASK-038')
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('--action=start')])
    const forced = await step('--action=start', '--force')
    expect(forced.stdout).toContain('Step: init | Range: TASK-036→TASK-037')
    expect(plan(project).state).toMatchObject({ step: 'choose_task', retry_count: 0 })
    expect((await run('--action=loop')).code).toBe(0)
    expect(plan(project)).toMatchObject({
      state: { step: 'complete', iteration: 3 },
      done: ['TASK-036', 'TASK-037'],
    })
    expect((await run(...start)).stdout).toMatch(/^Ralph Loop \| COMPLETE\n/u)
    const next = await step('--action=start', '--from-task=TASK-037', '--to-task=TASK-038')
    expect(next.stdout).toContain('Step: init | Range: TASK-037→TASK-038\n→ Found 2 tasks in range')
    expect(plan(project)).toMatchObject({
      task_range: { from: 'TASK-037', to: 'TASK-038', from_num: 37, to_num: 38, total_in_range: 2 },
      state: { step: 'choose_task', iteration: 1, current_task: null, range_progress: { done_in_range: 1 } },
      pending: ['TASK-038'],
    })
    expect((await run()).code).toBe(0)
    expect(project.git('log', '-1', '--format=%s').trim()).toBe('Ralph iteration 1: TASK-038 [Do TASK-038]')
  })

  it('H-02 tasks that wait for what is not in range are told apart from complete', async () => {
    project = stepwiseProject({
      tasks: [{ id: 'TASK-035' }, { id: 'TASK-036' }, { id: 'TASK-037', needs: ['TASK-035', 'TASK-036'] }],
    })
    const blocked = await run('--from-task=TASK-036')
    expect(blocked.code).toBe(1)
    expect(blocked.stdout).toContain('→ Blocked: TASK-037 needs TASK-035\n→ Next: failed\n')
    expect(blocked.stdout).not.toContain('COMPLETE')
    expect(plan(project)).toMatchObject({
      state: { step: 'failed', error: 'blocked: TASK-037 needs TASK-035' },
      pending: ['TASK-037'],
    })
    expect((await step()).stdout).toContain('Task: TASK-037\nError: blocked: TASK-037 needs TASK-035\n')
    // Once the dependency is gone, it simply goes on.
    project.write(taskPath('TASK-037'), taskText({ id: 'TASK-037', needs: ['TASK-036'] }))
    expect((await run()).code).toBe(0)
  })

  it('two specs have tasks of the same name, and plans of their own', async () => {
    project = stepwiseProject({
      files: { [taskPath('TASK-001', '002-other')]: taskText({ id: 'TASK-001' }) },
    })
    const which = await step()
    expect([which.code, which.stderr]).toEqual([2, expect.stringContaining('docs/specs/002-other/')])
    expect((await run('--spec=002-other', '-s', 'TASK-001')).code).toBe(0)
    expect(plan(project, '002-other').done).toEqual(['TASK-001'])
    expect(project.exists(planFile())).toBe(false)
    expect((await step('--spec', path.join(project.root, 'docs/specs/001-feature'))).code).toBe(0)
    // The only one that is not finished.
    expect((await run()).code).toBe(0)
    expect(plan(project).done).toEqual(['TASK-001'])
  })
})

describe('the file is trusted', () => {
  it('S0-06 S0-T10 a person’s edit of the step or the current task is honoured', async () => {
    project = stepwiseProject({
      tasks: [{ id: 'TASK-001' }, { id: 'TASK-002' }],
      script: [{ on: { stage: 'implementation' }, do: fixes() }, ...honest()],
    })
    for (let count = 0; count < 4; count++) await step()
    expect(plan(project).state.step).toBe('cleanup')
    editState(project, { step: 'review' })
    expect(stepsIn(await step())).toEqual(['review'])
    editState(project, { step: 'choose_task' })
    expect((await step()).stdout).toContain('Step: choose_task')
    editState(project, { current_task: 'TASK-002', step: 'implementation' })
    expect((await step()).stdout).toContain('Step: implementation | Task: TASK-002')
    expect(plan(project).state).toMatchObject({ step: 'review', current_task: 'TASK-002' })
    // Past its review, it is not done until it is reviewed.
    editState(project, { step: 'update_done' })
    expect((await step()).stdout).toContain('→ Not done: no review passed\n→ Next: review\n')
    expect((await run()).code).toBe(0)
    expect(plan(project).done.sort()).toEqual(['TASK-001', 'TASK-002'])
  })

  it('what somebody else says is done is verified first; what git ignores is not committed', async () => {
    project = stepwiseProject({
      tasks: [{ id: 'TASK-001' }, { id: 'TASK-002' }],
      files: { '.gitignore': 'ralph.log\n_ralph_loop/\n' },
    })
    await step()
    const value = plan(project)
    project.write(planFile(), JSON.stringify({ ...value, done: ['TASK-001'], pending: ['TASK-002'] }))
    const result = await run()
    expect(result.code, result.stdout).toBe(0)
    expect(stepsIn(result).slice(0, 2)).toEqual(['update_done', 'review'])
    expect(project.git('ls-files', 'docs')).not.toContain('_ralph_loop')
    expect(project.git('ls-files', 'docs')).toContain('TASK-001--review.md')
  })

  it('S0-12 an unknown step is named, and nothing is changed', async () => {
    project = stepwiseProject()
    await step()
    editState(project, { step: 'deploy' })
    const bytes = project.read(planFile())
    const wrong = await step()
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toContain('unknown state.step "deploy"')
    expect(project.read(planFile())).toBe(bytes)
    project.write(planFile(), '{ "state": ')
    const broken = await step()
    expect([broken.code, broken.stderr]).toEqual([1, expect.stringContaining('is not valid JSON')])
    expect(project.read(planFile())).toBe('{ "state": ')
  })

  it('S0-80 a stored init becomes choose_task', async () => {
    project = stepwiseProject()
    await step()
    editState(project, { step: 'init' })
    expect((await step()).stdout).toContain('→ Initializing... (already done)\n→ Next: choose_task\n')
    expect(plan(project).state.step).toBe('choose_task')
  })

  it('an agent that edits the plan or the task is found out', async () => {
    project = stepwiseProject({
      script: [
        {
          on: { stage: 'implementation' },
          do: [
            ...implementation(),
            { replace: { path: planFile(), find: '"implementation"', with: '"complete"' } },
            { replace: { path: taskPath('TASK-001'), find: 'status: pending', with: 'status: completed' } },
          ],
        },
        ...honest(),
      ],
    })
    const result = await run()
    expect(result.code).toBe(1)
    expect(plan(project).state).toMatchObject({ step: 'failed', error: 'implementation failed' })
    expect(project.read(taskPath('TASK-001'))).toContain('status: pending')
  })

  it('goes on with a plan that the seed’s own script wrote, and with its own when the journal is lost', async () => {
    project = stepwiseProject({
      tasks: [{ id: 'TASK-036' }, { id: 'TASK-037' }, { id: 'TASK-038' }],
      files: {
        [planFile()]: JSON.stringify({
          spec_id: '001-feature',
          spec_folder: 'docs/specs/001-feature/',
          task_range: { from: 'TASK-036', to: 'TASK-038', from_num: 36, to_num: 38, total_in_range: 3 },
          state: {
            ...{
              step: 'review',
              current_task: 'TASK-037',
              current_task_file: task,
              current_task_lang: 'spring',
            },
            ...{ iteration: 5, retry_count: 0, last_updated: '2026-03-25T10:30:00', error: null },
            range_progress: { done_in_range: 0, total_in_range: 3 },
          },
          ...{
            tasks: [],
            done: ['TASK-036'],
            pending: ['TASK-037', 'TASK-038'],
            optional: [],
            superseded: [],
          },
          learnings: ['a plain text'],
          mine: { kept: true },
        }),
      },
    })
    const first = await step()
    expect(first.stdout).toContain('Step: review | Task: TASK-037')
    expect(plan(project)).toMatchObject({
      state: { step: 'cleanup', iteration: 5 },
      done: ['TASK-036'],
      learnings: ['a plain text'],
      mine: { kept: true },
    })
    for (let count = 0; count < 3; count++) await step()
    expect(plan(project)).toMatchObject({ state: { iteration: 6 }, done: ['TASK-036', 'TASK-037'] })
    await ralph(project, ['status'])
    project.git('clean', '-qfdx', '.ralph')
    expect(project.exists('.ralph/ralph.db')).toBe(false)
    const rest = await run()
    expect(rest.code, rest.stdout + rest.stderr).toBe(0)
    expect(stepsIn(rest)).toEqual([
      ...['choose_task', 'implementation', 'review', 'cleanup', 'sync', 'update_done', 'choose_task'],
    ])
    expect(plan(project)).toMatchObject({
      state: { iteration: 7 },
      done: ['TASK-036', 'TASK-037', 'TASK-038'],
    })
  })
})

describe('the script, the instructions, the spec', () => {
  it('S0-78 S0-79 S0-81 S0-82 G-24 run-ralph.sh does the real step and prints as the seed’s script', async () => {
    project = stepwiseProject({
      script: [{ on: { stage: 'review', call: 2 }, do: reviews('fail') }, ...honest()],
    })
    await step()
    const script = path.join(project.root, 'docs/specs/001-feature/_ralph_loop/run-ralph.sh')
    expect(statSync(script).mode & 0o111).toBe(0o111)
    const call = async () => {
      const { stdout } = await ralphScript(script)
      return stdout
    }
    const head = (iteration: number, name: string, id: string) =>
      `Ralph Loop | Iteration: ${iteration} | Step: ${name} | Task: ${id}\n`
    const id = 'TASK-001'
    expect(await call()).toBe(`${head(1, 'choose_task', 'none')}→ Selected: ${id}\n\n`)
    expect(await call()).toBe(
      `${head(1, 'implementation', id)}→ [IMPLEMENTATION: Run task-implementation for ${id}]\n\n`,
    )
    expect(project.exists('work/001-feature/TASK-001.txt')).toBe(true)
    expect(await call()).toBe(`${head(1, 'review', id)}→ [REVIEW: Run task-review for ${id}]\n\n`)
    expect(await call()).toBe(
      `${head(1, 'fix', id)}→ [FIX: Apply fixes for ${id} based on review report]\n\n`,
    )
    expect(await call()).toBe(`${head(1, 'review', id)}→ [REVIEW: Run task-review for ${id}]\n\n`)
    expect(await call()).toBe(`${head(1, 'cleanup', id)}→ [CLEANUP: Run code-cleanup for ${id}]\n\n`)
    expect(await call()).toBe(`${head(1, 'sync', id)}→ [SYNC: Run spec-sync-with-code for ${id}]\n\n`)
    expect(await call()).toBe(`${head(1, 'update_done', id)}→ [UPDATE_DONE: Marking ${id} as done]\n\n`)
    expect(await call()).toBe(`${head(2, 'choose_task', id)}→ No more tasks in range\n\n`)
    const line = '═'.repeat(47)
    expect(await call()).toBe(`${head(2, 'complete', id)}${line}\nRalph Loop COMPLETE\n${line}\n\n`)
    editState(project, { step: 'failed', error: null })
    expect(await call()).toBe(
      `${head(2, 'failed', id)}${line}\nRalph Loop FAILED\nError: unknown\n${line}\n\n`,
    )
  })

  it('S0-85 the step as text for an agent that executes it itself', async () => {
    project = stepwiseProject()
    const text = async () => (await step('--as-instructions')).stdout
    const first =
      'Execute one step of Ralph Loop. Read fix_plan.json, run the current step, update state, and stop.\n'
    expect(await text()).toContain('Current step: init')
    for (let count = 0; count < 3; count++) await step()
    const bytes = project.read(planFile())
    const review = await text()
    expect(review.startsWith(first)).toBe(true)
    expect(review).toContain(`State file: ${planFile()}`)
    expect(review).toContain('Current step: review')
    expect(review).toContain('docs/specs/001-feature/tasks/TASK-001--review.md')
    expect(review).toContain('review failed after 3 retries')
    expect(project.read(planFile())).toBe(bytes)
  })

  it('S0-64 S0-67 C-23 C-24 sync proposes in a file or, if let, changes the spec; deviations and learnings are counted', async () => {
    const log = 'docs/specs/001-feature/decision-log.md'
    const proposal = 'docs/specs/001-feature/_ralph_loop/sync'
    const spec = 'docs/specs/001-feature/spec.md'
    project = stepwiseProject({
      tasks: [{ id: 'TASK-001' }, { id: 'TASK-002' }],
      script: [
        {
          on: { stage: 'implementation', task: '001-feature/TASK-001' },
          do: [
            ...implementation(),
            { write: { path: log, text: '# Decisions\n\n## DEC-001: Another cache\n\nIt is quicker.\n' } },
            { learn: 'the cache is shared' },
          ],
        },
        { on: { stage: 'implementation' }, do: [{ 'write-prompt': 'seen-second.md' }, ...implementation()] },
        {
          on: { stage: 'sync', task: '001-feature/TASK-001' },
          do: [
            { 'write-prompt': 'seen-sync.md' },
            { write: { path: `${proposal}/TASK-001.md`, text: 'spec.md: say "shared"\n' } },
            { append: { path: spec, text: 'not allowed\n' } },
            { say: 'Proposed.' },
          ],
        },
        {
          on: { stage: 'sync' },
          do: [
            { 'write-prompt': 'seen-apply.md' },
            { append: { path: spec, text: 'allowed\n' } },
            { say: 'Updated.' },
          ],
        },
        ...honest(),
      ],
    })
    for (let count = 0; count < 7; count++) expect((await step()).code).toBe(0)
    expect(project.git('show', `HEAD:${proposal}/TASK-001.md`)).toBe('spec.md: say "shared"\n')
    expect(project.read(spec)).toBe('# The feature\n')
    expect(project.read('seen-sync.md')).toContain(log)
    expect(project.read('seen-sync.md')).toContain(`${proposal}/TASK-001.md`)
    const result = await run('--apply-spec-sync')
    expect(result.code, result.stdout).toBe(0)
    expect(project.git('show', `HEAD:${spec}`)).toBe('# The feature\nallowed\n')
    expect(project.read('seen-apply.md')).toContain('update the files of the spec itself')
    expect(project.read('seen-second.md')).toContain('- the cache is shared')
    expect(result.stdout).toContain('Total Iterations: 8\nDeviations Detected: 1\nLearnings Captured: 1\n')
    expect(plan(project)).toMatchObject({
      deviations: ['DEC-001: Another cache'],
      learnings: [{ task: 'TASK-001', step: 'implementation', text: 'the cache is shared' }],
    })
  })

  it('a new project validates, rehearses and completes', async () => {
    project = stepwiseProject({
      tasks: [],
      files: { 'package.json': '{ "scripts": { "test": "sh check.sh" } }\n' },
    })
    project.git('rm', '-rq', 'docs', 'ralph.config.yaml')
    project.git('commit', '-qm', 'empty')
    const made = await ralph(project, ['init', '--preset', 'stepwise', '--name', 'Login page', '--yes'])
    expect(made.code, made.stderr).toBe(0)
    const more = await ralph(project, ['new', 'task', 'TASK-002', 'Log', 'out'])
    expect(more.code, more.stderr).toBe(0)
    expect((await ralph(project, ['new', 'task', 'TASK-002', 'Again'])).code).toBe(1)
    project.write(
      'ralph.config.yaml',
      project.read('ralph.config.yaml').replace(/^agent: .*$/mu, 'agent: scripted'),
    )
    project.git('add', '-A')
    project.git('commit', '-qm', 'set up')
    const valid = await ralph(project, ['validate'])
    expect(valid.code, valid.stdout + valid.stderr).toBe(0)
    const result = await run()
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(plan(project, '001-login-page').done).toEqual(['TASK-001', 'TASK-002'])
  })
})

/** The script finds the program by a variable, as it does where `ralph` is not in PATH. */
async function ralphScript(script: string): Promise<{ stdout: string }> {
  const { execFileSync } = await import('node:child_process')
  const { environment } = await import('../helpers/ralph.ts')
  const env = { ...environment(project.home), RALPH: `${process.execPath} ${program}` }
  try {
    const stdout = execFileSync(script, ['docs/specs/001-feature/'], {
      cwd: project.root,
      env,
      encoding: 'utf8',
      stdio: 'pipe',
    })
    return { stdout }
  } catch (error) {
    return { stdout: String((error as { stdout?: unknown }).stdout ?? '') }
  }
}

it('a task answers to its label wherever one is asked for, unless several are called so', async () => {
  project = stepwiseProject({ tasks: [{ id: 'TASK-001' }] })
  expect((await ralph(project, ['run'])).code).toBe(0)
  for (const command of ['evidence', 'explain', 'logs']) {
    const { code, stdout, stderr } = await ralph(project, [command, 'TASK-001'])
    expect(code, stderr).toBe(0)
    expect(stdout).toContain('TASK-001')
  }
  project.write(taskPath('TASK-001', '002-other'), taskText({ id: 'TASK-001' }))
  project.git('add', '-A')
  project.git('commit', '-qm', 'another spec')
  await ralph(project, ['step', '--spec', 'docs/specs/002-other'])
  const several = await ralph(project, ['steer', 'TASK-001', 'be', 'kind'])
  expect(several.code).toBe(2)
  expect(several.stderr).toContain('Say which: 001-feature/TASK-001, 002-other/TASK-001.')
})
