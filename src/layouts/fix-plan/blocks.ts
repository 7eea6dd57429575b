/** The seed's words, line by line. Each function gives one block without the newline at its end. */

export type Facts = {
  task: string
  iteration: number
  retries: number
  cap: number
}

export const rule = '═'.repeat(55)
const scriptRule = '═'.repeat(47)

export function initBlock(about: { from: string; to: string; count: number; again: boolean }): string {
  const lines = about.again
    ? ['→ Initializing... (already done)']
    : [`→ Found ${about.count} tasks in range`, '→ Initialized fix_plan.json']
  return [`Ralph Loop | Step: init | Range: ${about.from}→${about.to}`, ...lines, '→ Next: choose_task'].join(
    '\n',
  )
}

export function selectedBlock({ task, iteration }: Facts, title: string): string {
  return [
    `Ralph Loop | Step: choose_task | Iteration: ${iteration}`,
    `→ Selected: ${task} "${title}"`,
    '→ Dependencies: satisfied',
    '→ Next: implementation',
  ].join('\n')
}

/** The seed has no words for what is blocked: it ends as complete there (H-02). */
export function nothingBlock(iteration: number, blocked: string[]): string {
  const head = `Ralph Loop | Step: choose_task | Iteration: ${iteration}`
  if (blocked.length === 0) return [head, '→ No more tasks in range', '→ Next: complete'].join('\n')
  return [head, ...blocked.map(text => `→ Blocked: ${text}`), '→ Next: failed'].join('\n')
}

/** The first lines of a step, before its agent runs. */
export function stepHead(
  step: string,
  { task, retries, cap }: Facts,
  about: { command: string; report: string },
): string {
  const retry = step === 'review' || step === 'fix' ? ` | Retry: ${retries}/${cap}` : ''
  const second = step === 'fix' ? `→ Reading review report: ${about.report}` : `→ Running ${about.command}`
  return `Ralph Loop | Step: ${step} | Task: ${task}${retry}\n${second}`
}

/** The last lines of a step: what came of it and where it leads. */
export function stepTail(step: string, passed: boolean, next: string): string {
  const words: Record<string, [string, string]> = {
    implementation: ['→ Success', '→ Failed'],
    review: ['→ Reading review report\n→ Clean', '→ Reading review report\n→ Issues found'],
    fix: ['→ Fixes applied', '→ Fixes failed'],
    cleanup: ['→ Cleanup complete', '→ Cleanup failed (a warning)'],
    sync: ['→ Sync complete', '→ Sync failed (a warning)'],
  }
  const [good, bad] = words[step] ?? ['→ Success', '→ Failed']
  return `${passed ? good : bad} → Next: ${next}`
}

export function doneBlock({ task, iteration }: Facts, progress: { done: number; total: number }): string {
  const { done, total } = progress
  const percent = total === 0 ? 100 : Math.floor((done * 100) / total)
  return [
    `Ralph Loop | Step: update_done | Task: ${task}`,
    `→ Marked ${task} done`,
    `→ Progress: ${done}/${total} in range (${percent}%)`,
    `→ Iteration: ${iteration}`,
    '→ Next: choose_task',
  ].join('\n')
}

export function notDoneBlock({ task }: Facts, reason: string, next: string): string {
  return [`Ralph Loop | Step: update_done | Task: ${task}`, `→ Not done: ${reason}`, `→ Next: ${next}`].join(
    '\n',
  )
}

export function completeBlock(about: {
  from: string
  to: string
  done: number
  total: number
  calls: number
  deviations: number
  learnings: number
}): string {
  return [
    'Ralph Loop | COMPLETE',
    rule,
    `Task Range: ${about.from} → ${about.to}`,
    `Tasks Completed: ${about.done}/${about.total}`,
    `Total Iterations: ${about.calls}`,
    `Deviations Detected: ${about.deviations}`,
    `Learnings Captured: ${about.learnings}`,
    '',
    'Run --action=start with a new range to continue.',
  ].join('\n')
}

export function failedBlock(about: { task: string; error: string; command: string }): string {
  return [
    'Ralph Loop | FAILED',
    rule,
    `Task: ${about.task}`,
    `Error: ${about.error}`,
    '',
    'Fix the issues manually, then resume:',
    about.command,
  ].join('\n')
}

/** The shell script's form of the same (S0-79 to S0-82). The empty line at its end is printed with the last line. */
export function scriptHead(
  { task, iteration }: { task: string | null; iteration: number | null },
  step: string,
): string {
  return `Ralph Loop | Iteration: ${iteration ?? 0} | Step: ${step} | Task: ${task ?? 'none'}`
}

export function scriptLine(step: string, task: string): string {
  switch (step) {
    case 'init':
      return '→ Initializing... (already done)'
    case 'choose_task':
      return task === '' ? '→ No more tasks in range' : `→ Selected: ${task}`
    case 'implementation':
      return `→ [IMPLEMENTATION: Run task-implementation for ${task}]`
    case 'review':
      return `→ [REVIEW: Run task-review for ${task}]`
    case 'cleanup':
      return `→ [CLEANUP: Run code-cleanup for ${task}]`
    case 'fix':
      return `→ [FIX: Apply fixes for ${task} based on review report]`
    case 'sync':
      return `→ [SYNC: Run spec-sync-with-code for ${task}]`
    default:
      return `→ [UPDATE_DONE: Marking ${task} as done]`
  }
}

export function scriptBanner(end: 'COMPLETE' | 'FAILED', error: string | null): string {
  const more = end === 'FAILED' ? [`Error: ${error ?? 'unknown'}`] : []
  return [scriptRule, `Ralph Loop ${end}`, ...more, scriptRule].join('\n')
}
