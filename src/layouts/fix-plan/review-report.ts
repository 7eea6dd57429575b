import { oneLine } from '../../core/text.ts'
import { parseFrontMatter } from '../front-matter.ts'
import type { Judgement, Proposal } from '../layout.ts'
import { withoutCode } from './decision-log.ts'
import { reportPath } from './task-file.ts'

export type ReportVerdict = Pick<Judgement, 'verdict' | 'reason'>

/** The verdict of a review is what its report says; no report, or one from before, is a failed review (H-03). */
export function judgeReport({ state, after, fresh }: Proposal): Judgement {
  const path = reportPath(state.task.spec)
  const bytes = after.get(path) ?? null
  const judged = (found: ReportVerdict): Judgement => ({ ...found, violations: [], restore: [] })
  if (bytes === null) return judged({ verdict: 'fail', reason: `No review report was written (${path})` })
  if (!fresh.has(path))
    return judged({
      verdict: 'fail',
      reason: `The review report is an old one; this review wrote none (${path})`,
    })
  return judged(readReport(bytes.toString('utf8')))
}

const passes = /^(?:pass|passed|approve|approved|clean|accepted)$/u
const fails =
  /^(?:fail|failed|reject|rejected|needs[ _-]?(?:fix|work|changes)|changes[ _-]?requested|partial|escalate|issues(?:[ _-]found)?|incomplete)$/u
const keys = ['verdict', 'review_status', 'status', 'result']

/**
 * Front matter `verdict: pass|fail` decides (`review_status: PASSED` of the seed's own plugin, too). Without it, lines
 * such as `**Verdict**: PASS` are heard, a rejection before an approval. What is not clearly a pass is none.
 */
export function readReport(text: string): ReportVerdict {
  const front = parseFrontMatter(text)
  const body = withoutCode(front.body)
  const word = keys.map(key => normal(front.fields.get(key)?.items[0] ?? '')).find(one => one !== '') ?? ''
  const said = word === '' ? linesIn(body) : [word]
  if (said.some(one => fails.test(one))) return { verdict: 'fail', reason: firstFinding(body) }
  if (!said.some(one => passes.test(one)))
    return {
      verdict: 'unclear',
      reason:
        word === '' ? 'The review report has no verdict' : `The review report has the verdict '${word}'`,
    }
  const open = /^[ \t]*[-*+][ \t]+\[ \][ \t]+(\S.*)$/mu.exec(body)?.[1]
  if (open !== undefined)
    return { verdict: 'fail', reason: `The report says pass, but not all is met: ${oneLine(open, 200)}` }
  return { verdict: 'pass', reason: '' }
}

const line =
  /^[ \t*_#|-]{0,20}(?:overall |final |review )?(?:verdict|review[ _]status|status|result|outcome)[ \t*_]{0,20}[:|=][ \t*_`|]{0,20}([^\n|]{0,60})/gimu

function linesIn(body: string): string[] {
  return [...body.matchAll(line)].map(match => normal(match[1] ?? ''))
}

/** `✅ **PASSED**.` → `passed`. */
function normal(text: string): string {
  return oneLine(text.replace(/[^\p{L}\p{N} _-]+/gu, ' '), 40).toLowerCase()
}

function firstFinding(body: string): string {
  const after =
    /^#{1,6}[ \t].*\b(?:issue|finding|problem|defect|fix)\w*.*$([\s\S]*)/imu.exec(body)?.[1] ?? body
  const item = /^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ x]\][ \t]+)?(\S.*)$/imu.exec(after)?.[1]
  return item === undefined ? 'The review found issues' : oneLine(item, 300)
}
