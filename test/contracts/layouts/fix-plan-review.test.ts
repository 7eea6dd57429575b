import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newTaskState } from '../../../src/core/state.ts'
import { judgeReport, readReport } from '../../../src/layouts/fix-plan/review-report.ts'
import { stepwise } from '../../../src/presets/stepwise.ts'

const path = 'docs/specs/001-feature/tasks/TASK-037--review.md'
const task = {
  ...{
    id: '001-feature/TASK-037',
    label: 'TASK-037',
    title: 'A',
    needs: [],
    order: 0,
    verify: [],
    allows: [],
  },
  spec: 'docs/specs/001-feature/tasks/TASK-037.md',
}

function judged(text: string | null, fresh = true) {
  const bytes = text === null ? null : Buffer.from(text)
  return judgeReport({
    ...{ state: newTaskState(task), stage: 'review', rules: { workflow: stepwise, verify: 'none' } },
    before: new Map([[path, null]]),
    after: new Map([[path, bytes]]),
    fresh: new Set(fresh && bytes ? [path] : []),
  })
}

describe('the review report', () => {
  it('H-03 S0-49 S0-50 the front matter decides', () => {
    expect(judged('---\nverdict: pass\n---\n\nFine.\n')).toMatchObject({ verdict: 'pass', violations: [] })
    expect(judged('---\nverdict: FAIL\n---\n\n## Issues\n\n1. it leaks\n')).toMatchObject({
      verdict: 'fail',
      reason: 'it leaks',
    })
    expect(judged('---\nreview_status: PASSED\n---\n').verdict).toBe('pass')
    expect(judged('---\nreview_status: needs_fix\n---\n').verdict).toBe('fail')
    expect(judged('---\nverdict: pass or fail\n---\n').verdict).toBe('unclear')
  })

  it('H-03 without a report, or with one from before, the review has failed', () => {
    expect(judged(null)).toMatchObject({
      verdict: 'fail',
      reason: expect.stringContaining('No review report'),
    })
    expect(judged('---\nverdict: pass\n---\n', false)).toMatchObject({
      verdict: 'fail',
      reason: expect.stringContaining('an old one'),
    })
  })

  it('H-03 hears plain words where there is no front matter, a rejection first', () => {
    expect(readReport('# Review\n\n**Verdict**: ✅ PASSED\n').verdict).toBe('pass')
    expect(readReport('| Overall Status | ❌ Failed |\n').verdict).toBe('fail')
    expect(readReport('Status: approved\n\nReview status: changes requested\n').verdict).toBe('fail')
    expect(readReport('I like it.\n').verdict).toBe('unclear')
    expect(readReport('```\nverdict: pass\n```\n').verdict).toBe('unclear')
    expect(readReport('The verdict: passed with flying colours? No idea.\n').verdict).toBe('unclear')
  })

  it('S0-50 S0-51 a pass with a criterion that is not ticked is no pass', () => {
    expect(readReport('---\nverdict: pass\n---\n- [x] one\n- [ ] two is missing\n')).toEqual({
      verdict: 'fail',
      reason: 'The report says pass, but not all is met: two is missing',
    })
    expect(readReport('---\nverdict: pass\n---\n- [x] one\n- [x] two\n').verdict).toBe('pass')
  })

  it('reads anything, and passes nothing that does not say so', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        if (!/pass|approve|clean|accepted/iu.test(text)) expect(readReport(text).verdict).not.toBe('pass')
      }),
    )
  })
})

describe('a report made to keep its reader busy', () => {
  it.each([
    ['fences', '```a\n'.repeat(100_000)],
    ['spaces', `${' '.repeat(400_000)}x`],
    ['headings', '# issues\n'.repeat(50_000)],
    ['marks', `${'|*_-#'.repeat(100_000)}\n`.repeat(2)],
  ])('%s are read in no time', (_, text) => {
    const begun = performance.now()
    expect(readReport(text).verdict).toBe('unclear')
    expect(performance.now() - begun).toBeLessThan(2_000)
  })
})
