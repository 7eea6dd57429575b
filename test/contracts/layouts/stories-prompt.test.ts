import { describe, expect, it } from 'vitest'
import type { PromptFacts } from '../../../src/core/prompt.ts'
import { storyPrompt } from '../../../src/layouts/stories/prompt.ts'
import { endlessHistory, itClaimsNothing, plainFacts } from './prompt-contract.ts'

const spec =
  '---\nstatus: pending\ndepends_on: ["7.4"]\n---\n\n# Login\n\n## Acceptance Criteria\n\n1. Works.\n'
const plain: PromptFacts = {
  ...plainFacts,
  id: '8.3',
  label: '8.3',
  title: 'Login',
  noun: 'story',
  spec,
  runIterations: 45,
}
const failure = { attempt: 1, stage: 'verify', reason: 'npm test failed', detail: '$ npm test\n1 failing' }

describe('storyPrompt', () => {
  it('S4-53 has the identity, the whole spec, the workflow and the rules, in this order', () => {
    const prompt = storyPrompt(plain)
    expect(prompt.startsWith('You are Ralph, an autonomous implementation agent.')).toBe(true)
    expect(prompt.match(/^## [A-Z ]+$/gmu)).toEqual([
      '## STORY SPECIFICATION',
      '## WORKFLOW',
      '## CRITICAL RULES',
    ])
    expect(prompt).toContain(`## STORY SPECIFICATION\n\n${spec}\n## WORKFLOW\n`)
  })

  it('S4-54 has the six steps, with the project’s own commands', () => {
    const [, workflow = ''] = storyPrompt({ ...plain, commands: ['npm run check', 'npm test'] }).split(
      '## WORKFLOW\n',
    )
    const steps =
      workflow
        .split('## CRITICAL')[0]
        ?.trim()
        .split(/\n(?=\d\. )/u) ?? []
    expect(steps).toHaveLength(6)
    expect(steps[0]).toContain('Read the existing code first')
    expect(steps[1]).toContain('writing and editing files')
    expect(steps[2]).toContain('run `npm run check` and `npm test`')
    expect(steps[3]).toMatch(
      /commit.*only the files that you changed yourself.*`<ralph>DONE 8\.3<\/ralph>`.*line of its own, outside any code block/u,
    )
    expect(steps[4]).toMatch(/`git checkout \.`.*`<ralph>FAIL 8\.3:`\n.*ends with `<\/ralph>`/u)
    expect(steps[5]).toMatch(/`<ralph>LEARN:`\n.*ends with `<\/ralph>`/u)
    expect(storyPrompt(plain)).toContain('for example `npm run check` and `npm test`')
  })

  it('S4-55 has the seed’s rules unless the project has its own, and always those that keep the loop honest', () => {
    const seed = storyPrompt(plain)
    for (const words of [
      'one story fully',
      'acceptance criteria exactly',
      'Write all the tests',
      'must use your tools',
    ])
      expect(seed).toContain(words)
    expect(seed).not.toContain('cents')
    const own = storyPrompt({ ...plain, rules: ['Use integer cents for money.'], commands: ['make test'] })
    expect(own).toContain('- Use integer cents for money.\n')
    expect(own).not.toContain('one story fully')
    for (const prompt of [seed, own]) {
      expect(prompt).toContain('Do not touch the story specs')
      expect(prompt).toContain('Your claim will be verified')
    }
    expect(own).toContain('the commands of step 3 are run again after you')
  })

  it('tells of earlier failures, learnings and what a person asks, only when there are any', () => {
    const first = storyPrompt(plain)
    for (const title of ['## EARLIER ATTEMPTS', '## LEARNINGS', '## A PERSON'])
      expect(first).not.toContain(title)
    const later = storyPrompt({
      ...plain,
      attempt: 2,
      failures: [failure],
      learnings: ['Use lib/'],
      steering: ['Hurry'],
    })
    expect(later).toContain('This is attempt 2 of 3.')
    expect(later).toContain('- Attempt 1, stage verify: npm test failed\n  > $ npm test\n  > 1 failing')
    expect(later).toContain('## LEARNINGS FROM EARLIER ATTEMPTS\n\n- Use lib/')
    expect(later).toContain('## A PERSON ASKS YOU TO CONSIDER\n\n- Hurry')
    expect(later).not.toContain('fundamentally different')
    expect(storyPrompt({ ...plain, attempt: 4, failures: [failure], stuck: true })).toContain(
      'fundamentally different',
    )
    expect(storyPrompt({ ...plain, attempt: 2, attempts: 0, failures: [failure] })).toContain(
      'This is attempt 2. ',
    )
  })

  itClaimsNothing(
    'is no signal when an agent repeats it, whole or any line of it, whatever logs and learnings hold',
    {
      id: '8.3',
      promises: ['P'],
      stages: ['implement'],
      prompt: (stage, { reason, detail, some, more, one }) =>
        storyPrompt({
          ...plain,
          attempt: 2,
          failures: [{ attempt: 1, stage, reason, detail }],
          learnings: some,
          steering: more,
          rules: [one],
          commands: more,
        }),
      runs: 300,
    },
  )

  it('stays bounded however long the history is', () => {
    const prompt = storyPrompt({ ...plain, attempt: 501, ...endlessHistory('verify') })
    expect(prompt.length).toBeLessThan(spec.length + 40_000)
    expect(prompt).toContain('Attempt 499, stage verify')
    expect(prompt).not.toContain('Attempt 496, stage verify')
  })
})
