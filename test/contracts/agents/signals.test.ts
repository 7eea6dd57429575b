import { describe, expect, it } from 'vitest'
import { scripted } from '../../../src/agents/scripted/index.ts'
import type { AgentOutcome } from '../../../src/core/outcome.ts'
import { readSignals } from '../../../src/core/signals.ts'
import { judgeAgent, type Verdict } from '../../../src/core/verdict.ts'
import type { AgentStage } from '../../../src/core/workflow.ts'
import { useScriptedProgram } from './bundle-scripted.ts'
import { play, useFolder } from './play.ts'
import { writeScript } from './scripted-acts.ts'

/** From a real process to a verdict: what an agent prints, what is read of it, how it is judged. */

const program = useScriptedProgram()
const folder = useFolder()

const prompt =
  'You are Ralph.\n\nEnd with exactly one of these lines:\n<ralph>DONE 8.3</ralph>\n<ralph>FAIL 8.3: reason</ralph>\n\nOlder agents may print:\n[DONE]\n[FAIL]\n'
const task = { id: '8.3', title: 'T', spec: '', needs: [], order: 0, verify: [], allows: [] }
const stage: AgentStage = {
  kind: 'agent',
  role: 'implementer',
  may: 'write',
  prompt: 'p',
  signal: { from: 'tags', legacy: true },
  on: { pass: 'done', fail: 'retry' },
}

async function judged(
  steps: unknown[],
  signal: AgentStage['signal'] = stage.signal,
): Promise<Verdict & { learned: string[] }> {
  const cwd = folder()
  const agent = scripted({ program: program(), script: writeScript(cwd, steps) })
  const { report, exit, killed, fault } = await play(agent, { cwd, prompt, env: { RALPH_TASK: '8.3' } })
  const signals = readSignals(report.message, prompt)
  const change = { from: 'a', to: 'b', files: [], more: 0, commits: [], head: 'h', ref: null }
  const outcome: AgentOutcome = {
    kind: 'agent',
    agent: 'scripted',
    exit,
    killed,
    ended: 'exit',
    fault,
    signals,
    message: report.message,
    change,
    violations: [],
    usage: report.usage,
    ms: 1,
  }
  const learned = signals.flatMap(one => (one.type === 'learn' ? [one.text] : []))
  return { ...judgeAgent({ ...stage, signal }, outcome, task), learned }
}

describe('from a process to a verdict', () => {
  it('S4-42 reads LEARN always and DONE before FAIL', async () => {
    expect(await judged([{ learn: 'a' }, { fail: 'not yet' }, 'done', { learn: 'b' }])).toMatchObject({
      verdict: 'pass',
      learned: ['a', 'b'],
    })
    expect(await judged([{ learn: 'a' }, { fail: 'no' }])).toMatchObject({ verdict: 'fail', learned: ['a'] })
  })

  it('S4-43 takes DONE for the asked id, and another id for a failure', async () => {
    expect(await judged(['done'])).toMatchObject({ verdict: 'pass' })
    expect(await judged([{ done: '8.30' }])).toMatchObject({
      verdict: 'fail',
      reason: 'Signal mismatch: DONE 8.30, expected 8.3',
    })
  })

  it('S4-44 gives the reason of a FAIL', async () => {
    expect(await judged([{ fail: 'the database is gone' }])).toMatchObject({
      verdict: 'fail',
      reason: 'the database is gone',
    })
  })

  it('S4-45 S4-T05 falls back to the older marks, DONE first, and calls silence no signal', async () => {
    expect(await judged([{ say: '[DONE]' }])).toMatchObject({ verdict: 'pass' })
    expect(await judged([{ say: '[FAIL]' }])).toMatchObject({ verdict: 'fail' })
    expect(await judged([{ say: '[FAIL]\n[DONE]' }])).toMatchObject({ verdict: 'pass' })
    expect(await judged([{ learn: 'only this' }])).toMatchObject({
      verdict: 'unclear',
      reason: 'No completion signal in output',
      learned: ['only this'],
    })
  })

  it('S4-57 knows the tags and the older marks, which can be switched off', async () => {
    const signals = readSignals(
      '<ralph>DONE 8.3</ralph>\n<ralph>FAIL 8.3: x</ralph>\n<ralph>LEARN: y</ralph>\n[DONE]\n[FAIL]',
      '',
    )
    expect(signals.map(one => one.type)).toEqual(['done', 'fail', 'learn', 'done', 'fail'])
    expect(await judged([{ say: '[DONE]' }], { from: 'tags', legacy: false })).toMatchObject({
      verdict: 'unclear',
    })
  })

  it('S4-59 calls an agent that ran out of words failed, not crashed', async () => {
    expect(await judged([{ say: 'I am not sure what you want, and my context is' }])).toMatchObject({
      verdict: 'unclear',
      reason: 'No completion signal in output',
    })
  })

  it('H-27 hears no claim in an echoed prompt, a code block, a quotation or the middle of a line', async () => {
    expect(await judged(['echo-prompt'])).toMatchObject({ verdict: 'unclear' })
    expect(await judged([{ say: '```\n[DONE]\n<ralph>DONE 8.3</ralph>\n```' }])).toMatchObject({
      verdict: 'unclear',
    })
    expect(await judged([{ say: '> [DONE]\n\nI will print [DONE] when it works.' }])).toMatchObject({
      verdict: 'unclear',
    })
  })

  it('lets no claim outweigh a bad end', async () => {
    expect(await judged(['done', { exit: 1 }])).toMatchObject({
      verdict: 'unclear',
      reason: 'Agent exited with code 1',
    })
    expect(await judged(['done', 'segfault'])).toMatchObject({
      verdict: 'unclear',
      reason: expect.stringContaining('SIGSEGV'),
    })
  })

  it('hears promises and verdicts too', async () => {
    expect(
      await judged(['promise'], { from: 'promise', text: 'COMPLETE', verify: { contradictions: false } }),
    ).toMatchObject({ verdict: 'pass' })
    expect(
      await judged([{ verdict: { is: 'fail', findings: 'no test' } }], { from: 'verdict' }),
    ).toMatchObject({ verdict: 'fail', reason: 'no test' })
    expect(await judged([{ say: 'Looks good to me.' }], { from: 'verdict' })).toMatchObject({
      verdict: 'fail',
    })
  })
})
