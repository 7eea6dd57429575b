import type { TaskEventBody } from '../../../src/core/event.ts'
import type { AgentOutcome, Fault } from '../../../src/core/outcome.ts'
import { newRunState } from '../../../src/core/run.ts'
import type { Signal } from '../../../src/core/signals.ts'
import type { TaskState } from '../../../src/core/state.ts'
import type { Task } from '../../../src/core/task.ts'
import { type Rules, transition } from '../../../src/core/transition.ts'
import type { Workflow } from '../../../src/core/workflow.ts'
import type { JournalView } from '../../../src/layouts/layout.ts'
import { stories } from '../../../src/presets/stories.ts'

/** A journal in memory, folded by the real core, so that layouts are tested against states that can really occur. */
export type FakeJournal = {
  tasks(): TaskState[]
  state(id: string): TaskState
  record(id: string, body: TaskEventBody): void
  /** The step begins: RUNNING. */
  start(id: string): void
  /** The agent's step ends with these signals and the tree is put back when the attempt failed. */
  finish(id: string, signals: Signal[], fault?: Fault): void
  fail(id: string, reason: string, learnt?: string[]): void
  /** Claims done, the gates pass, the work is settled. */
  done(id: string, learnt?: string[]): void
  /** Everything since the last view, as the engine hands it to `write`. */
  view(): JournalView
  /** Moves the clock; each event takes one second by itself. */
  tick(ms: number): void
}

const base = { head: 'h', branch: 'main', tree: 't', snapshot: '' }

export function fakeJournal(
  tasks: Task[],
  options: { start?: string; workflow?: Workflow; step?: number } = {},
): FakeJournal {
  const rules: Rules = { workflow: options.workflow ?? stories, verify: 'none' }
  const states = new Map<string, TaskState>()
  let now = Date.parse(options.start ?? '2026-01-30T14:05:00Z')
  let steps = 0
  let events: JournalView['events'] = []

  const record = (id: string, body: TaskEventBody) => {
    now += options.step ?? 1000
    const event = { v: 1, at: now, run: 'r1', ...body }
    const after = transition(rules, states.get(id) ?? null, event).state
    states.set(id, after)
    events.push({ task: id, event, after })
  }
  const state = (id: string) => {
    const found = states.get(id)
    if (!found) throw new Error(`no task ${id}`)
    return found
  }
  const start = (id: string) => {
    steps += 1
    record(id, { type: 'step.started', step: `s${steps}`, stage: 'implement', base })
  }
  const finish = (id: string, signals: Signal[], fault: Fault | null = null) => {
    if (!state(id).step) start(id)
    record(id, {
      type: 'step.finished',
      step: `s${steps}`,
      stage: 'implement',
      outcome: agentOutcome(signals, fault),
    })
    if (state(id).next?.type === 'restore') {
      record(id, {
        type: 'step.finished',
        step: 'x',
        stage: '@restore',
        outcome: { kind: 'restore', kept: null, branch: null },
      })
    }
  }
  for (const task of tasks) record(task.id, { type: 'task.added', task })
  events = []

  return {
    tasks: () => [...states.values()].sort((a, b) => a.task.order - b.task.order),
    state,
    record,
    start,
    finish,
    fail: (id, reason, learnt = []) =>
      finish(id, [...learnt.map(learn), { type: 'fail', id, reason, legacy: false }]),
    done(id, learnt = []) {
      finish(id, [...learnt.map(learn), { type: 'done', id, legacy: false }])
      const gate = {
        kind: 'commands',
        purpose: 'gate',
        results: [],
        tree: 't2',
        violations: [],
        ms: 1,
      } as const
      record(id, {
        type: 'step.finished',
        step: `s${steps}`,
        stage: 'verify',
        outcome: { ...gate, results: [], violations: [] },
      })
      const settle = { kind: 'settle' as const, head: 'h2', committed: 'h2', paths: ['a.ts'] }
      record(id, { type: 'step.finished', step: `s${steps}`, stage: '@settle', outcome: settle })
      if (state(id).status !== 'done') throw new Error(`task ${id} is ${state(id).status}: ${state(id).note}`)
    },
    view() {
      const taken = events
      events = []
      const attempts = rules.workflow.limits.attempts ?? 0
      const run = { ...newRunState('r1'), rules }
      return { tasks: this.tasks(), events: taken, attempts, rules, run, end: null, now }
    },
    tick: ms => {
      now += ms
    },
  }
}

function learn(text: string): Signal {
  return { type: 'learn', text }
}

function agentOutcome(signals: Signal[], fault: Fault | null): AgentOutcome {
  return {
    kind: 'agent',
    agent: 'scripted',
    exit: fault ? 1 : 0,
    killed: null,
    ended: 'exit',
    fault,
    signals,
    message: 'the message',
    change: {
      from: 't',
      to: 't2',
      files: [{ path: 'a.ts', how: 'modified' }],
      more: 0,
      commits: [],
      head: 'h2',
      ref: null,
    },
    violations: [],
    usage: { costUsd: null, inputTokens: null, outputTokens: null },
    ms: 5,
  }
}
