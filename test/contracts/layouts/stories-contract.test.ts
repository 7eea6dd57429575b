import { stories } from '../../../src/layouts/stories.ts'
import { layoutContract } from './layout-contract.ts'

const body = '\n# A story\n\n## Acceptance Criteria\n\n1. It works.\n'

layoutContract({
  layout: stories,
  files: {
    'CLAUDE.md': '# Project\n',
    'specs/epic-1/story-1.1-first.md': `---\nstatus: pending\n---\n${body}`,
    'specs/epic-1/story-1.2-second.md': `\ufeff---\r\nstatus: "ready" # soon\r\n---\r\n${body}`,
    'specs/epic-2/story-2.1-third.md': body,
    'ralph.sh': '#!/bin/bash\nexit 0\n',
  },
  fragile: [
    'specs/epic-1/story-1.1-first.md',
    'specs/order.txt',
    '.ralph/state.json',
    'progress.txt',
    'ralph.sh',
    '.ralph/cache/stories.json',
  ],
})
