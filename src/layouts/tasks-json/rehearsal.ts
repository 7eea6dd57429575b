/** Edits the story as an honest agent of its stage would: hands it in, approves it, hands it in again. */
const edit = `
const { readFileSync, writeFileSync } = require('node:fs')
const file = 'ralph/tasks.json'
const backlog = JSON.parse(readFileSync(file, 'utf8'))
const { skipReview } = JSON.parse(readFileSync('.ralph-active', 'utf8'))
const story = backlog.userStories.find(one => one.id === process.env.RALPH_TASK)
const stage = process.env.RALPH_STAGE
story.notes = story.notes || 'Rehearsed.'
if (stage === 'review') {
  story.reviewCount += 1
  story.reviewStatus = 'approved'
  story.passes = true
} else if (skipReview) {
  story.passes = true
} else {
  story.reviewStatus = 'needs_review'
  story.reviewFeedback = ''
}
writeFileSync(file, JSON.stringify(backlog, null, 2) + '\\n')
`

const files = ['ralph/tasks.json', 'ralph/progress.txt']
const work = 'rehearsal/{{task}}.md'
const entry = '\n## {{task}} - {{stage}}\n- A rehearsal; no model was called.\n'

export const reviewedRehearsal: unknown[] = [
  {
    on: { stage: 'review' },
    do: [
      { run: { command: ['node', '-e', edit] } },
      { append: { path: 'ralph/progress.txt', text: entry } },
      { commit: { message: 'review: [{{task}}] - approved', paths: files } },
      { say: 'Reviewed and approved.' },
    ],
  },
  {
    do: [
      { append: { path: work, text: 'Written in a rehearsal of story {{task}} ({{stage}}).\n' } },
      { run: { command: ['node', '-e', edit] } },
      { append: { path: 'ralph/progress.txt', text: entry } },
      { commit: { message: 'feat: [{{task}}] - Rehearsal', paths: [work, ...files] } },
      { say: 'Implemented and handed in for review.' },
    ],
  },
]
