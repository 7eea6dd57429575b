import { agent, bounded, commands, minutes, preset } from './vocabulary.ts'

const time = { hard: minutes(60), idle: minutes(10) }
const gates = { gate: 'hard', time: { hard: minutes(30) } } as const

/**
 * Seed 1: implement, review by a fresh context, fix; after the review cap the story is approved with a note. `fail` of a
 * writing stage means that the work is not finished: it goes on where it is. `unclear` means a crash or a broken rule.
 */
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
      on: { pass: 'verify', fail: bounded('implement', 2, 'retry'), unclear: 'retry' },
    }),
    verify: commands({ ...gates, on: { pass: 'review', fail: 'retry' } }),
    review: agent({
      role: 'reviewer',
      may: 'read',
      prompt: 'review',
      signal: { from: 'backlog' },
      review: true,
      time,
      // A reviewer that broke a rule has shaken the gates: they run again before the next one.
      on: {
        pass: 'done',
        fail: bounded('review-fix', 4, 'approve'),
        unclear: bounded('verify', 2, 'retry'),
      },
    }),
    'review-fix': agent({
      role: 'fixer',
      may: 'write',
      prompt: 'review-fix',
      signal: { from: 'backlog' },
      time,
      on: {
        pass: 'verify-fix',
        fail: bounded('review-fix', 2, 'retry'),
        unclear: bounded('review-fix', 2, 'retry'),
      },
    }),
    // A fix that breaks something is mended; the work that was reviewed is not thrown away for it.
    'verify-fix': commands({ ...gates, on: { pass: 'review', fail: bounded('review-fix', 2, 'retry') } }),
  },
  limits: { iterations: 15, attempts: 3 },
  onExhausted: 'halt',
  git: { commit: 'agent', onFail: 'restore', message: 'feat: [{id}] - {title}' },
  iteration: 'call',
  noun: 'story',
  live: true,
  strictNeeds: true,
  protect: ['ralph/prd.md', 'ralph/prompt.md'],
  first: ['review-fix', 'verify-fix', 'verify', 'review'],
})
