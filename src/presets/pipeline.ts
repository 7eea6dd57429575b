import type { PromiseChecks } from '../core/workflow.ts'
import { agent, commands, minutes, preset } from './vocabulary.ts'

const time = { hard: minutes(30), idle: minutes(10) }
const promise = (text: string, checks: Omit<PromiseChecks, 'contradictions'> = {}) =>
  ({ from: 'promise', text, verify: { contradictions: true, ...checks } }) as const

/**
 * Seed 2: coder, reviewer, tester and qa, each a loop until its verified promise, in a worktree of the task's own. What a
 * later stage finds goes back to the coder; the limit of a stage holds over all its loops of one pass.
 */
export const pipeline = preset({
  name: 'pipeline',
  layout: 'specflow',
  select: 'order',
  start: 'coder',
  stages: {
    coder: agent({
      role: 'implementer',
      may: 'write',
      prompt: 'coder',
      signal: promise('IMPLEMENTATION_COMPLETE', {
        must: { words: ['commit', 'committed'], reason: 'No commit detected in coder output' },
        // Words prove nothing (H-20).
        fact: 'commit',
      }),
      limit: 15,
      time,
      on: { pass: 'reviewer', fail: 'coder' },
    }),
    reviewer: agent({
      role: 'reviewer',
      may: 'read',
      prompt: 'reviewer',
      signal: promise('REVIEW_COMPLETE', {
        must: { words: ['REVIEW PASSED', 'approved'], reason: 'No review approval detected' },
      }),
      review: true,
      limit: 5,
      time,
      on: { pass: 'tester', fail: 'coder', unclear: 'reviewer' },
    }),
    tester: agent({
      role: 'tester',
      may: 'write',
      prompt: 'tester',
      signal: promise('TESTS_COMPLETE', {
        must: { words: ['passed', 'TESTS PASSED'], reason: 'No passing tests detected' },
      }),
      limit: 10,
      time,
      on: { pass: 'verify', fail: 'coder', unclear: 'tester' },
    }),
    // What the tester says is seen for oneself (H-20).
    verify: commands({ gate: 'hard', time: { hard: minutes(30) }, on: { pass: 'qa', fail: 'coder' } }),
    qa: agent({
      role: 'qa',
      may: 'read',
      prompt: 'qa',
      signal: promise('QA_PASSED'),
      limit: 5,
      time,
      on: { pass: 'done', fail: 'coder', unclear: 'qa' },
    }),
  },
  limits: { attempts: 3, requeues: 2 },
  onExhausted: 'requeue',
  git: { commit: 'agent', onFail: 'branch', worktree: 'task' },
  iteration: 'call',
  protect: ['.specflow/**'],
})
