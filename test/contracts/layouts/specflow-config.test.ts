import { describe, expect, it } from 'vitest'
import { UserError } from '../../../src/core/errors.ts'
import type { AgentStage, Workflow } from '../../../src/core/workflow.ts'
import { workflowProblems } from '../../../src/core/workflow.ts'
import { specflow } from '../../../src/layouts/specflow.ts'
import { pipeline } from '../../../src/presets/pipeline.ts'
import { tempProject } from './temp-project.ts'

/** The workflow as this `.specflow/config.yaml` makes it. */
function configured(yaml: string | null, options: { workflow?: Workflow; stages?: unknown } = {}): Workflow {
  const root = tempProject(yaml === null ? {} : { '.specflow/config.yaml': yaml })
  const settings = options.stages === undefined ? {} : { stages: options.stages }
  const workflow = specflow.configure?.({ root, settings }, options.workflow ?? pipeline)
  if (!workflow) throw new Error('not configured')
  expect(workflowProblems(workflow)).toEqual([])
  return workflow
}

function stage(workflow: Workflow, name: string): AgentStage {
  const found = workflow.stages[name]
  if (found?.kind !== 'agent') throw new Error(`no stage ${name}`)
  return found
}

/** Limit, promise and whether it is verified; null for a stage that runs once. */
function loops(workflow: Workflow) {
  return Object.fromEntries(
    ['coder', 'reviewer', 'tester', 'qa'].map(name => {
      const { limit, signal } = stage(workflow, name)
      return [name, signal.from === 'promise' ? [limit, signal.text, signal.verify.contradictions] : null]
    }),
  )
}

const seed = `# .specflow/config.yaml

ralph:
  enabled: true                    # Global enable/disable
  default_max_iterations: 10       # Default iteration limit
  verify_promises: true            # Verify completion promises

  # Per-agent configuration
  coder:
    enabled: true
    max_iterations: 15
    completion_promise: "IMPLEMENTATION_COMPLETE"

  reviewer:
    enabled: true
    max_iterations: 5
    completion_promise: "REVIEW_COMPLETE"

  tester:
    enabled: true
    max_iterations: 10
    completion_promise: "TESTS_COMPLETE"

  qa:
    enabled: true
    max_iterations: 5
    completion_promise: "QA_PASSED"
`
const defaults = {
  coder: [15, 'IMPLEMENTATION_COMPLETE', true],
  reviewer: [5, 'REVIEW_COMPLETE', true],
  tester: [10, 'TESTS_COMPLETE', true],
  qa: [5, 'QA_PASSED', true],
}

describe('.specflow/config.yaml', () => {
  it('S2-18 S2-23 the seed’s own file, an empty one and none at all are the defaults', () => {
    for (const yaml of [seed, '', 'ralph:\n', 'database: x\nworktrees: [a]\n', null])
      expect(loops(configured(yaml))).toEqual(defaults)
    expect(configured(seed)).toEqual(pipeline)
  })

  it('S2-20 S2-22 S2-25 what the file says of an agent is laid over its defaults', () => {
    const workflow = configured(
      'ralph:\n  default_max_iterations: 7\n  coder:\n    max_iterations: 3\n  qa:\n    completion_promise: ALL GOOD\n',
    )
    expect(loops(workflow)).toEqual({
      ...defaults,
      coder: [3, 'IMPLEMENTATION_COMPLETE', true],
      qa: [5, 'ALL GOOD', true],
    })
    // The stage's own checks stay.
    expect(stage(workflow, 'coder').signal).toMatchObject({ verify: { fact: 'commit' } })
  })

  it('S2-05 S2-20 S2-24 an agent that nobody speaks of gets the default limit and STAGE_COMPLETE', () => {
    const docs: AgentStage = {
      ...{ kind: 'agent', role: 'writer', may: 'write', prompt: 'docs', signal: { from: 'exit' } },
      on: { pass: 'reviewer', fail: 'docs' },
    }
    const coder = { ...stage(pipeline, 'coder'), on: { pass: 'docs', fail: 'coder' } }
    const workflow = { ...pipeline, stages: { ...pipeline.stages, coder, docs } }
    const promise = { from: 'promise', text: 'STAGE_COMPLETE', verify: { contradictions: true } }
    expect(stage(configured('', { workflow }), 'docs')).toMatchObject({ limit: 10, signal: promise })
    const own = 'ralph:\n  default_max_iterations: 4\n  docs:\n    enabled: true\n'
    expect(stage(configured(own, { workflow }), 'docs')).toMatchObject({ limit: 4, signal: promise })
  })

  it('S2-14 S2-19 S2-T06 a switched-off agent runs once without a promise, and the global switch is above all', () => {
    const one = configured('ralph:\n  reviewer:\n    enabled: false\n')
    expect(loops(one)).toEqual({ ...defaults, reviewer: null })
    expect(stage(one, 'reviewer')).toMatchObject({
      signal: { from: 'exit' },
      on: { pass: 'tester', fail: 'coder', unclear: 'exhausted' },
    })
    const all = configured('ralph:\n  enabled: false\n  coder:\n    enabled: true\n')
    expect(loops(all)).toEqual({ coder: null, reviewer: null, tester: null, qa: null })
    expect(stage(all, 'coder').on).toEqual({ pass: 'reviewer', fail: 'exhausted', unclear: 'exhausted' })
  })

  it('S2-21 S2-35 verify_promises: false leaves only the tag', () => {
    const workflow = configured('ralph:\n  verify_promises: false\n')
    for (const name of ['coder', 'reviewer', 'tester', 'qa'])
      expect(stage(workflow, name).signal).toMatchObject({ verify: { contradictions: false } })
    expect(stage(workflow, 'coder').signal).toEqual({
      from: 'promise',
      text: 'IMPLEMENTATION_COMPLETE',
      verify: { contradictions: false },
    })
  })

  it('Ralph’s own configuration wins where both say something, even if it says the default', () => {
    const yaml = 'ralph:\n  coder:\n    max_iterations: 3\n    completion_promise: X\n'
    const stages = { coder: { limit: 15 } }
    expect(loops(configured(yaml, { stages })).coder).toEqual([15, 'X', true])
    const signal = { coder: { signal: { promise: 'IMPLEMENTATION_COMPLETE' } } }
    expect(loops(configured(yaml, { stages: signal })).coder).toEqual([3, 'IMPLEMENTATION_COMPLETE', true])
  })

  it.each([
    [
      'a limit of 0',
      'ralph:\n  coder:\n    max_iterations: 0\n',
      '3: ralph.coder.max_iterations: expected a whole number from 1 to 1000, found 0',
    ],
    [
      'an absurd limit',
      'ralph:\n  qa:\n    max_iterations: 1.0e+12\n',
      '3: ralph.qa.max_iterations: expected a whole number from 1 to 1000, found 1000000000000',
    ],
    [
      'a limit below 0',
      'ralph:\n  default_max_iterations: -1\n',
      '2: ralph.default_max_iterations: expected a whole number from 1 to 1000, found -1',
    ],
    [
      'a text for a limit',
      'ralph:\n  coder:\n    max_iterations: "15"\n',
      '3: ralph.coder.max_iterations: expected a whole number from 1 to 1000, found "15"',
    ],
    [
      'a text for a switch',
      'ralph:\n  enabled: "yes"\n',
      '2: ralph.enabled: expected true or false, found "yes"',
    ],
    [
      'a number for a switch',
      'ralph:\n\n  verify_promises: 1\n',
      '3: ralph.verify_promises: expected true or false, found 1',
    ],
    [
      'a promise that is no tag',
      'ralph:\n  coder:\n    completion_promise: "<x>"\n',
      '3: ralph.coder.completion_promise: expected a text of one line without < and >, found "<x>"',
    ],
    [
      'an empty promise',
      'ralph:\n  coder:\n    completion_promise: ""\n',
      '3: ralph.coder.completion_promise: expected a text of one line without < and >, found ""',
    ],
    [
      'an unknown key',
      'ralph:\n  max_iterations: 5\n',
      "2: ralph.max_iterations: unknown key 'max_iterations'; known: enabled, default_max_iterations, verify_promises, coder, reviewer, tester, qa",
    ],
    [
      'an unknown agent',
      'ralph:\n  coder:\n    enabled: true\n  archtect:\n    enabled: true\n',
      "4: ralph.archtect: unknown key 'archtect'; known: enabled, default_max_iterations, verify_promises, coder, reviewer, tester, qa",
    ],
    [
      'an unknown key of an agent',
      'ralph:\n  coder:\n    max: 5\n',
      "3: ralph.coder.max: unknown key 'max'; known: enabled, max_iterations, completion_promise",
    ],
    ['a list for the settings', 'ralph: [1]\n', '1: ralph: expected settings below it'],
    ['a value for an agent', 'ralph:\n  coder: 15\n', '2: ralph.coder: expected settings below it'],
  ])('S2-25 S2-49 %s is an error with the key and its line', (_, yaml, message) => {
    try {
      configured(yaml)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(UserError)
      expect((error as UserError).message).toBe(`.specflow/config.yaml:${message}`)
      expect((error as UserError).exitCode).toBe(2)
    }
  })

  it('S2-25 all problems are told at once, and broken YAML with its line', () => {
    const both = 'ralph:\n  enabled: 1\n  qa:\n    max_iterations: 0\n'
    expect(() => configured(both)).toThrow(/:2: ralph\.enabled.*\n.*:4: ralph\.qa\.max_iterations/u)
    expect(() => configured('ralph:\n  coder: [\n')).toThrow(/^\.specflow\/config\.yaml:\d+: not valid YAML/u)
  })
})
