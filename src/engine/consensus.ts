import { mkdirSync, writeFileSync } from 'node:fs'
import { agentsFor } from '../config/settings.ts'
import { checkBudget } from '../core/budget.ts'
import {
  type ConsensusRule,
  consensusOf,
  consensusText,
  foldWhole,
  nothingUnaccepted,
  type Unaccepted,
} from '../core/consensus.ts'
import { type AgentOutcome, type Fault, isExcused } from '../core/outcome.ts'
import { readSignals } from '../core/signals.ts'
import { newTaskState, type TaskState } from '../core/state.ts'
import { cut } from '../core/text.ts'
import { backOff } from '../core/transition.ts'
import { judgeAgent } from '../core/verdict.ts'
import type { AgentStage } from '../core/workflow.ts'
import { stateFiles } from '../layouts/layout.ts'
import { consensusPrompt, type Question } from './consensus-prompt.ts'
import type { Context } from './context.ts'
import { inspect } from './inspect.ts'
import { faultOf, runAgent } from './perform-agent.ts'
import { reviewerNote } from './recover-reviewer.ts'
import { readStateFiles } from './state-files.ts'
import { stepFiles } from './step-files.ts'
import type { RunResult, Turn } from './turn.ts'

const stage: AgentStage = {
  kind: 'agent',
  role: 'consensus-reviewer',
  may: 'read',
  prompt: 'consensus',
  signal: { from: 'verdict' },
  time: { soft: 10 * 60_000, hard: 30 * 60_000, idle: 10 * 60_000 },
  on: { pass: 'done', fail: 'exhausted' },
}

/**
 * G-13: once all tasks are done, fresh reviewers look at the whole, one per turn. The run is complete when enough of them
 * approve, and failed as soon as that can no longer be.
 */
export async function consensusTurn(context: Context, done: RunResult, warned: Set<string>): Promise<Turn> {
  const { journal, workspace, clock } = context
  const rule = journal.rules.workflow.consensus
  if (!rule || done.reason !== 'complete') return { type: 'end', result: done }
  const { base, reviews, accepted } = await unaccepted(context, rule)
  const { head } = await workspace.head()
  const said = accepted.length > 0 ? `; ${consensusText(rule, accepted)}` : ''
  if (base === null || base === head)
    return { type: 'end', result: { ...done, message: `${done.message}${said}` } }
  const own = reviews.filter(review => review.head === head)
  const verdict = consensusOf(rule, own, head)
  if (verdict === 'fail') {
    const message = `every task is done, but only ${consensusText(rule, own)}; change what they found, or ask again with --fresh`
    return { type: 'end', result: { reason: 'failed', message } }
  }
  const budget = checkBudget(journal.rules.workflow.limits, journal.run(), clock.now())
  if (budget.type === 'spent')
    return {
      type: 'end',
      result: { reason: 'budget', message: `${budget.reason}; the whole is not reviewed yet` },
    }
  return askReviewer(context, { rule, base, head, reviewer: own.length + 1 }, warned)
}

async function unaccepted({ store }: Context, rule: ConsensusRule): Promise<Unaccepted> {
  let state = nothingUnaccepted
  for await (const { event } of store.log.events()) state = foldWhole(rule, state, event)
  return state
}

/** As with every agent call: the intent is on record before it starts, what it did is looked at before it is believed. */
async function askReviewer(context: Context, question: Question, warned: Set<string>): Promise<Turn> {
  const { journal, workspace, layout, project, store, settings } = context
  const { reviewer } = question
  const choices = agentsFor(settings.agents, stage)
  // Different reviewers where there are any.
  const choice = choices[(reviewer - 1) % choices.length]
  if (!choice) throw new Error('no agent configured')
  const agent = await context.agent(choice)
  const step = `${journal.run().id}/consensus-${reviewer}-${journal.run().calls + 1}`
  const files = stepFiles(context.home, step)
  mkdirSync(files.folder, { recursive: true })
  const prompt = await consensusPrompt(context, question)
  writeFileSync(files.prompt, prompt)
  const state = reviewerState(reviewer)
  const before = await workspace.position()
  const base = await workspace.keep(before, `steps/${step}`)
  await store.log.setNote(reviewerNote, JSON.stringify({ step, base }))
  const guarded = readStateFiles(project.root, stateFiles(layout, project))
  const ran = await runAgent({ context, agent, choice, stage, state, step, stageName: 'consensus', files })
  const fault = faultOf(ran.report, ran.result, agent, context.clock.now())
  const excused = fault && isExcused(fault) ? fault : null
  const turn: Turn = { type: 'step', task: state.task.id }
  if (ran.result.ended === 'stopped' || excused) {
    await context.lease.assertHeld()
    await workspace.putBack(base, `interrupted/${step}`)
    await store.log.setNote(reviewerNote, '')
    return ran.result.ended === 'stopped' || !excused ? turn : waitOut(context, excused, warned)
  }
  const looked = { context, state, stage, before, base, files, stateFiles: guarded }
  const { change, violations } = await inspect({ ...looked, head: null, outputs: [] })
  const { exit, killed, ended, ms } = ran.result
  const { message, usage } = ran.report
  const signals = readSignals(message, prompt, stage.signal)
  const short = cut(message.slice(-16_000), 100)
  const facts = { agent: agent.name, exit, killed, ended, fault, signals, message: short }
  const outcome: AgentOutcome = { kind: 'agent', ...facts, change, violations, usage, ms }
  writeFileSync(files.message, message)
  writeFileSync(files.result, `${JSON.stringify(outcome, null, 2)}\n`)
  const { verdict, reason } = judgeAgent(stage, outcome, state.task)
  const said = { reviewer, agent: agent.name, pass: verdict === 'pass', findings: reason }
  await journal.recordRun({
    ...{ type: 'run.reviewed', step, base: question.base, head: question.head },
    ...{ ...said, usage, ms },
  })
  await store.log.setNote(reviewerNote, '')
  return turn
}

/** An outage is nobody's verdict. */
function waitOut({ journal, clock }: Context, fault: Fault, warned: Set<string>): Turn {
  const faults = [...warned].filter(one => one.startsWith('consensus fault')).length + 1
  warned.add(`consensus fault ${faults}`)
  const hopeless = fault.kind === 'auth' || fault.kind === 'permission'
  if (hopeless || faults >= (journal.rules.workflow.limits.faults ?? 20))
    return { type: 'end', result: { reason: 'held', message: `${fault.kind}: ${fault.message}` } }
  return { type: 'wait', until: fault.until ?? clock.now() + backOff(faults), why: fault.message }
}

/** A reviewer of the whole belongs to no task. */
function reviewerState(reviewer: number): TaskState {
  const task = { id: 'consensus', title: 'The whole', spec: '', needs: [], order: 0, verify: [], allows: [] }
  return { ...newTaskState(task), failures: reviewer - 1 }
}
