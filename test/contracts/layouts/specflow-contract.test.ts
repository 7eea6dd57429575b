import { specflow } from '../../../src/layouts/specflow.ts'
import { layoutContract } from './layout-contract.ts'

const spec = '# What is wanted\n\n## Acceptance criteria\n\n1. It works.\n'

layoutContract({
  layout: specflow,
  files: {
    '.specflow/config.yaml': 'ralph:\n  enabled: true\n',
    '.specflow/tasks/TASK-1.json': '{"id":"TASK-1","title":"First","status":"todo"}',
    '.specflow/specs/TASK-1.md': spec,
    '.specflow/tasks/TASK-2.json':
      '{\n    "title": "Second",\n    "status": "backlog",\n    "owner": "me",\n    "metadata": {"note": 1}\n}\n',
    '.specflow/specs/TASK-2.md': spec,
    '.specflow/tasks/TASK-10.json': '\ufeff{"title": "Third", "spec": "docs/third.md"}\n',
    'docs/third.md': spec,
  },
  fragile: [
    '.specflow/config.yaml',
    '.specflow/tasks/TASK-1.json',
    '.specflow/tasks/TASK-10.json',
    '.specflow/specs/TASK-1.md',
    '.specflow/logs/TASK-1.jsonl',
  ],
})
