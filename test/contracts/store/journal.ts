import { isStage } from '../../../src/core/effect.ts'
import type { AnyEvent, RunEventBody, TaskEventBody } from '../../../src/core/event.ts'
import type { AgentOutcome, CommandsOutcome, Outcome } from '../../../src/core/outcome.ts'
import type { TaskState } from '../../../src/core/state.ts'
import type { Task } from '../../../src/core/task.ts'
import type { Workflow } from '../../../src/core/workflow.ts'
import { type Append, type Fence, isRunStream, type Log, runStream } from '../../../src/store/log.ts'
import { entryOf, foldEvent, newFolds } from '../../../src/store/replay.ts'

/** A small workflow with all kinds of steps. */
export const workflow: Workflow = {
  name: 'test',
  layout: 'fix-plan',
  select: 'order',
  start: 'implement',
  stages: {
    implement: {
      kind: 'agent',
      role: 'implementer',
      may: 'write',
      prompt: 'implement',
      signal: { from: 'exit' },
      on: { pass: 'tests', fail: 'retry' },
    },
    tests: { kind: 'commands', gate: 'hard', on: { pass: 'done', fail: 'retry' } },
  },
  limits: { attempts: 3 },
  onExhausted: 'halt',
  git: { commit: 'agent', onFail: 'keep' },
  iteration: 'attempt',
}

export function newTask(id: string, more: Partial<Task> = {}): Task {
  return { id, title: `Task ${id}`, spec: '', needs: [], order: 0, verify: [], allows: [], ...more }
}

/** Writes a journal as an engine would: every event is folded by the core before it is appended. */
export class Journal {
  readonly log: Log
  readonly run: string
  readonly folds = newFolds()
  readonly seqs = new Map<string, number>()
  fence: Fence | undefined
  private held: Append[] | null = null
  private now = 1_700_000_000_000

  constructor(log: Log, run = 'r1') {
    this.log = log
    this.run = run
  }

  async start(more: Partial<Workflow> = {}): Promise<void> {
    const rules = { workflow: { ...workflow, ...more }, verify: ['npm test'] }
    await this.write(runStream(this.run), {
      type: 'run.started',
      ...rules,
      host: 'here',
      pid: 1,
      options: {},
    })
  }

  async write(stream: string, body: TaskEventBody | RunEventBody): Promise<void> {
    await this.append([this.entry(stream, body)])
  }

  async append(entries: Append[]): Promise<void> {
    if (this.held) this.held.push(...entries)
    else await this.log.append(entries, this.fence)
  }

  /** Collects what is written meanwhile and appends it at once: much faster for a long journal. */
  async atOnce(work: () => Promise<void>): Promise<void> {
    const held: Append[] = []
    this.held = held
    await work()
    this.held = null
    await this.append(held)
  }

  /** Folds an event without appending it yet. */
  entry(stream: string, body: TaskEventBody | RunEventBody): Append {
    const seq = (this.seqs.get(stream) ?? 0) + 1
    this.seqs.set(stream, seq)
    this.now += 1000
    const event = { v: 1, at: this.now, run: this.run, ...body } as AnyEvent
    return entryOf({ stream, seq, event }, foldEvent(this.folds, stream, event))
  }

  async add(...tasks: Task[]): Promise<void> {
    await this.append(tasks.map(task => this.entry(task.id, { type: 'task.added', task })))
  }

  state(id: string): TaskState {
    const state = this.folds.tasks.get(id)
    if (!state) throw new Error(`no task ${id}`)
    return state
  }

  /** Begins the task's next step and leaves it open. */
  async begin(id: string): Promise<void> {
    const { next } = this.state(id)
    if (!next) throw new Error(`${id} has no next step`)
    const stage = isStage(next) ? next.stage : `@${next.type}`
    const base = { head: 'c0', branch: 'main', tree: 't0', snapshot: '' }
    await this.write(id, { type: 'step.started', step: `s${this.seqs.get(id)}`, stage, base })
  }

  /** Takes the task through all its steps to its end. */
  async finish(id: string): Promise<void> {
    while (this.state(id).status === 'open') {
      if (!this.state(id).step) await this.begin(id)
      const { step, next } = this.state(id)
      if (!step || !next) throw new Error(`${id} has no next step`)
      await this.write(id, {
        type: 'step.finished',
        step: step.id,
        stage: step.stage,
        outcome: outcomeOf(next.type),
      })
    }
  }

  /** A whole run with the given tasks. */
  async complete(...ids: string[]): Promise<void> {
    await this.start()
    await this.add(...ids.map((id, order) => newTask(id, { order })))
    for (const id of ids) await this.finish(id)
    await this.write(runStream(this.run), { type: 'run.finished', reason: 'complete', message: 'all done' })
  }

  /** Goes on where another process's journal stands. */
  async resume(): Promise<void> {
    for await (const { stream, seq, event } of this.log.events()) {
      foldEvent(this.folds, stream, event)
      this.seqs.set(stream, seq)
    }
  }

  tasks(): string[] {
    return [...this.seqs.keys()].filter(stream => !isRunStream(stream))
  }
}

function outcomeOf(effect: string): Outcome {
  switch (effect) {
    case 'agent':
      return agentOutcome()
    case 'baseline':
    case 'commands':
      return commandsOutcome(effect === 'baseline' ? 'baseline' : 'gate')
    case 'settle':
      return { kind: 'settle', head: 'c1', committed: 'c1', paths: ['a.ts'] }
    default:
      throw new Error(`no outcome for ${effect}`)
  }
}

function agentOutcome(): AgentOutcome {
  return {
    kind: 'agent',
    agent: 'scripted',
    exit: 0,
    killed: null,
    ended: 'exit',
    fault: null,
    signals: [],
    message: 'Done. Ä ü €, "quotes"\nand a second line',
    change: {
      from: 't0',
      to: 't1',
      files: [{ path: 'a.ts', how: 'modified' }],
      more: 0,
      commits: [],
      head: 'c0',
      ref: null,
    },
    violations: [],
    usage: { costUsd: 0.25, inputTokens: 100, outputTokens: 20 },
    ms: 1500,
  }
}

function commandsOutcome(purpose: CommandsOutcome['purpose']): CommandsOutcome {
  const tests = { passed: 3, failed: 0, skipped: 0, names: [] }
  const result = {
    command: 'npm test',
    exit: 0,
    ended: 'exit' as const,
    ms: 90,
    tests,
    fingerprint: '',
    tail: '',
    own: false,
  }
  return { kind: 'commands', purpose, results: [result], tree: 't1', violations: [], ms: 90 }
}
