import { agent, bounded, commands, minutes, preset } from './vocabulary.ts'

const time = { hard: minutes(60), idle: minutes(10) }

/** Seed 1: implement, review by a fresh context, fix; after the review cap the story is approved with a note. */
export const reviewed = preset({
  name: 'reviewed',
  layout: 'tasks-json',
  select: 'priority',
  start: 'implement',
  stages: {
    implement: agent({
      role: 'implementer',
      may: 'write',
      prompt: 'implement',
      signal: { from: 'backlog' },
      time,
      on: { pass: 'verify', fail: 'retry' },
    }),
    verify: commands({ gate: 'hard', time: { hard: minutes(30) }, on: { pass: 'review', fail: 'retry' } }),
    review: agent({
      role: 'reviewer',
      may: 'read',
      prompt: 'review',
      signal: { from: 'backlog' },
      review: true,
      time,
      on: { pass: 'done', fail: bounded('review-fix', 4, 'approve') },
    }),
    'review-fix': agent({
      role: 'fixer',
      may: 'write',
      prompt: 'review-fix',
      signal: { from: 'backlog' },
      time,
      on: { pass: 'verify', fail: 'retry' },
    }),
  },
  limits: { iterations: 15, attempts: 3 },
  onExhausted: 'halt',
  git: { commit: 'agent', onFail: 'restore' },
  iteration: 'call',
})
