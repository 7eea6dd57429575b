/** The preset `stories`, with a reviewer after the gates. */
export const reviewStage = {
  extends: 'stories',
  stages: {
    verify: { on: { pass: 'review' } },
    review: {
      role: 'reviewer',
      may: 'read',
      prompt: 'review',
      review: true,
      on: { pass: 'done', fail: 'retry' },
    },
  },
}

export const reviewPrompt =
  'Review story {{id}}. The last line is `VERDICT: pass` or `VERDICT: fail` with the reason.\n'
