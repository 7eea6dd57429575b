import { agent, bounded, commands, engine, minutes, preset } from './vocabulary.ts'

const time = { hard: minutes(60), idle: minutes(10) }

/** Seed 0: one invocation is one step; review and fix at most three times, then clean-up, sync and the record. */
export const stepwise = preset({
  name: 'stepwise',
  layout: 'fix-plan',
  select: 'complexity',
  start: 'choose_task',
  stages: {
    choose_task: engine({ action: 'choose', on: { pass: 'implementation', fail: 'exhausted' } }),
    implementation: agent({
      role: 'implementer',
      may: 'write',
      prompt: 'implementation',
      signal: { from: 'exit' },
      time,
      on: { pass: 'review', fail: 'exhausted' },
    }),
    review: agent({
      role: 'reviewer',
      may: 'read',
      prompt: 'review',
      signal: { from: 'report' },
      review: true,
      time,
      on: { pass: 'cleanup', fail: bounded('fix', 2, 'exhausted') },
    }),
    fix: agent({
      role: 'fixer',
      may: 'write',
      prompt: 'fix',
      signal: { from: 'exit' },
      time,
      on: { pass: 'review', fail: 'exhausted' },
    }),
    cleanup: agent({
      role: 'cleaner',
      may: 'write',
      prompt: 'cleanup',
      signal: { from: 'exit' },
      gate: 'soft',
      time,
      on: { pass: 'sync', fail: 'sync' },
    }),
    sync: agent({
      role: 'syncer',
      may: 'write',
      prompt: 'sync',
      signal: { from: 'exit' },
      gate: 'soft',
      time,
      on: { pass: 'verify', fail: 'verify' },
    }),
    // Clean-up comes after the review and may break what was reviewed (H-06).
    verify: commands({
      gate: 'hard',
      time: { hard: minutes(30) },
      on: { pass: 'update_done', fail: 'exhausted' },
    }),
    update_done: engine({ action: 'record', on: { pass: 'done', fail: 'done' } }),
  },
  limits: {},
  onExhausted: 'halt',
  git: { commit: 'engine', onFail: 'keep' },
  iteration: 'task',
})
