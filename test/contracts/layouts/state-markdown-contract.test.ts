import { stateMarkdown } from '../../../src/layouts/state-markdown.ts'
import { layoutContract } from './layout-contract.ts'

const plan = [
  '# Plan',
  '',
  '## Task 1: First thing',
  '',
  'What to do.',
  '',
  '### Success Criteria',
  '',
  '- [ ] It works',
  '',
  '## Task 2: Second thing {#second}\r',
  '\r',
  'More to do.\r',
  '\r',
  '## Task 3: Third thing',
  'id: third',
  '',
  'The last of it.',
  '',
].join('\n')

layoutContract({
  layout: stateMarkdown,
  files: { 'plan.md': plan },
  fragile: ['plan.md', '.ralph_state.md', '.ralph.lock', 'docs/plan.md'],
})
