import { tasksJson } from '../../../src/layouts/tasks-json.ts'
import { aStory, tasksText } from '../../helpers/reviewed-project.ts'
import { layoutContract } from './layout-contract.ts'

const stories = [
  aStory('US-001', { notes: 'known' }),
  aStory('US-002', { title: 'Käufe “prüfen”' }),
  aStory('US-003', { priority: 2 }),
]

const files = {
  'ralph/prd.md': '# PRD\n',
  'ralph/tasks.json': tasksText(stories),
  'ralph/progress.txt': '# Ralph Progress Log\n\n---\n',
  'ralph/prompt.md': 'Iteration $RALPH_ITERATION\n',
}

// The suite's journal knows no reviewer, so these stories pass without one.
layoutContract({
  layout: tasksJson,
  files,
  settings: { skipReview: true },
  fragile: [...Object.keys(files), '.ralph-active'],
})
