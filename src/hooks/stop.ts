import { checkBacklog, type ReviewMode, type ReviewSnapshot } from '../core/backlog-rules.ts'

/** What the stop hook looks at. Texts as they lie on the disk; null = not there. */
export type StopInput = {
  /** `.ralph-active`: a loop of the preset `reviewed` is at work here. */
  marker: string | null
  tasks: string | null
  /** Files that this iteration has left uncommitted. */
  uncommitted: string[]
  /** How often the stop was blocked in this session already. */
  blocks: number
}

export type StopVerdict = { block: string | null; warnings: string[] }

/** Blocks in one session. After that the agent may stop: the engine judges by the same rules, and the iteration fails (H-12). */
export const mostBlocks = 5

/**
 * Whether an agent may end its turn: the backlog is sound, only what this kind of iteration may change has changed, and
 * all is committed. Whatever is wrong is told at once, so that the agent can mend it in one go.
 */
export function judgeStop({ marker, tasks, uncommitted, blocks }: StopInput): StopVerdict {
  if (marker === null) return { block: null, warnings: [] }
  const active = readMarker(marker)
  const { problems, warnings } = checkBacklog({ text: tasks, ...active })
  const all = [...problems, ...(uncommitted.length > 0 ? [uncommittedText(uncommitted)] : [])]
  if (all.length === 0) return { block: null, warnings }
  if (blocks >= mostBlocks)
    return {
      block: null,
      warnings: [...warnings, `blocked ${blocks} times in vain; Ralph itself will judge: ${all[0]}`],
    }
  return { block: all.join('\n'), warnings }
}

type Active = {
  skipReview: boolean
  reviewCap: number
  mode?: ReviewMode | undefined
  snapshot?: ReviewSnapshot | undefined
  story?: string | undefined
}

/** A marker that cannot be read takes no rule away but that on transitions, which needs what stands in it. */
function readMarker(text: string): Active {
  const found = parsed(text)
  const { skipReview, reviewCap, iterationMode, preIterationSnapshot, storyId } = found
  const modes: readonly unknown[] = ['implement', 'review', 'review-fix']
  return {
    skipReview: skipReview === true,
    reviewCap: typeof reviewCap === 'number' ? reviewCap : 5,
    mode: modes.includes(iterationMode) ? (iterationMode as ReviewMode) : undefined,
    snapshot:
      typeof preIterationSnapshot === 'object' && preIterationSnapshot !== null
        ? (preIterationSnapshot as ReviewSnapshot)
        : undefined,
    story: typeof storyId === 'string' ? storyId : undefined,
  }
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function uncommittedText(files: string[]): string {
  const some = files.slice(0, 10).join(', ')
  const more = files.length > 10 ? ` and ${files.length - 10} more` : ''
  return [
    `There are uncommitted changes: ${some}${more}. Before you stop:`,
    '(1) update ralph/progress.txt with results and learnings,',
    '(2) consider lasting patterns for CLAUDE.md or .claude/rules/,',
    '(3) commit ALL changes you made, progress.txt and tasks.json included.',
  ].join('\n')
}
