import { describe, expect, it } from 'vitest'
import { aStory, tasksText } from '../helpers/reviewed-project.ts'
import type { Answer } from '../model-server/scenario.ts'
import { claude, codex } from './clis.ts'
import { useStage } from './stage.ts'
import { oneAfterTheOther } from './story.ts'

describe.each([claude, codex])('$name', cli => {
  const stage = useStage(cli)

  it('does two reviewed stories: one approved at once, one sent back and mended', async () => {
    const play = stage({
      stories: [],
      config: { preset: 'reviewed' },
      files: {
        '.gitignore': '.ralph-active\n',
        'mark.mjs': mark,
        'ralph/prd.md': '# PRD\n\nAll the answers.\n',
        'ralph/progress.txt': '# Ralph Progress Log\n\n---\n',
        'ralph/tasks.json': tasksText([aStory('US-001'), aStory('US-002', { priority: 2 })], {
          verifyCommands: ['sh check.sh'],
        }),
      },
    })
    const handIn = { reviewStatus: 'needs_review', reviewFeedback: '', notes: 'written' }
    const approve = { reviewCount: '+1', reviewStatus: 'approved', passes: true }
    const reject = { reviewCount: '+1', reviewStatus: 'changes_requested', reviewFeedback: 'say why' }
    play.script(
      oneAfterTheOther([
        turns(`echo 'answer US-001' > work/US-001.txt`, 'US-001', handIn),
        turns('true', 'US-001', approve),
        turns(`echo 'answer US-002' > work/US-002.txt`, 'US-002', handIn),
        turns('true', 'US-002', reject),
        turns(`echo 'because' >> work/US-002.txt`, 'US-002', handIn),
        turns('true', 'US-002', approve),
      ]),
    )
    const { code, stdout, stderr } = await play.ralph('run')
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain('2 of 2 tasks done with evidence')
    const { userStories } = JSON.parse(play.project.read('ralph/tasks.json')) as { userStories: unknown[] }
    expect(userStories).toMatchObject([
      { id: 'US-001', passes: true, reviewStatus: 'approved', reviewCount: 1 },
      { id: 'US-002', passes: true, reviewStatus: 'approved', reviewCount: 2 },
    ])
    const { agents } = JSON.parse((await play.ralph('report', '--json')).stdout) as { agents: unknown[] }
    expect(agents).toMatchObject([
      { stage: 'implement', calls: 2 },
      { stage: 'review', calls: 3 },
      { stage: 'review-fix', calls: 1 },
    ])
  })
})

/** One iteration: the work, the mark in tasks.json, a commit of both. */
function turns(work: string, id: string, fields: object): Answer[] {
  const files = 'work ralph/tasks.json'
  return [
    {
      text: 'I go to work.',
      tools: [
        {
          shell: `${work} && node mark.mjs ${id} '${JSON.stringify(fields)}' && git add ${files} && git commit -qm '${id}'`,
        },
      ],
    },
    { text: `That was my part of ${id}.` },
  ]
}

/** Sets fields of a story as an agent would with its editing tools. */
const mark = `import { readFileSync, writeFileSync } from 'node:fs'
const [id, fields] = process.argv.slice(2)
const backlog = JSON.parse(readFileSync('ralph/tasks.json', 'utf8'))
const story = backlog.userStories.find(one => one.id === id)
for (const [name, value] of Object.entries(JSON.parse(fields))) story[name] = value === '+1' ? story[name] + 1 : value
writeFileSync('ralph/tasks.json', JSON.stringify(backlog, null, 2) + '\\n')
`
