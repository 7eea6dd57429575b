import { afterEach, describe, expect, it } from 'vitest'
import { ralph, type TestProject } from '../helpers/ralph.ts'
import { honest, type Rule, storyProject } from '../helpers/story-project.ts'

let project: TestProject

afterEach(() => project.cleanup())

/** The example of docs/custom-presets.md, with scripted agents. */
const careful = `
preset: careful
extends: stories
stages:
  verify: { on: { pass: security } }
  security:
    may: read
    role: security-reviewer
    prompt: security
    review: true
    on: { pass: done, fail: { to: implement, max: 2, then: exhausted } }
`
const template = 'Security of {{id}} since {{base}}:\n{{files}}\n\nEnd with a line VERDICT.\n'

function carefulProject(script: Rule[], config = careful): TestProject {
  return storyProject({ script, config, files: { 'ralph/prompts/security.md': template } })
}

const verdict = (pass: boolean, findings = ''): Rule['do'] => [
  { verdict: { is: pass ? 'pass' : 'fail', findings } },
]

describe('a preset of one’s own', () => {
  it('has its stages laid over those of the preset it extends', async () => {
    project = carefulProject([
      { on: { stage: 'security', call: 2 }, do: verdict(false, 'the answer is not escaped') },
      { on: { stage: 'security' }, do: verdict(true) },
      { do: honest() },
    ])
    const { code, stdout } = await ralph(project, ['run'])
    expect(stdout).toContain('scripted (security-reviewer)')
    expect(stdout).toContain('the answer is not escaped')
    expect(stdout).toContain('1 of 1 task done with evidence')
    expect(code).toBe(0)
    const { tasks } = JSON.parse((await ralph(project, ['evidence', '1.1', '--json'])).stdout)
    expect(tasks[0].review ?? tasks[0].evidence?.review).toMatchObject({ stage: 'security', verdict: 'pass' })
    const prompt = (await ralph(project, ['show', '4', '--prompt'])).stdout
    expect(prompt).toMatch(/^Security of 1\.1 since [0-9a-f]{40}:\n- work\/1\.1\.txt$/mu)
  })

  it('is not done without its review', async () => {
    project = carefulProject([{ on: { stage: 'security' }, do: verdict(false, 'no') }, { do: honest() }])
    const { code, stdout } = await ralph(project, ['run'])
    expect(code).toBe(1)
    expect(stdout).toContain('Not complete')
  })

  it.each([
    ['an unknown stage', 'stages: { verify: { on: { pass: securty } } }', "no stage or end named 'securty'"],
    [
      'a circle without an end',
      'stages: { verify: { on: { fail: implement } } }',
      'the graph has a cycle without a bound',
    ],
    ['a way to done without gates', 'stages: { implement: { on: { pass: done } } }', 'no way to'],
    ['a stage that leads nowhere', 'stages: { extra: { may: read } }', 'stages.extra.on.pass'],
    ['a key that does not exist', 'stages: { verify: { onn: {} } }', 'stages.verify.onn'],
  ])('is refused for %s', async (_, stages, message) => {
    project = storyProject({
      script: [{ do: honest() }],
      config: `preset: mine\nextends: stories\n${stages}`,
    })
    const { code, stderr } = await ralph(project, ['run'])
    expect(stderr).toContain(message)
    expect(stderr).toContain('ralph.config.yaml')
    expect(code).toBe(2)
  })

  it('needs a preset to extend', async () => {
    project = storyProject({ script: [{ do: honest() }], config: 'preset: mine' })
    const { code, stderr } = await ralph(project, ['run'])
    expect(stderr).toContain("unknown preset 'mine'")
    expect(stderr).toContain('A preset of your own needs `extends:`')
    expect(code).toBe(2)
  })
})
