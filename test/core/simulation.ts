import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Effect } from '../../src/core/effect.ts'
import { eventVersion, type TaskEvent, type TaskEventBody } from '../../src/core/event.ts'
import { missingEvidence } from '../../src/core/evidence.ts'
import { type AgentOutcome, type CommandsOutcome, isExcused } from '../../src/core/outcome.ts'
import type { TaskState } from '../../src/core/state.ts'
import type { Task } from '../../src/core/task.ts'
import { transition } from '../../src/core/transition.ts'
import { type AgentStage, hasReview, type Rules, stageOf, type Workflow } from '../../src/core/workflow.ts'
import type { Disturbance, Move } from './arbitraries.ts'
import { aBase, anAgent, done } from './build.ts'
import { checkInvariants } from './invariants.ts'
import { agentOutcome, gatesOutcome } from './outcomes.ts'

/**
 * A pretended engine and a pretended world for one task. It performs whatever the core asks for, as the real engine
 * does, and keeps its own books of what truly happened: which content the tree has, which content the gates saw green,
 * whether a reviewer agreed. The core is judged by these books, not by its own.
 */
export type Simulation = {
  rules: Rules
  state: TaskState
  events: TaskEvent[]
  world: World
  /** Effects performed to the end. */
  performed: number
  /** Times the tries began anew because somebody said so. */
  reopened: number
}

type World = {
  /** The content of the tree; a number that was never there before means new content. */
  tree: number
  newest: number
  /** The content when the attempt began. */
  began: number | null
  /** The content that the last gates saw, when they were green and no rule was broken since. */
  green: { tree: number; own: boolean } | null
  /** A reviewer agreed in this attempt. */
  agreed: boolean
  steps: number
}

export function newSimulation(rules: Rules, task: Task): Simulation {
  const world: World = { tree: 0, newest: 0, began: null, green: null, agreed: false, steps: 0 }
  const added: TaskEvent = { v: eventVersion, at: 1_000, run: 'r1', type: 'task.added', task }
  const { state } = transition(rules, null, added)
  checkInvariants(rules, state)
  return { rules, state, events: [added], world, performed: 0, reopened: 0 }
}

/** One turn: what happens besides, and the next effect. False when nothing is left to do. */
export function turn(sim: Simulation, move: Move): boolean {
  const during = move.gate.own && !move.cutOff
  if (move.besides && !during) disturb(sim, move.besides)
  const { next, status } = sim.state
  if (!next || status === 'held') return false
  perform(sim, next, move, during ? move.besides : null)
  return true
}

/** Goes on undisturbed until nothing is left to do; fails when that takes more effects than the workflow can need. */
export function finish(sim: Simulation, moves: Move[], most: number): void {
  const calm = moves.map(move => ({ ...move, besides: null, cutOff: false }))
  for (let index = 0; ; index++) {
    const move = calm[index % calm.length]
    if (!move || !turn(sim, move)) return
    assert(index < most, `still at work after ${most} effects`)
  }
}

/**
 * Stages that can be entered in one pass: the graph without its bounded edges and limited stages has no cycle, so each
 * way through it is at most as long as there are stages; it is begun anew by a try, a bounded edge or a limited stage.
 */
export function entriesPerPass(workflow: Workflow, attempts: number): number {
  const stages = Object.values(workflow.stages)
  const limits = stages.reduce((sum, stage) => sum + (stage.limit ?? 0), 0)
  const edges = stages.flatMap(stage => Object.values(stage.on))
  const bounds = edges.reduce((sum, edge) => sum + (typeof edge === 'string' ? 0 : edge.max), 0)
  return stages.length * (attempts + limits + bounds)
}

export function mostCalls({ rules, reopened }: Simulation): number {
  const { limits } = rules.workflow
  const passes = rules.workflow.onExhausted === 'requeue' ? (limits.requeues ?? 0) + 1 : 1
  return entriesPerPass(rules.workflow, limits.attempts ?? 3) * passes * (1 + reopened)
}

/** Each entry may be excused a few times, and a restore or a baseline may belong to it. */
export function mostEffects(sim: Simulation): number {
  return mostCalls(sim) * (3 + (sim.rules.workflow.limits.faults ?? 20)) + 3
}

function tell(sim: Simulation, body: TaskEventBody): void {
  const { rules, world } = sim
  const at = 2_000 + sim.events.length * 1_000
  const event: TaskEvent = { v: eventVersion, at, run: 'r1', ...body }
  const before = sim.state
  sim.events.push(event)
  const { state, effects } = transition(rules, before, event)
  sim.state = state
  checkInvariants(rules, state)
  assert.deepEqual(effects, state.next && state.status !== 'held' ? [state.next] : [])
  const failed = state.failures !== before.failures || state.pass !== before.pass
  // The last failure of a task may end in its approval; then the proofs of that attempt are what it is approved on.
  if (failed && state.next?.type !== 'settle') forgetProofs(world)
  if (before.status !== 'open' && before.status !== 'held' && state.status === 'open') {
    sim.reopened += 1
    forgetProofs(world)
  }
  if (state.base === null) world.began = null
  if (before.status !== 'done' && state.status === 'done') checkDone(sim, event)
}

function forgetProofs(world: World): void {
  world.green = null
  world.agreed = false
}

function checkDone({ rules, state, world }: Simulation, event: TaskEvent): void {
  const { workflow } = rules
  if (event.type === 'task.recorded') {
    assert(state.evidence.recorded, 'recorded, but not marked so')
    return
  }
  assert(
    event.type === 'step.finished' && event.outcome.kind === 'settle',
    `done by ${event.type}, not by settling`,
  )
  assert.deepEqual(missingEvidence(workflow, state.evidence), [])
  assert(world.green, 'done although the gates were not green, or a rule was broken since')
  assert.equal(world.green.tree, world.tree, 'done although the gates saw another content')
  assert.equal(state.evidence.gates?.tree, `t${world.tree}`)
  assert(world.tree !== world.began || world.green.own, 'done although nothing changed')
  if (!hasReview(workflow) || world.agreed) return
  assert.equal(state.evidence.review?.verdict, 'auto-pass', 'done although no reviewer agreed')
  assert(mayApprove(workflow), 'approved although the workflow knows no approval')
}

function mayApprove(workflow: Workflow): boolean {
  const stages = Object.values(workflow.stages)
  const targets = stages.flatMap(stage =>
    Object.values(stage.on).flatMap(edge => (typeof edge === 'string' ? [edge] : [edge.to, edge.then])),
  )
  const soft = stages.some(stage => stage.kind === 'agent' && stage.review && stage.gate === 'soft')
  return soft || targets.includes('approve') || workflow.onExhausted === 'approve-with-note'
}

function perform(sim: Simulation, effect: Effect, move: Move, besides: Disturbance | null): void {
  switch (effect.type) {
    case 'agent':
      performAgent(sim, effect.stage, move, besides)
      break
    case 'commands':
      performGates(sim, effect.stage, move, besides)
      break
    case 'baseline':
      performGates(sim, '@baseline', move, besides)
      break
    case 'engine':
      finished(sim, nextStep(sim), effect.stage, { kind: 'engine' })
      break
    case 'restore':
      assert.equal(
        sim.state.base?.tree,
        `t${sim.world.began}`,
        'puts back to where the attempt did not begin',
      )
      sim.world.tree = sim.world.began ?? sim.world.tree
      forgetProofs(sim.world)
      finished(sim, nextStep(sim), '@restore', { kind: 'restore', kept: 'refs/ralph/kept', branch: null })
      break
    case 'settle':
      finished(sim, nextStep(sim), '@settle', { kind: 'settle', head: 'h2', committed: null, paths: [] })
      break
    default:
      effect satisfies never
  }
}

function performGates(sim: Simulation, stage: string, move: Move, besides: Disturbance | null): void {
  const { rules, state, world } = sim
  const commands = { shared: rules.verify === 'none' ? [] : rules.verify, own: state.task.verify }
  const purpose = stage === '@baseline' ? 'baseline' : 'gate'
  const outcome = gatesOutcome(commands, move.gate, purpose, `t${world.tree}`)
  // With nothing to run there is nothing to announce.
  const announced = outcome.results.length > 0
  const step = announced ? start(sim, stage) : nextStep(sim)
  if (besides) disturb(sim, besides)
  if (move.cutOff && announced) {
    cutOff(sim, step)
    return
  }
  if (purpose === 'gate' && isExpected(sim, { type: 'commands', stage })) bookGates(sim, outcome)
  finished(sim, step, stage, outcome)
}

function performAgent(sim: Simulation, name: string, move: Move, besides: Disturbance | null): void {
  const { world } = sim
  const stage = stageOf(sim.rules.workflow, name)
  assert(stage?.kind === 'agent')
  const step = start(sim, name)
  const beforeStep = world.tree
  const counts = countsOf(sim.state)
  const outcome = agentOutcome(sim.state.task, stage, move.agent, `t${world.tree}`)
  if (outcome.change.files.length > 0) world.tree = ++world.newest
  outcome.change.to = `t${world.tree}`
  if (besides) disturb(sim, besides)
  const excused = outcome.fault !== null && isExcused(outcome.fault)
  if (move.cutOff || excused) {
    world.tree = beforeStep
    const before = countsOf(sim.state)
    if (!besides) assert.deepEqual(before, counts)
    if (move.cutOff) {
      cutOff(sim, step)
      return
    }
    finished(sim, step, name, outcome)
    assert.deepEqual(countsOf(sim.state), before, 'an excused step counted')
    return
  }
  if (isExpected(sim, { type: 'agent', stage: name }) && sim.state.step?.id === step)
    bookAgent(sim, stage, outcome)
  finished(sim, step, name, outcome)
}

function isExpected(sim: Simulation, effect: Effect): boolean {
  return sim.state.status === 'open' && isDeepStrictEqual(sim.state.next, effect)
}

/** What a reviewer agreed to and what breaks a proof, by the words of the design and not by the core's code. */
function bookAgent({ world }: Simulation, stage: AgentStage, outcome: AgentOutcome): void {
  const clean = outcome.violations.length === 0
  if (!clean) world.green = null
  const ended = outcome.exit === 0 && outcome.ended === 'exit' && outcome.fault === null
  const rejected = outcome.signals.some(
    signal =>
      signal.type === 'fail' ||
      signal.type === 'doubt' ||
      (signal.type === 'judged' && signal.verdict !== 'pass') ||
      (signal.type === 'verdict' && !signal.pass),
  )
  if (stage.review && clean && ended && !rejected && speaks(stage, outcome)) world.agreed = true
}

function speaks(stage: AgentStage, outcome: AgentOutcome): boolean {
  return stage.signal.from === 'exit' || outcome.signals.length > 0
}

function bookGates({ world }: Simulation, outcome: CommandsOutcome): void {
  const isGreen = outcome.results.every(
    result => result.exit === 0 && result.ended === 'exit' && result.tests === null,
  )
  const own = outcome.results.some(result => result.own && result.exit === 0)
  world.green = isGreen && outcome.violations.length === 0 ? { tree: world.tree, own } : null
}

/** The part of a state that only a counted step may change. */
function countsOf(state: TaskState): unknown {
  const { failures, visits, taken, pass, stuck, history, recent, evidence, spent, status } = state
  const live = status === 'open' || status === 'held'
  return { failures, visits, taken, pass, stuck, history, recent, evidence, calls: spent.calls, live }
}

function nextStep(sim: Simulation): string {
  sim.world.steps += 1
  return `r1/${sim.world.steps}`
}

function start(sim: Simulation, stage: string): string {
  const { world } = sim
  const step = nextStep(sim)
  world.began ??= world.tree
  tell(sim, { type: 'step.started', step, stage, base: aBase(`t${world.tree}`) })
  assert.equal(sim.state.step?.id, step, 'a start of what is next was not taken')
  return step
}

function finished(
  sim: Simulation,
  step: string,
  stage: string,
  outcome: AgentOutcome | CommandsOutcome | Plain,
): void {
  tell(sim, { type: 'step.finished', step, stage, outcome })
  sim.performed += 1
  const { next, status } = sim.state
  if (outcome.kind === 'restore')
    assert(status === 'open' ? next?.type !== 'restore' : !next, 'a restore led nowhere')
  if (outcome.kind === 'settle') assert.equal(status, 'done', 'settling did not end the task')
}

type Plain = Extract<
  Extract<TaskEvent, { type: 'step.finished' }>['outcome'],
  { kind: 'engine' | 'restore' | 'settle' }
>

function cutOff(sim: Simulation, step: string): void {
  const before = countsOf(sim.state)
  const { next } = sim.state
  tell(sim, { type: 'step.interrupted', step, why: 'the engine died', kept: null })
  assert.deepEqual(countsOf(sim.state), before, 'an interrupted step counted')
  assert.deepEqual(sim.state.next, next)
}

function disturb(sim: Simulation, what: Disturbance): void {
  const why = 'a person said so'
  const plain: Partial<Record<Disturbance, TaskEventBody>> = {
    cancel: { type: 'task.cancelled', why },
    reopen: { type: 'task.reopened', why },
    steer: { type: 'task.steered', text: 'use the date helper' },
    change: { type: 'task.changed', task: { ...sim.state.task, title: 'Changed' } },
    remove: { type: 'task.removed' },
    record: { type: 'task.recorded', source: 'progress.txt' },
  }
  const body = plain[what] ?? harmless(sim, what)
  if (!body) return
  const before = sim.state
  tell(sim, body)
  if (!plain[what]) assert(isDeepStrictEqual(sim.state, before), `${body.type} (${what}) changed something`)
}

/** What must change nothing: an engine that lost its lease, a journal line written twice. */
function harmless(sim: Simulation, what: Disturbance): TaskEventBody | null {
  const { task, stage } = sim.state
  const last = sim.events.findLast(event => event.type === 'step.finished')
  const repeated = last?.type === 'step.finished' && last.outcome.kind === 'agent' ? last : null
  switch (what) {
    case 'add':
      return { type: 'task.added', task }
    case 'repeat':
      return repeated
    case 'late':
      return {
        type: 'step.finished',
        step: 'r0/7',
        stage: stage ?? 'a',
        outcome: anAgent({ signals: [done(task.id)] }),
      }
    case 'late interruption':
      return { type: 'step.interrupted', step: 'r0/7', why: 'the engine died', kept: null }
    default:
      return { type: 'step.started', step: 'r0/8', stage: 'no such stage', base: aBase('t99') }
  }
}
