import path from 'node:path'
import type { AnyEvent, RunEventBody, TaskEventBody } from '../../src/core/event.ts'
import type { CommandResult, Outcome } from '../../src/core/outcome.ts'
import type { Task } from '../../src/core/task.ts'
import type { Workflow } from '../../src/core/workflow.ts'
import { stories } from '../../src/presets/stories.ts'
import { type Append, runStream } from '../../src/store/log.ts'
import { entryOf, foldEvent, newFolds } from '../../src/store/replay.ts'
import { openStore, type Store } from '../../src/store/sqlite.ts'
import type { TestProject } from './ralph.ts'

/** Writes a journal event by event, as an engine would have done, for what is hard to bring about with a real run. */
export type JournalWriter = {
  run(id: string, options?: { workflow?: Workflow; verify?: string[] | 'none' }): void
  end(body: Extract<RunEventBody, { type: 'run.finished' }>): void
  task(id: string, body: TaskEventBody): void
  add(id: string, task?: Partial<Task>): void
  start(id: string, stage: string): string
  finish(id: string, stage: string, outcome: Outcome): void
}

/** `at` is the moment of the first event; each further one comes a second later. */
export async function writeJournal(
  project: TestProject,
  at: number,
  tell: (writer: JournalWriter) => void,
): Promise<void> {
  const store = openJournal(project)
  try {
    await store.log.append(entries(at, tell))
  } finally {
    store.close()
  }
}

export function openJournal(project: TestProject): Store {
  return openStore(path.join(project.root, '.ralph', 'ralph.db'))
}

function entries(first: number, tell: (writer: JournalWriter) => void): Append[] {
  const folds = newFolds()
  const seqs = new Map<string, number>()
  const list: Append[] = []
  let current = ''
  let at = first
  let steps = 0
  let orders = 0
  const add = (stream: string, body: TaskEventBody | RunEventBody) => {
    const seq = (seqs.get(stream) ?? 0) + 1
    seqs.set(stream, seq)
    const event = { v: 1, at, run: current, ...body } as AnyEvent
    at += 1_000
    list.push(entryOf({ stream, seq, event }, foldEvent(folds, stream, event)))
  }
  const base = { head: 'a'.repeat(40), branch: 'main', tree: 'b'.repeat(40), snapshot: '' }
  const stepId = () => `${current}/${String(steps).padStart(4, '0')}`
  tell({
    run: (id, options = {}) => {
      current = id
      steps = 0
      const { workflow = stories, verify = ['npm test'] } = options
      add(runStream(id), { type: 'run.started', workflow, verify, host: 'test', pid: 1, options: {} })
    },
    end: body => add(runStream(current), body),
    task: add,
    add: (id, task = {}) => {
      const whole: Task = {
        id,
        title: `Title of ${id}`,
        spec: `specs/${id}.md`,
        needs: [],
        order: orders++,
        verify: [],
        allows: [],
        ...task,
      }
      add(id, { type: 'task.added', task: whole })
    },
    start: (id, stage) => {
      steps += 1
      add(id, { type: 'step.started', step: stepId(), stage, base })
      return stepId()
    },
    finish: (id, stage, outcome) => add(id, { type: 'step.finished', step: stepId(), stage, outcome }),
  })
  return list
}

/** An agent's step that ended well and claims the task done. */
export function agentOutcome(id: string, more: Partial<Extract<Outcome, { kind: 'agent' }>> = {}): Outcome {
  return {
    kind: 'agent',
    agent: 'scripted',
    exit: 0,
    killed: null,
    ended: 'exit',
    fault: null,
    signals: [{ type: 'done', id, legacy: false }],
    message: 'I did it',
    change: {
      from: 'b'.repeat(40),
      to: 'c'.repeat(40),
      files: [{ path: `src/${id}.ts`, how: 'added' }],
      more: 0,
      commits: ['d'.repeat(40)],
      head: 'd'.repeat(40),
      ref: 'main',
    },
    violations: [],
    usage: { costUsd: 0.25, inputTokens: 1_000, outputTokens: 200 },
    ms: 61_000,
    ...more,
  }
}

export function gate(command: string, more: Partial<CommandResult> = {}): CommandResult {
  return {
    command,
    exit: 0,
    ended: 'exit',
    ms: 1_200,
    tests: null,
    fingerprint: '',
    tail: '',
    own: false,
    ...more,
  }
}

export function gates(results: CommandResult[], purpose: 'baseline' | 'gate' = 'gate'): Outcome {
  return { kind: 'commands', purpose, results, tree: 'c'.repeat(40), violations: [], ms: 1_200 }
}

export const settled: Outcome = { kind: 'settle', head: 'd'.repeat(40), committed: null, paths: [] }

/** All that happens to a task that is done in one go. */
export function doneTask(
  writer: JournalWriter,
  id: string,
  results: CommandResult[] = [gate('npm test')],
): void {
  writer.add(id)
  if (results.length > 0) {
    writer.start(id, '@baseline')
    writer.finish(id, '@baseline', gates(results, 'baseline'))
  }
  writer.start(id, 'implement')
  writer.finish(id, 'implement', agentOutcome(id))
  writer.start(id, 'verify')
  writer.finish(id, 'verify', gates(results))
  writer.finish(id, '@settle', settled)
}
