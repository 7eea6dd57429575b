import { agent, bounded, commands, engine, minutes, preset } from './vocabulary.ts'

const time = { hard: minutes(60), idle: minutes(10) }

/**
 * Seed 0: one invocation is one step; review and fix at most three times, then clean-up, sync and the record. The names of
 * the stages are the values of `state.step` in `fix_plan.json`.
 */
export const stepwise = preset({
  name: 'stepwise',
  layout: 'fix-plan',
  select: 'complexity',
  strictNeeds: true,
  opening: 'init',
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
    // It reads the code and writes about it: what is reviewed and cleaned stays as it is.
    sync: agent({
      role: 'syncer',
      may: 'read',
      prompt: 'sync',
      signal: { from: 'exit' },
      gate: 'soft',
      time,
      on: { pass: 'update_done', fail: 'update_done' },
    }),
    // Clean-up comes after the review and may break what was reviewed (H-06): the record is made only of what the gates prove.
    update_done: commands({
      gate: 'hard',
      time: { hard: minutes(30) },
      on: { pass: 'done', fail: bounded('fix', 2, 'exhausted') },
    }),
  },
  limits: {},
  onExhausted: 'halt',
  halted: 'stay',
  git: { commit: 'engine', onFail: 'keep', message: 'Ralph iteration {iteration}: {id} [{title}]' },
  iteration: 'task',
  protect: ['docs/specs/**'],
})
