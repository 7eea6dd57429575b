/** What the engine is to do next for a task. One at a time; the outcome comes back as an event. */
export type Effect =
  /** Run the gates once before the first attempt, to know what was red before. */
  | { type: 'baseline' }
  | { type: 'agent'; stage: string }
  | { type: 'commands'; stage: string }
  | { type: 'engine'; stage: string }
  /** Put the tree back to the start of the attempt and keep the failed work. */
  | { type: 'restore' }
  /** Commit what the agent left uncommitted and write the preset's files. */
  | { type: 'settle' }

/** The effects that are a step of their own; the others belong to the step before or after them. */
export function isStage(effect: Effect): effect is Extract<Effect, { stage: string }> {
  return 'stage' in effect
}
