import { agent, commands, minutes, preset } from './vocabulary.ts'

/** Seed 4: story specs in order, `<ralph>` signals, three tries, then halt and ask for a person. */
export const stories = preset({
  name: 'stories',
  layout: 'stories',
  select: 'order',
  start: 'implement',
  stages: {
    implement: agent({
      role: 'implementer',
      may: 'write',
      prompt: 'story',
      signal: { from: 'tags', legacy: true },
      time: { hard: minutes(30), idle: minutes(10) },
      on: { pass: 'verify', fail: 'retry' },
    }),
    verify: commands({ gate: 'hard', time: { hard: minutes(30) }, on: { pass: 'done', fail: 'retry' } }),
  },
  limits: { iterations: 45, attempts: 3 },
  onExhausted: 'halt',
  git: { commit: 'agent', onFail: 'restore' },
  iteration: 'attempt',
  noun: 'story',
  protect: ['specs/**'],
})
