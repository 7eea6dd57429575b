import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mostBlocks } from '../../src/hooks/stop.ts'
import { type Ended, ralph, type TestProject } from '../helpers/ralph.ts'
import { aStory, reviewedProject, type StoryFields, tasksText } from '../helpers/reviewed-project.ts'

/** The hook as an agent's CLI calls it: an event on stdin, a decision on stdout. */
let project: TestProject
let session = 0

beforeEach(() => {
  project = reviewedProject({})
  session++
})
afterEach(() => project.cleanup())

function active(over: Record<string, unknown> = {}): void {
  const marker = {
    timestamp: '2025-06-15T10:30:00Z',
    pid: 1,
    max_iterations: 15,
    mode: 'direct',
    skipReview: false,
    reviewCap: 5,
    iterationMode: 'implement',
    preIterationSnapshot: { 'US-001': { passes: false, reviewStatus: null, reviewCount: 0 } },
    ...over,
  }
  // What is there by now is older than the marker, as in a real iteration.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30)
  project.write('.ralph-active', JSON.stringify(marker))
}

function story(over: Partial<StoryFields>): void {
  project.write('ralph/tasks.json', tasksText([aStory('US-001', over)], { verifyCommands: ['sh check.sh'] }))
}

function commitAll(): void {
  project.git('add', 'ralph')
  project.git('commit', '-q', '--allow-empty', '-m', 'all')
}

async function stop(): Promise<Ended & { reason: string }> {
  const event = { session_id: `${process.pid}-${session}`, cwd: project.root, hook_event_name: 'Stop' }
  const ended = await ralph(project, ['hook', 'stop'], { input: JSON.stringify(event) })
  const said = ended.stdout.trim() === '' ? {} : JSON.parse(ended.stdout)
  if ('decision' in said) expect(said.decision).toBe('block')
  return { ...ended, reason: said.reason ?? '' }
}

describe('ralph hook stop', () => {
  it('S1-65 acts only while a loop runs, and is silent otherwise', async () => {
    project.write('ralph/tasks.json', '{ broken')
    expect(await stop()).toMatchObject({ code: 0, stdout: '', stderr: '' })
    active()
    expect((await stop()).reason).toContain('tasks.json')
  })

  it('S1-89 approves when all checks pass', async () => {
    active()
    story({ reviewStatus: 'needs_review', notes: 'written' })
    commitAll()
    expect(await stop()).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  it('S1-66 C-31 each of the four checks blocks, and all that is wrong is told at once', async () => {
    active()
    story({ passes: true, reviewStatus: null, notes: '' })
    const { reason, code } = await stop()
    expect(code).toBe(0)
    // 2.5, 1e, 2a, 3.
    expect(reason).toContain('Implement iterations cannot set passes=true or approve stories')
    expect(reason).toMatch(/notes/)
    expect(reason).toContain("has passes=true but reviewStatus is 'null', not 'approved'")
    expect(reason).toContain('There are uncommitted changes: ralph/tasks.json')
  })

  it('S1-88 S1-T05 blocks on uncommitted changes and says the three things to do', async () => {
    active()
    project.write('src/new.txt', 'new\n')
    const { reason } = await stop()
    expect(reason).toContain('src/new.txt')
    expect(reason).toMatch(/\(1\) update ralph\/progress\.txt with results and learnings/)
    expect(reason).toMatch(/\(2\) consider lasting patterns for CLAUDE\.md or \.claude\/rules\//)
    expect(reason).toMatch(/\(3\) commit ALL changes/)
    project.git('add', 'src/new.txt')
    project.git('commit', '-q', '-m', 'new')
    expect((await stop()).stdout).toBe('')
  })

  it('does not ask for the user’s own files', async () => {
    expect(project.git('status', '--porcelain')).toContain('notes of the user.txt')
    active()
    expect((await stop()).stdout).toBe('')
  })

  it('H-12 gives up after a few blocks: the engine judges by the same rules', async () => {
    active()
    story({ passes: true, notes: 'x' })
    for (let count = 0; count < mostBlocks; count++) expect((await stop()).reason).not.toBe('')
    const last = await stop()
    expect(last).toMatchObject({ code: 0, stdout: '' })
    expect(last.stderr).toContain(`blocked ${mostBlocks} times in vain`)
  })

  it('H-13 a hook that breaks lets nothing through', async () => {
    active()
    const ended = await ralph(project, ['hook', 'stop'], { input: 'no json' })
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('the stop hook failed')
  })
})
