import { expect, it } from 'vitest'
import { claude, codex } from './clis.ts'
import { reviewPrompt, reviewStage } from './review.ts'
import { useStage } from './stage.ts'
import { honest } from './story.ts'

const stage = useStage(codex, claude)

it('codex implements, claude reviews, and the report tells who did what', async () => {
  const play = stage({
    config: reviewStage,
    files: { 'ralph/prompts/review.md': reviewPrompt },
    agent: ({ codex, claude }) => ({ implementer: codex, reviewer: claude }),
  })
  play.script(honest(play.project.root), 'codex')
  // The first review finds something, the second one nothing.
  play.script(
    [
      { text: 'I look at it.', tools: [{ read: `${play.project.root}/work/1.1.txt` }] },
      {
        attempts: [
          { text: 'VERDICT: fail - the answer is not explained' },
          { text: 'Good.\n\nVERDICT: pass' },
        ],
      },
    ],
    'claude',
  )
  const { code, stdout, stderr } = await play.ralph('run', '--attempts', '2')
  expect(code, stdout + stderr).toBe(0)
  // What the reviewer found was told to the next attempt.
  expect(JSON.stringify(play.requests('codex').at(-1)?.body)).toContain('the answer is not explained')

  const { agents } = JSON.parse((await play.ralph('report', '--json')).stdout) as { agents: unknown[] }
  expect(agents).toMatchObject([
    {
      agent: 'codex',
      model: 'gpt-5.4',
      stage: 'implement',
      calls: 2,
      refunded: 0,
      unknownCosts: 2,
      tokens: 6300,
    },
    { agent: 'claude', stage: 'review', calls: 2, refunded: 0, unknownCosts: 0 },
  ])
})
