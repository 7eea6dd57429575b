import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StepData } from '../../src/commands/show-view.ts'
import { type Ended, ralph, type TestProject } from '../helpers/ralph.ts'
import { honest, storyProject } from '../helpers/story-project.ts'

describe('ralph show', () => {
  let project: TestProject
  let run: Ended

  beforeAll(async () => {
    const long = Array.from({ length: 100 }, (_, n) => `line ${n + 1}`).join('\n')
    project = storyProject({
      script: [
        {
          on: { attempt: 1 },
          do: [
            { usage: { costUsd: 0.5, inputTokens: 100, outputTokens: 20 } },
            { say: long },
            { fail: 'too hard' },
          ],
        },
        { do: honest() },
      ],
    })
    run = await ralph(project, ['run'])
  })

  afterAll(() => project.cleanup())

  it('shows the last step by default: the gates that proved the task', async () => {
    expect(run.code).toBe(0)
    const { stdout, code } = await ralph(project, ['show'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Step \S+\/0004\n/)
    expect(stdout).toContain('stage    verify')
    expect(stdout).toContain('attempt  2/3')
    expect(stdout).toContain('verdict  ✓ accepted')
    expect(stdout).toContain('$ sh check.sh: green')
    expect(stdout).toContain('all answers found')
  })

  it('shows a rejected attempt by its number, its message cut with the path of the whole', async () => {
    const { stdout } = await ralph(project, ['show', '2'])
    expect(stdout).toContain('task     1.1 Answer 1 1')
    expect(stdout).toContain('agent    scripted')
    expect(stdout).toContain('ended    exit code 0, by itself')
    expect(stdout).toContain('cost     $0.5000, 120 tokens')
    expect(stdout).toContain('verdict  ✗ rejected: too hard')
    expect(stdout).toContain('lines truncated ...]')
    expect(stdout).toMatch(/Message \(cut; all of it: \.ralph\/runs\/\S+\/0002\/message\.md\)/)
    expect(stdout).toContain('Nothing changed')
  })

  it('gives the same step by its full id, and as JSON', async () => {
    const step = JSON.parse((await ralph(project, ['show', '3', '--json'])).stdout) as StepData
    expect(step).toMatchObject({
      task: '1.1',
      stage: 'implement',
      attempt: 2,
      attempts: 3,
      verdict: 'accepted',
    })
    expect(step.outcome).toMatchObject({
      kind: 'agent',
      exit: 0,
      change: { files: [{ path: 'work/1.1.txt', how: 'added' }] },
    })
    expect(step.message).toContain('<ralph>DONE 1.1</ralph>')
    const same = JSON.parse((await ralph(project, ['show', step.step, '--json'])).stdout) as StepData
    expect(same).toEqual(step)
    const short = step.step.replace('/000', '/')
    expect(JSON.parse((await ralph(project, ['show', short, '--json'])).stdout)).toEqual(step)
  })

  it('prints the raw prompt, output and diff', async () => {
    const prompt = await ralph(project, ['show', '3', '--prompt'])
    const file = JSON.parse((await ralph(project, ['show', '3', '--json'])).stdout).files.prompt
    expect(prompt.stdout).toBe(project.read(file))
    expect(prompt.stdout).toContain('too hard')
    expect((await ralph(project, ['show', '3', '--output'])).stdout).toContain('<ralph>DONE 1.1</ralph>')
    expect((await ralph(project, ['show', '3', '--diff'])).stdout).toContain('+answer 1.1')
    expect((await ralph(project, ['show', '4', '--output'])).stdout).toContain('all answers found')
  })

  it('refuses what is not there, with a way on', async () => {
    const missing = await ralph(project, ['show', '99'])
    expect(missing).toMatchObject({ code: 1, stdout: '' })
    expect(missing.stderr).toContain('ralph: there is no step 99\n  → ')
    const without = await ralph(project, ['show', '4', '--prompt'])
    expect(without.code).toBe(1)
    expect(without.stderr).toMatch(/step \S+\/0004 has no prompt/)
  })
})
