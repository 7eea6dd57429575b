import type { AgentOutcome, CommandResult, CommandsOutcome } from '../../src/core/outcome.ts'
import type { Signal } from '../../src/core/signals.ts'
import type { Task } from '../../src/core/task.ts'
import type { AgentStage } from '../../src/core/workflow.ts'
import type { AgentMove, GateMove } from './arbitraries.ts'
import { aChange, aResult, gates, judged } from './build.ts'

/** What an agent call of this stage comes to. */
export function agentOutcome(task: Task, stage: AgentStage, move: AgentMove, tree: string): AgentOutcome {
  const mute = stage.signal.from === 'exit'
  // A reviewer's edits are put back by the engine and reported as a broken rule.
  const edits = stage.may === 'read' ? 0 : move.files
  return {
    kind: 'agent',
    agent: 'scripted',
    exit: mute && move.says !== 'yes' ? 1 : move.exit,
    killed: null,
    ended: move.ended,
    fault: move.fault ? { kind: move.fault, message: `${move.fault} happened` } : null,
    signals: signalsOf(stage, move, task),
    message: 'what the agent said',
    change: {
      ...aChange(Array.from({ length: edits }, (_, index) => `src/${index}.ts`)),
      from: tree,
      commits: edits > 0 && move.commits > 0 ? ['c1'] : [],
    },
    violations: move.violations,
    usage: { costUsd: move.costUsd, inputTokens: 10, outputTokens: null },
    ms: move.ms,
  }
}

function signalsOf(stage: AgentStage, { says }: AgentMove, task: Task): Signal[] {
  const { signal } = stage
  switch (signal.from) {
    case 'tags':
      if (says === 'yes') return [{ type: 'done', id: task.id, legacy: false }]
      if (says === 'no') return [{ type: 'fail', id: task.id, reason: 'I cannot', legacy: false }]
      return says === 'other' ? [{ type: 'done', id: '9.9', legacy: false }] : []
    case 'promise':
      if (says === 'yes') return [{ type: 'promise', text: signal.text }]
      if (says === 'no')
        return [
          { type: 'promise', text: signal.text },
          { type: 'doubt', reason: 'Output contains contradictions to promise', text: 'TODO: all' },
        ]
      return says === 'other' ? [{ type: 'promise', text: 'SOMETHING_ELSE' }] : []
    case 'report':
    case 'backlog':
      if (says === 'yes') return [judged('pass')]
      if (says === 'no') return [judged('fail', 'criterion 2 is not met')]
      return says === 'other' ? [judged('unclear', 'nothing was written')] : []
    case 'verdict':
      if (says === 'yes') return [{ type: 'verdict', pass: true, findings: '' }]
      return says === 'no' ? [{ type: 'verdict', pass: false, findings: 'criterion 2 is not met' }] : []
    default:
      return []
  }
}

/** What the verify commands of the run and of the task come to. */
export function gatesOutcome(
  commands: { shared: string[]; own: string[] },
  move: GateMove,
  purpose: CommandsOutcome['purpose'],
  tree: string,
): CommandsOutcome {
  const results: CommandResult[] = [
    ...commands.shared.map(command => aResult({ command, ...(purpose === 'gate' ? ends[move.result] : {}) })),
    ...commands.own.map(command => aResult({ command, own: true, exit: move.own ? 0 : 1 })),
  ]
  const violations = move.broken
    ? [{ rule: 'gate-definition' as const, path: 'package.json', detail: 'Changed package.json' }]
    : []
  return { ...gates(results), purpose, tree, violations }
}

const ends: Record<GateMove['result'], Partial<CommandResult>> = {
  green: {},
  red: { exit: 1, fingerprint: 'aaaaaaaa' },
  timeout: { exit: null, ended: 'timeout' },
  killed: { exit: null },
  'no-tests': { tests: { passed: 0, failed: 0, skipped: 0, names: [] } },
}
