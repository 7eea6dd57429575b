import assert from 'node:assert/strict'
import { missingEvidence } from '../../src/core/evidence.ts'
import { failureWindow, learningsWindow, type TaskState } from '../../src/core/state.ts'
import { type Rules, stageOf } from '../../src/core/workflow.ts'

/** What must hold of a task's state after every event, whatever came before. */
export function checkInvariants(rules: Rules, state: TaskState): void {
  const { workflow } = rules
  const { status, next, step } = state

  if (status === 'open' || status === 'held') {
    assert(next, `a ${status} task has nothing to do`)
    assert(status === 'open' || step === null, 'a held task has a step under way')
  } else {
    assert(next === null || next.type === 'restore', `a ${status} task still has ${next?.type} to do`)
    assert(step === null || next !== null, `a ${status} task has a step under way`)
    assert.equal(state.stage, null)
  }
  if (next && 'stage' in next) {
    assert.equal(stageOf(workflow, next.stage)?.kind, next.type, `no ${next.type} stage '${next.stage}'`)
    assert.equal(state.stage, next.stage)
  }
  if (next?.type === 'baseline') assert(state.stage !== null && stageOf(workflow, state.stage))
  if (next?.type === 'restore') assert(state.base, 'nothing is known to put back to')
  if (next?.type === 'settle') assert.deepEqual(missingEvidence(workflow, state.evidence), [])
  if (status === 'done' && !state.evidence.recorded) {
    assert.deepEqual(missingEvidence(workflow, state.evidence), [])
    assert(state.evidence.head)
  }
  checkBounds(rules, state)
}

function checkBounds({ workflow }: Rules, state: TaskState): void {
  const { limits } = workflow
  assert(state.failures <= (limits.attempts ?? 3), `${state.failures} failures`)
  assert(state.pass <= (limits.requeues ?? 0) + 1, `pass ${state.pass}`)
  for (const [name, visits] of Object.entries(state.visits)) {
    assert.equal(typeof visits, 'number')
    const limit = stageOf(workflow, name)?.limit
    assert(limit === undefined || visits <= limit, `stage ${name} entered ${visits} times`)
  }
  for (const [key, count] of Object.entries(state.taken)) {
    const at = key.lastIndexOf('.')
    const edge = stageOf(workflow, key.slice(0, at))?.on[key.slice(at + 1) as 'pass' | 'fail' | 'unclear']
    assert(edge && typeof edge !== 'string' && count <= edge.max, `edge ${key} taken ${count} times`)
  }
  assert(state.recent.length <= failureWindow)
  assert(state.learnings.length <= learningsWindow)
  assert(state.history.length <= 100 && state.steering.length <= 5)
  assert(state.waitUntil >= 0 && state.spent.calls >= 0)
}
