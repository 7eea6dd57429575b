import { type Base, eventVersion, type TaskEvent, type TaskEventBody } from '../../src/core/event.ts'
import {
  type AgentOutcome,
  type CommandResult,
  type CommandsOutcome,
  type Outcome,
  unknownUsage,
} from '../../src/core/outcome.ts'
import type { Signal } from '../../src/core/signals.ts'
import type { TaskState } from '../../src/core/state.ts'
import type { Task } from '../../src/core/task.ts'
import { transition } from '../../src/core/transition.ts'
import type { Rules, Workflow } from '../../src/core/workflow.ts'

/** Small builders, so that a test names only what it is about. */

export function aTask(over: Partial<Task> = {}): Task {
  return { id: '1.1', title: 'First', spec: '', needs: [], order: 0, verify: [], allows: [], ...over }
}

export function someRules(workflow: Workflow, verify: Rules['verify'] = ['npm test']): Rules {
  return { workflow, verify }
}

export function event(body: TaskEventBody, at = 1_000): TaskEvent {
  return { v: eventVersion, at, run: 'r1', ...body }
}

export function aBase(tree = 't0'): Base {
  return { head: 'h0', branch: 'main', tree, snapshot: `refs/ralph/${tree}` }
}

export const done = (id = '1.1'): Signal => ({ type: 'done', id, legacy: false })
export const failed = (reason: string, id = '1.1'): Signal => ({ type: 'fail', id, reason, legacy: false })
export const approves: Signal = { type: 'verdict', pass: true, findings: '' }
/** What a layout read in the files an agent wrote. */
export const judged = (verdict: 'pass' | 'fail' | 'unclear', reason = ''): Signal => ({
  type: 'judged',
  verdict,
  reason,
})
export const rejects = (findings: string): Signal => ({ type: 'verdict', pass: false, findings })
export const promised = (text: string): Signal => ({ type: 'promise', text })

/** An agent that ended well, changed one file and said nothing. */
export function anAgent(over: Partial<AgentOutcome> = {}): AgentOutcome {
  return {
    kind: 'agent',
    agent: 'scripted',
    exit: 0,
    killed: null,
    ended: 'exit',
    fault: null,
    signals: [],
    message: '',
    change: aChange(['src/a.ts']),
    violations: [],
    usage: unknownUsage,
    ms: 1_000,
    ...over,
  }
}

/** An agent that ended well and changed nothing: a reviewer. */
export function aReviewer(...signals: Signal[]): AgentOutcome {
  return anAgent({ signals, change: aChange([]) })
}

export function aChange(paths: string[], tree = 't1'): AgentOutcome['change'] {
  const files = paths.map(path => ({ path, how: 'modified' as const }))
  return { from: 't0', to: tree, files, more: 0, commits: [], head: 'h1', ref: 'main' }
}

export function aResult(over: Partial<CommandResult> = {}): CommandResult {
  return {
    command: 'npm test',
    exit: 0,
    ended: 'exit',
    ms: 10,
    tests: null,
    fingerprint: '',
    tail: '',
    own: false,
    ...over,
  }
}

export function gates(results: CommandResult[], over: Partial<CommandsOutcome> = {}): CommandsOutcome {
  return { kind: 'commands', purpose: 'gate', results, tree: 't1', violations: [], ms: 10, ...over }
}

export const green = gates([aResult()])
export const red = gates([aResult({ exit: 1, fingerprint: 'aaaaaaaa', tail: 'expected 1, got 2' })])
export const baseline = (...results: CommandResult[]): CommandsOutcome =>
  gates(results, { purpose: 'baseline' })

/** One task walked by hand: each call performs whatever is next with the given outcome. */
export type Walk = {
  state(): TaskState
  events: TaskEvent[]
  tell(body: TaskEventBody): TaskState
  /** Performs what is next; housekeeping (baseline, restore, settle) is done by itself before and after. */
  step(outcome: Outcome): TaskState
  /** Performs exactly one effect. */
  effect(outcome: Outcome): TaskState
  /** Names of the stages performed so far. */
  path: string[]
}

export function walk(rules: Rules, task: Task = aTask()): Walk {
  const events: TaskEvent[] = []
  const path: string[] = []
  let at = 1_000
  let count = 0
  let current: TaskState | null = null
  const tell = (body: TaskEventBody) => {
    at += 1_000
    const one = event(body, at)
    events.push(one)
    current = transition(rules, current, one).state
    return current
  }
  const state = () => current ?? tell({ type: 'task.added', task })
  const effect = (outcome: Outcome) => {
    const { next } = state()
    if (!next) throw new Error(`nothing is next for a ${state().status} task`)
    const stage = 'stage' in next ? next.stage : `@${next.type}`
    if ('stage' in next) path.push(next.stage)
    const step = `r1/${++count}`
    tell({ type: 'step.started', step, stage, base: aBase() })
    return tell({ type: 'step.finished', step, stage, outcome })
  }
  const housekeeping = (): void => {
    const { next } = state()
    if (next?.type === 'baseline') effect(baseline(aResult()))
    else if (next?.type === 'restore') effect({ kind: 'restore', kept: null, branch: null })
    else if (next?.type === 'settle') effect({ kind: 'settle', head: 'h2', committed: null, paths: [] })
    else return
    housekeeping()
  }
  const step = (outcome: Outcome) => {
    housekeeping()
    effect(outcome)
    housekeeping()
    return state()
  }
  state()
  return { state, events, tell, step, effect, path }
}
