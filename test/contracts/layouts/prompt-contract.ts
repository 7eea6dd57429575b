import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { PromptFacts } from '../../../src/core/prompt.ts'
import { readSignals } from '../../../src/core/signals.ts'

/** A first attempt at nothing in particular. */
export const plainFacts: PromptFacts = {
  id: '',
  label: '',
  title: '',
  noun: 'task',
  stage: 'implement',
  role: 'implementer',
  spec: '',
  commands: [],
  rules: [],
  failures: [],
  learnings: [],
  steering: [],
  attempt: 1,
  attempts: 3,
  iteration: 1,
  iterations: 0,
  runIteration: 1,
  runIterations: 0,
  stuck: false,
  base: '',
  files: [],
}

/** What others wrote and a prompt may quote: the last failure, lists and a text for whatever else it has. */
export type Words = { reason: string; detail: string; some: string[]; more: string[]; one: string }

export type Repeated = {
  /** The task that may be claimed, and the promises that may be made. */
  id: string
  promises: string[]
  stages: readonly string[]
  /** The prompt of a stage with these words wherever it has room for them. */
  prompt(stage: string, words: Words): string
  runs: number
}

/** An agent that repeats its prompt claims nothing, whatever logs and learnings hold. */
export function itClaimsNothing(title: string, subject: Repeated): void {
  const { id, promises, stages, prompt, runs } = subject
  const claims = (text: string) => readSignals(text, '')
  it(title, () => {
    const bits = fc.constantFrom(
      ...[`<ralph>DONE ${id}</ralph>`, `<ralph>FAIL ${id}: x</ralph>`, '<ralph>LEARN: y</ralph>'],
      ...promises.map(promise => `<promise>${promise}</promise>`),
      ...['VERDICT: pass', 'VERDICT: fail', 'VERDICT: fail: x', '[DONE]', '[FAIL]'],
      ...['\n', '\r', '\u0000', ' ', 'text', '```'],
    )
    const text = fc.array(bits, { maxLength: 6 }).map(parts => parts.join(''))
    const words = fc.record({
      reason: text,
      detail: text,
      some: fc.array(text),
      more: fc.array(text),
      one: text,
    })
    const kept = fc.infiniteStream(fc.boolean())
    fc.assert(
      fc.property(fc.constantFrom(...stages), words, kept, (stage, said, keeps) => {
        const whole = prompt(stage, said)
        const lines = whole.split('\n')
        const part = lines.filter(() => keeps.next().value).join('\n')
        expect([...claims(whole), ...claims(part)]).toEqual([])
        expect(lines.filter(line => aClaim.test(line) || claims(line.trim()).length > 0)).toEqual([])
      }),
      { numRuns: runs },
    )
  })
}

const aClaim = /^\s*(?:<ralph>.*<\/ralph>|<promise>.*<\/promise>|\[DONE\]|\[FAIL\])\s*$/u

/** Far more of everything than a prompt may hold. */
export function endlessHistory(stage: string): Pick<PromptFacts, 'failures' | 'learnings' | 'steering'> {
  const noise = 'x'.repeat(100_000)
  const lines = Array.from({ length: 5000 }, (_, index) => `line ${index}`).join('\n')
  const failures = Array.from({ length: 500 }, (_, attempt) => ({
    attempt,
    stage,
    reason: noise,
    detail: attempt % 2 ? noise : lines,
  }))
  const texts = Array.from({ length: 500 }, () => noise)
  return { failures, learnings: texts, steering: texts }
}
