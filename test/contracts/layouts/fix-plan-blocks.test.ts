import { describe, expect, it } from 'vitest'
import {
  completeBlock,
  doneBlock,
  failedBlock,
  initBlock,
  nothingBlock,
  scriptBanner,
  scriptHead,
  selectedBlock,
  stepHead,
  stepTail,
} from '../../../src/layouts/fix-plan/blocks.ts'
import { slashCommand } from '../../../src/layouts/fix-plan/slash-commands.ts'
import { resumeCommand } from '../../../src/layouts/fix-plan/standing.ts'

const path = 'docs/specs/001-feature/tasks/TASK-037.md'
const report = 'docs/specs/001-feature/tasks/TASK-037--review.md'
const facts = { task: 'TASK-037', iteration: 3, retries: 1, cap: 3 }
const about = { path, lang: 'spring', label: 'TASK-037', spec: '001-feature' }
const block = (step: string, next: string) =>
  `${stepHead(step, facts, { command: slashCommand(step, about), report })}\n${stepTail(step, true, next)}`

describe('the blocks of the seed, word for word', () => {
  it('S0-36 init', () => {
    expect(initBlock({ from: 'TASK-036', to: 'TASK-041', count: 6, again: false })).toBe(
      `Ralph Loop | Step: init | Range: TASK-036→TASK-041
→ Found 6 tasks in range
→ Initialized fix_plan.json
→ Next: choose_task`,
    )
  })

  it('S0-42 choose_task', () => {
    expect(selectedBlock(facts, 'Implement caching layer')).toBe(
      `Ralph Loop | Step: choose_task | Iteration: 3
→ Selected: TASK-037 "Implement caching layer"
→ Dependencies: satisfied
→ Next: implementation`,
    )
  })

  it('H-02 choose_task names what is blocked, which the seed takes for complete', () => {
    expect(nothingBlock(3, ['TASK-040 needs TASK-035'])).toBe(
      'Ralph Loop | Step: choose_task | Iteration: 3\n→ Blocked: TASK-040 needs TASK-035\n→ Next: failed',
    )
  })

  it('S0-43 S0-46 implementation', () => {
    expect(block('implementation', 'review')).toBe(
      `Ralph Loop | Step: implementation | Task: TASK-037
→ Running /specs:task-implementation --lang=spring --task="docs/specs/001-feature/tasks/TASK-037.md"
→ Success → Next: review`,
    )
  })

  it('S0-05 S0-47 S0-53 review, with --no-confirm and the retry counter', () => {
    expect(block('review', 'cleanup')).toBe(
      `Ralph Loop | Step: review | Task: TASK-037 | Retry: 1/3
→ Running /specs:task-review --no-confirm --lang=spring "docs/specs/001-feature/tasks/TASK-037.md"
→ Reading review report
→ Clean → Next: cleanup`,
    )
    expect(stepTail('review', false, 'fix')).toBe('→ Reading review report\n→ Issues found → Next: fix')
    expect(stepTail('review', false, 'failed')).toBe('→ Reading review report\n→ Issues found → Next: failed')
  })

  it('S0-55 S0-58 fix, which runs the command of the implementation', () => {
    expect(block('fix', 'review')).toBe(
      `Ralph Loop | Step: fix | Task: TASK-037 | Retry: 1/3
→ Reading review report: docs/specs/001-feature/tasks/TASK-037--review.md
→ Fixes applied → Next: review`,
    )
    expect(slashCommand('fix', about)).toBe(slashCommand('implementation', about))
  })

  it('S0-59 S0-62 cleanup', () => {
    expect(block('cleanup', 'sync')).toBe(
      `Ralph Loop | Step: cleanup | Task: TASK-037
→ Running /specs:code-cleanup --no-confirm --lang=spring --task="docs/specs/001-feature/tasks/TASK-037.md"
→ Cleanup complete → Next: sync`,
    )
  })

  it('S0-63 S0-66 sync', () => {
    expect(block('sync', 'update_done')).toBe(
      `Ralph Loop | Step: sync | Task: TASK-037
→ Running /specs:spec-sync-with-code docs/specs/001-feature/ --after-task=TASK-037
→ Sync complete → Next: update_done`,
    )
  })

  it('S0-73 update_done; the percentage is a whole number', () => {
    expect(doneBlock(facts, { done: 2, total: 6 })).toBe(
      `Ralph Loop | Step: update_done | Task: TASK-037
→ Marked TASK-037 done
→ Progress: 2/6 in range (33%)
→ Iteration: 3
→ Next: choose_task`,
    )
  })

  it('S0-74 complete', () => {
    expect(
      completeBlock({
        from: 'TASK-036',
        to: 'TASK-041',
        done: 6,
        total: 6,
        calls: 18,
        deviations: 2,
        learnings: 5,
      }),
    ).toBe(
      `Ralph Loop | COMPLETE
═══════════════════════════════════════════════════════
Task Range: TASK-036 → TASK-041
Tasks Completed: 6/6
Total Iterations: 18
Deviations Detected: 2
Learnings Captured: 5

Run --action=start with a new range to continue.`,
    )
  })

  it('S0-75 failed, with a command that really resumes', () => {
    expect(
      failedBlock({
        task: 'TASK-037',
        error: 'review failed after 3 retries',
        command: resumeCommand('001-feature'),
      }),
    ).toBe(
      `Ralph Loop | FAILED
═══════════════════════════════════════════════════════
Task: TASK-037
Error: review failed after 3 retries

Fix the issues manually, then resume:
ralph run --preset stepwise --action=loop --resume --spec=docs/specs/001-feature/`,
    )
  })

  it('S0-79 S0-82 the script’s header and banners', () => {
    expect(scriptHead({ task: null, iteration: null }, 'init')).toBe(
      'Ralph Loop | Iteration: 0 | Step: init | Task: none',
    )
    expect(scriptBanner('FAILED', null)).toBe(
      `${'═'.repeat(47)}\nRalph Loop FAILED\nError: unknown\n${'═'.repeat(47)}`,
    )
    expect(scriptBanner('COMPLETE', null)).toBe(`${'═'.repeat(47)}\nRalph Loop COMPLETE\n${'═'.repeat(47)}`)
  })
})
