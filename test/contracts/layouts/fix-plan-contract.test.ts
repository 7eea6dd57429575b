import { fixPlan } from '../../../src/layouts/fix-plan.ts'
import { taskText } from '../../helpers/stepwise-project.ts'
import { layoutContract } from './layout-contract.ts'

layoutContract({
  layout: fixPlan,
  files: {
    'docs/specs/001-feature/spec.md': '# The feature\n',
    'docs/specs/001-feature/tasks/TASK-036.md': taskText({ id: 'TASK-036' }),
    'docs/specs/001-feature/tasks/TASK-037.md': `\ufeff${taskText({ id: 'TASK-037' }).replaceAll('\n', '\r\n')}`,
    'docs/specs/001-feature/tasks/TASK-038-third.md': '# No front matter\n\nJust a text.\n',
    'docs/specs/001-feature/tasks/TASK-036--review.md': '---\nverdict: pass\n---\n',
  },
  fragile: [
    'docs/specs/001-feature/tasks/TASK-036.md',
    'docs/specs/001-feature/tasks/TASK-036--review.md',
    'docs/specs/001-feature/_ralph_loop/fix_plan.json',
    'docs/specs/001-feature/_ralph_loop/run-ralph.sh',
    'docs/specs/001-feature/decision-log.md',
  ],
})
