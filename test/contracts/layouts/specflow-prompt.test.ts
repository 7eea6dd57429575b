import { describe, expect, it } from 'vitest'
import { commonValues, type PromptFacts, renderTemplate, templateProblems } from '../../../src/core/prompt.ts'
import { newTaskState } from '../../../src/core/state.ts'
import type { Rules } from '../../../src/core/workflow.ts'
import { specflow } from '../../../src/layouts/specflow.ts'
import { pipeline } from '../../../src/presets/pipeline.ts'
import { aTask } from '../../core/build.ts'
import { endlessHistory, itClaimsNothing, plainFacts } from './prompt-contract.ts'

const spec = '# Log in\n\nA user logs in with a password.\n'
const plain: PromptFacts = {
  ...plainFacts,
  id: 'TASK-001',
  label: 'TASK-001',
  title: 'Implement user authentication',
  stage: 'coder',
  spec,
  commands: ['npm test'],
  iteration: 3,
  iterations: 15,
  runIteration: 3,
  base: 'abc123',
}
const stages = ['coder', 'reviewer', 'tester', 'qa'] as const
const names = { coder: 'Implementation', reviewer: 'Code Review', tester: 'Testing', qa: 'QA' }
const promises = {
  coder: 'IMPLEMENTATION_COMPLETE',
  reviewer: 'REVIEW_COMPLETE',
  tester: 'TESTS_COMPLETE',
  qa: 'QA_PASSED',
}

function prompt(
  stage: string,
  facts: Partial<PromptFacts> = {},
  rules: Rules = { workflow: pipeline, verify: [] },
) {
  const all = { ...plain, stage, ...facts }
  const about = { state: newTaskState(aTask()), rules, stage }
  const own = specflow.values?.({ root: '/', settings: {} }, all, about) ?? {}
  return renderTemplate(specflow.templates[stage] ?? '', { ...commonValues(all), ...own })
}

describe('the prompts of the pipeline', () => {
  it('S2-11 begin with the task, the spec and the completion requirements, in the seed’s form', () => {
    expect(
      prompt('coder').startsWith(`## Task Information
- **Task ID**: TASK-001
- **Title**: Implement user authentication
- **Stage**: Implementation
- **Ralph Iteration**: 3/15

## Specification
# Log in

A user logs in with a password.

## Completion Requirements
`),
    ).toBe(true)
    for (const stage of stages) {
      const text = prompt(stage)
      expect(text).toContain(`- **Stage**: ${names[stage]}\n`)
      expect(text.match(/^## (?:Task|Spec|Completion).*$/gmu)).toEqual([
        '## Task Information',
        '## Specification',
        '## Completion Requirements',
      ])
    }
  })

  it('S2-12 the coder’s numbered requirements, the promise and the critical list', () => {
    const [, rest = ''] = prompt('coder').split('## Completion Requirements\n')
    const order = [
      'When you have GENUINELY completed this stage:',
      '1. Ensure all requirements from the specification are implemented',
      '2. Commit your changes with a descriptive message',
      '3. Verify your implementation works correctly',
      'Then output:',
      '<promise>IMPLEMENTATION_COMPLETE</promise>',
      'CRITICAL:',
      '- Only output the promise when ALL requirements are truly met',
      '- Your work will be verified - false promises are detected',
      "- If blocked, explain what's preventing completion",
      '- The loop will continue until genuine completion or max iterations',
    ]
    const places = order.map(words => rest.indexOf(words))
    expect(places.every(place => place >= 0)).toBe(true)
    expect([...places].sort((a, b) => a - b)).toEqual(places)
  })

  it('S2-10 every stage is asked for its own promise, and for the truth', () => {
    for (const stage of stages) {
      const text = prompt(stage)
      expect(text).toContain(`\`<promise>${promises[stage]}</promise>\``)
      for (const words of [
        'GENUINELY',
        'ALL requirements',
        'completely and unequivocally TRUE',
        'Do NOT output a false promise to exit early',
        'If blocked, explain',
        'Your work will be verified',
      ])
        expect(text).toContain(words)
    }
  })

  it('S2-13 is the same each time but for the counter, and for what failed before', () => {
    const counted = (text: string) => text.replace(/\d+\/15/u, 'n/15')
    expect(counted(prompt('coder', { iteration: 4 }))).toBe(counted(prompt('coder')))
    const failures = [
      { attempt: 1, stage: 'reviewer', reason: 'no test for the empty cart', detail: 'It is missing.' },
    ]
    const told = prompt('coder', { failures })
    expect(told.startsWith(prompt('coder').trimEnd())).toBe(true)
    expect(told).toContain('stage reviewer: no test for the empty cart\n  > It is missing.')
  })

  it('H-22 whoever comes after the coder can send the work back, and is told how', () => {
    expect(prompt('coder')).not.toContain('VERDICT')
    for (const stage of ['reviewer', 'tester', 'qa']) expect(prompt(stage)).toContain('`VERDICT: fail:`')
  })

  it('S2-14 a switched-off stage is not asked for a promise', () => {
    const { coder } = pipeline.stages
    if (coder?.kind !== 'agent') throw new Error('no coder')
    const workflow = {
      ...pipeline,
      stages: { ...pipeline.stages, coder: { ...coder, signal: { from: 'exit' as const } } },
    }
    const text = prompt('coder', {}, { workflow, verify: [] })
    expect(text).not.toContain('promise')
    expect(text).not.toContain('Ralph Iteration')
    expect(text).toContain('3. Verify your implementation works correctly')
  })

  it('names only what is known, and closes what it opens', () => {
    const known = [...Object.keys(commonValues(plain)), 'stageName', 'promise', 'finds']
    for (const stage of stages) expect(templateProblems(specflow.templates[stage] ?? '', known)).toEqual([])
  })

  itClaimsNothing(
    'H-23 is no claim when an agent repeats it, whole or any line of it, whatever logs and learnings hold',
    {
      id: 'TASK-001',
      promises: ['QA_PASSED', 'IMPLEMENTATION_COMPLETE'],
      stages,
      prompt: (stage, { reason, detail, some, more, one }) =>
        prompt(stage, {
          failures: [{ attempt: 1, stage, reason, detail }],
          learnings: some,
          steering: more,
          rules: [one],
          commands: [reason],
        }),
      runs: 300,
    },
  )

  it('stays bounded however long the history is', () => {
    expect(prompt('coder', endlessHistory('qa')).length).toBeLessThan(45_000)
  })
})
