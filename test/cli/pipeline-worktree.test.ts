import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { honest, honestRules, logOf, pipelineProject, taskOf } from '../helpers/pipeline-project.ts'
import { ralph, startRalph, type TestProject, until } from '../helpers/ralph.ts'

let project: TestProject
afterEach(() => project?.cleanup())

const place = (id = 'TASK-001') => `.ralph/worktrees/${id}`
const head = (ref: string) => project.git('rev-parse', ref).trim()
const branches = () => project.git('branch', '--format=%(refname:short)').trim().split('\n')
const worktrees = () => project.git('worktree', 'list').trim().split('\n').length
/** What a user sees of his own work: what is tracked, without the engine's own files. */
const userStatus = () => project.git('status', '--porcelain', '-uno', '--', '.', ':!.specflow')
const left = (id = 'TASK-001') => project.exists(place(id)) || project.exists(`.ralph/worktree-state/${id}`)

describe('S2-16 C-28 every task has a worktree and a branch of its own', () => {
  it('where its agents and its gates work; the user’s folder is untouched until the work is proven', async () => {
    project = pipelineProject({
      script: [
        {
          on: { stage: 'qa' },
          do: [
            { run: 'pwd > where.txt' },
            { run: 'git branch --show-current >> where.txt' },
            { 'wait-for': 'go' },
            { run: 'rm where.txt go' },
            ...honest.qa(),
          ],
        },
        ...honestRules(),
      ],
      verify: '["sh check.sh && pwd > ../gate.txt"]',
    })
    const first = head('main')
    const running = startRalph(project, ['run'])
    await until(
      'the last stage',
      () =>
        project.exists(`${place()}/where.txt`) &&
        project.read(`${place()}/where.txt`).split('\n').length === 3,
    )
    const folder = path.join(project.root, place())
    expect(project.read(`${place()}/where.txt`)).toBe(`${folder}\nralph/TASK-001\n`)
    expect(project.read('.ralph/worktrees/gate.txt').trim()).toBe(folder)
    // Nothing of all that is to be seen here.
    expect(head('main')).toBe(first)
    expect(project.exists('work')).toBe(false)
    expect(userStatus()).toBe('')
    expect(head('ralph/TASK-001')).not.toBe(first)
    project.write(`${place()}/go`, '')
    const result = await running.ended
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(project.read('work/TASK-001.txt')).toBe('answer TASK-001\n')
    expect(project.git('log', '--format=%s', 'main').trim()).toBe('feat: answer TASK-001\nfirst')
    expect(userStatus()).toBe('')
    expect(branches()).toEqual(['main'])
    expect(worktrees()).toBe(1)
    expect(left()).toBe(false)
    expect(project.read('notes of the user.txt')).toBe('never touch this\n')
  })

  it('the user’s own uncommitted work stays as it is, and is not in the way', async () => {
    project = pipelineProject({ script: honestRules(), files: { 'src/staged.txt': 'old\n' } })
    project.write('src/existing.txt', 'my own work\n')
    project.write('src/staged.txt', 'staged\n')
    project.git('add', 'src/staged.txt')
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(project.read('work/TASK-001.txt')).toBe('answer TASK-001\n')
    expect(project.read('src/existing.txt')).toBe('my own work\n')
    expect(userStatus()).toBe(' M src/existing.txt\nM  src/staged.txt\n')
  })

  it('what overlaps with it waits on its branch; the next task builds on that, and so does a later run', async () => {
    const edit = (id: string) => [
      { append: { path: 'src/existing.txt', text: `${id}\n` } },
      { write: { path: `work/${id}.txt`, text: `answer ${id}\n` } },
      { commit: { message: `feat: ${id}`, paths: ['src/existing.txt', `work/${id}.txt`] } },
      { say: 'Committed.' },
      { promise: 'IMPLEMENTATION_COMPLETE' },
    ]
    project = pipelineProject({
      tasks: ['TASK-001', 'TASK-002'],
      script: [{ on: { stage: 'coder', task: 'TASK-001' }, do: edit('TASK-001') }, ...honestRules()],
    })
    const first = head('main')
    project.write('src/existing.txt', 'my own work\n')
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    const why = 'src/existing.txt has uncommitted changes'
    expect(result.stdout).toContain(`the work is on ralph/TASK-001: ${why} → git merge ralph/TASK-001`)
    expect(result.stdout).toContain('  → git merge ralph/TASK-002')
    expect(project.read('src/existing.txt')).toBe('my own work\n')
    expect(head('main')).toBe(first)
    expect(branches()).toEqual(['main', 'ralph/TASK-001', 'ralph/TASK-002'])
    expect(head('ralph/TASK-002~1')).toBe(head('ralph/TASK-001'))
    expect(worktrees()).toBe(1)
    expect((await ralph(project, ['status'])).stdout).toContain(
      `TASK-001: ${why}\n      → git merge ralph/TASK-001`,
    )

    // The user takes his own work back and merges the first; a third task brings the rest.
    project.git('checkout', '-q', 'src/existing.txt')
    project.git('merge', '-q', '--ff-only', 'ralph/TASK-001')
    const status = (await ralph(project, ['status'])).stdout
    expect(status).not.toContain('git merge ralph/TASK-001')
    expect(status).toContain('git merge ralph/TASK-002')
    project.write('.specflow/tasks/TASK-003.json', '{ "title": "Three" }\n')
    project.write('.specflow/specs/TASK-003.md', '# Three\n')
    const third = await ralph(project, ['run'])
    expect(third.code, third.stdout + third.stderr).toBe(0)
    expect(third.stdout).not.toContain('git merge')
    expect(project.git('log', '--format=%s', 'main').trim().split('\n')).toEqual([
      'feat: answer TASK-003',
      'feat: answer TASK-002',
      'feat: TASK-001',
      'first',
    ])
    expect(userStatus()).toBe('')
  })

  it('a branch that has moved on is not forced; uncommitted rest of the agents is committed on the task’s own', async () => {
    project = pipelineProject({
      script: [
        { on: { stage: 'qa' }, do: [{ 'wait-for': '../go' }, ...honest.qa()] },
        {
          on: { stage: 'tester' },
          do: [{ write: { path: 'work/test.txt', text: 'tested\n' } }, ...honest.tester()],
        },
        ...honestRules(),
      ],
    })
    const running = startRalph(project, ['run'])
    await until('the work', () => logOf(project).length === 3)
    project.write('src/other.txt', 'by the user\n')
    project.git('add', 'src/other.txt')
    project.git('commit', '-q', '-m', 'meanwhile')
    project.write('.ralph/worktrees/go', '')
    const result = await running.ended
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(result.stdout).toContain('main has moved on → git merge ralph/TASK-001')
    expect(project.git('log', '--format=%s', 'main').trim()).toBe('meanwhile\nfirst')
    expect(project.git('log', '--format=%s', 'main..ralph/TASK-001').trim().split('\n')).toEqual([
      'Task TASK-001: Answer TASK-001',
      'feat: answer TASK-001',
    ])
    project.git('merge', '-q', 'ralph/TASK-001', '-m', 'merged')
    expect(project.read('work/test.txt')).toBe('tested\n')
    expect((await ralph(project, ['status'])).stdout).not.toContain('git merge')
    expect((await ralph(project, ['verify', '--all'])).code).toBe(0)
  })

  it('no agent changes the backlog, the specs or the settings in its worktree, committed or not', async () => {
    const files = ['.specflow/tasks/TASK-001.json', '.specflow/specs/TASK-001.md', 'ralph.config.yaml']
    const spoil = files.map(file => ({ write: { path: file, text: '{"status":"done","title":"x"}' } }))
    project = pipelineProject({
      script: [
        { on: { call: 1 }, do: [...spoil, { commit: { message: 'mine', paths: files } }, ...honest.coder()] },
        { on: { call: 2 }, do: [...spoil, ...honest.coder()] },
        {
          on: { call: 3 },
          do: [
            { run: 'git diff --stat HEAD > ../seen.txt; git log --oneline >> ../seen.txt' },
            ...honest.coder(),
          ],
        },
        ...honestRules(),
      ],
    })
    const before = files.map(file => project.read(file))
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(logOf(project)[0]?.issues).toEqual([expect.stringContaining('.specflow/')])
    expect(project.read('.ralph/worktrees/seen.txt').trim().split('\n')).toHaveLength(1)
    expect(project.git('log', '--format=%s', 'main').trim()).toBe('feat: answer TASK-001\nfirst')
    for (const [index, file] of files.entries())
      expect([file, project.git('show', `main:${file}`)]).toEqual([file, before[index]])
  })

  it('an agent that deletes the link of its worktree reaches no other repository, and the next one has it again', async () => {
    const look = { run: 'git rev-parse --show-toplevel > ../top.txt 2>&1 || true' }
    project = pipelineProject({
      script: [
        {
          on: { call: 1 },
          do: [
            { run: 'rm .git' },
            look,
            { run: 'git commit -qm stray --allow-empty || true' },
            { say: 'Oh.' },
          ],
        },
        ...honestRules(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(project.read('.ralph/worktrees/top.txt')).toContain('not a git repository')
    expect(project.git('log', '--format=%s', 'main').trim()).toBe('feat: answer TASK-001\nfirst')
  })

  it('an agent that is cut off on another branch is put back', async () => {
    project = pipelineProject({
      script: [
        {
          on: { call: 1 },
          do: [
            { git: 'switch -q -c elsewhere' },
            { write: { path: 'x.txt', text: 'x' } },
            { say: 'at work' },
            { hang: true },
          ],
        },
        ...honestRules(),
      ],
    })
    const running = startRalph(project, ['run'])
    await until('the other branch', () => project.exists(`${place()}/x.txt`))
    running.kill('SIGKILL')
    await running.ended
    project.write('agent.json', JSON.stringify(honestRules()))
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(project.git('log', '--format=%s', 'main').trim()).toBe('feat: answer TASK-001\nfirst')
    expect(worktrees()).toBe(1)
  })

  it('what a failed or cancelled task leaves is only its failure branch', async () => {
    project = pipelineProject({
      script: [
        {
          do: [
            { write: { path: 'half.txt', text: 'half' } },
            { commit: { message: 'half', paths: ['half.txt'] } },
            { say: 'half' },
          ],
        },
        ...honestRules(),
      ],
      specflow: 'ralph:\n  coder:\n    max_iterations: 1\n',
      config: 'limits: { requeues: 0 }',
    })
    expect((await ralph(project, ['run'])).code).toBe(1)
    expect(taskOf(project).status).toBe('failed')
    expect(branches().map(name => name.replace(/\d{8}-\d{6}$/u, 'time'))).toEqual([
      'main',
      'wip/ralph-fail-TASK-001-time',
    ])
    expect(worktrees()).toBe(1)
    expect(left()).toBe(false)
    expect(project.exists('half.txt')).toBe(false)
  })

  it('a branch of its own and --branch do not go together', async () => {
    project = pipelineProject({ script: honestRules() })
    const result = await ralph(project, ['run', '--branch', 'mine'])
    expect(result.code).toBe(2)
    expect(result.stderr).toContain('every task has a branch of its own')
  })
})
