import { agent, commands, minutes, preset } from './vocabulary.ts'

/** Seed 3: implement, tests, spec review, quality check; stuck detection with escalation; branch and skip. */
export const gated = preset({
  name: 'gated',
  layout: 'state-markdown',
  select: 'order',
  start: 'implement',
  stages: {
    implement: agent({
      role: 'implementer',
      may: 'write',
      prompt: 'implement',
      signal: { from: 'exit' },
      time: { soft: minutes(12), hard: minutes(20), idle: minutes(10) },
      on: { pass: 'tests', fail: 'retry' },
    }),
    tests: commands({
      gate: 'hard',
      time: { soft: minutes(5), hard: minutes(10) },
      on: { pass: 'spec', fail: 'retry' },
    }),
    spec: agent({
      role: 'spec-reviewer',
      may: 'read',
      prompt: 'spec',
      signal: { from: 'verdict' },
      gate: 'hard',
      review: true,
      time: { soft: minutes(3), hard: minutes(5) },
      on: { pass: 'quality', fail: 'retry' },
    }),
    quality: agent({
      role: 'quality-reviewer',
      may: 'read',
      prompt: 'quality',
      signal: { from: 'verdict' },
      gate: 'soft',
      time: { soft: minutes(2), hard: minutes(3) },
      on: { pass: 'done', fail: 'done' },
    }),
  },
  limits: { attempts: 5, task: { soft: minutes(45), hard: minutes(60) } },
  stuck: { same: 3, shifts: 2 },
  onExhausted: 'branch-and-skip',
  git: { commit: 'agent', onFail: 'branch', onRetry: 'keep' },
  iteration: 'attempt',
  cap: 'attempts',
  protect: ['/plan.md'],
})
