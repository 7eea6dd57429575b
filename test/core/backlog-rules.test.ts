import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BacklogDocument, readDocument, type Story } from '../../src/core/backlog-document.ts'
import {
  type BacklogCheck,
  checkBacklog,
  modeOf,
  type ReviewMode,
  snapshotOf,
} from '../../src/core/backlog-rules.ts'

function story(more: Partial<Story> & Record<string, unknown> = {}): Story {
  return {
    id: 'US-001',
    title: 'Login',
    acceptanceCriteria: ['It works'],
    priority: 1,
    passes: false,
    reviewStatus: null,
    reviewCount: 0,
    reviewFeedback: '',
    notes: 'done so far',
    dependsOn: [],
    ...more,
  }
}

function backlog(...stories: Story[]): BacklogDocument {
  const userStories = stories.length > 0 ? stories : [story()]
  return { project: 'P', branchName: 'ralph/p', description: 'D', verifyCommands: ['npm test'], userStories }
}

/** The problems of an end state alone, as without a snapshot. */
function standing(document: unknown, more: Partial<BacklogCheck> = {}): string[] {
  return checkBacklog({ text: JSON.stringify(document), skipReview: false, reviewCap: 5, ...more }).problems
}

/** The problems of a call that led from one state to another. */
function step(mode: ReviewMode, before: Story[], after: Story[], more: Partial<BacklogCheck> = {}): string[] {
  const snapshot = snapshotOf(backlog(...before))
  return standing(backlog(...after), { mode, snapshot, ...more })
}

describe('check 1: the shape', () => {
  it('S1-T04 a valid file has no problem', () => {
    expect(standing(backlog())).toEqual([])
    expect(standing(backlog(story(), story({ id: 'US-002', reviewStatus: 'needs_review' })))).toEqual([])
  })

  it('S1-67 must exist and be JSON', () => {
    const check = { skipReview: false, reviewCap: 5 }
    expect(checkBacklog({ ...check, text: null }).problems).toEqual(['tasks.json does not exist.'])
    expect(checkBacklog({ ...check, text: '{ "project": ' }).problems[0]).toMatch(
      /^tasks\.json is not valid JSON: /u,
    )
    expect(checkBacklog({ ...check, text: '[]' }).problems).toEqual(['tasks.json must be a JSON object.'])
  })

  it.each(['project', 'branchName', 'description', 'userStories'])('S1-68 needs the field %s', field => {
    const { [field]: _, ...rest } = { ...backlog() } as Record<string, unknown>
    expect(standing(rest)).toEqual([
      field === 'userStories'
        ? "tasks.json: 'userStories' must be an array."
        : `tasks.json: '${field}' must be a string.`,
    ])
  })

  it.each([
    ['id', 7],
    ['title', null],
    ['title', ''],
    ['passes', 'yes'],
    ['priority', '1'],
    ['acceptanceCriteria', []],
    ['acceptanceCriteria', 'all'],
    ['reviewStatus', 'rejected'],
    ['reviewStatus', undefined],
    ['reviewCount', 1.5],
    ['reviewCount', '0'],
    ['reviewFeedback', null],
  ])('S1-69 S1-72 names story and field when %s is %j', (field, value) => {
    const [problem = '', ...more] = standing(backlog(story(), story({ id: 'US-002', [field]: value })))
    expect(problem).toContain(field === 'id' ? 'userStories[1]' : 'US-002')
    expect(problem).toContain(`'${field}' must be`)
    expect(more).toEqual([])
  })

  it('S1-T12 a negative reviewCount is refused', () => {
    expect(standing(backlog(story({ reviewCount: -1 })))).toEqual([
      "Story US-001: 'reviewCount' must be a non-negative integer.",
    ])
  })

  it('S1-70 an id may be used once', () => {
    expect(standing(backlog(story(), story()))).toEqual(['Story US-001: the id is used more than once.'])
  })

  it('S1-71 a story that passes must have notes', () => {
    const done = { passes: true, reviewStatus: 'approved', reviewCount: 1 } as const
    for (const notes of ['', '  ', undefined])
      expect(standing(backlog(story({ ...done, notes })))).toEqual([
        "Story US-001: 'notes' is empty although passes=true. Say what was done.",
      ])
    expect(standing(backlog(story({ notes: '' })))).toEqual([])
  })

  it('never throws, whatever the text is', () => {
    const anyStory = fc.dictionary(fc.constantFrom(...Object.keys(story())), fc.jsonValue())
    const anyText = fc.oneof(
      fc.string(),
      fc.json(),
      fc.record({ project: fc.string(), userStories: fc.array(anyStory) }).map(one => JSON.stringify(one)),
    )
    fc.assert(
      fc.property(anyText, fc.constantFrom<ReviewMode>('implement', 'review', 'review-fix'), (text, mode) => {
        const { document, problems } = checkBacklog({
          text,
          skipReview: false,
          reviewCap: 5,
          mode,
          snapshot: snapshotOf(backlog()),
          before: backlog(),
        })
        expect(document !== null || problems.length > 0).toBe(true)
        expect(readDocument(text).document).toEqual(document)
      }),
    )
  })
})

describe('check 2: what must hold at any moment', () => {
  it.each([
    ['S1-T06', null],
    ['S1-T07', 'needs_review'],
    ['S1-T08', 'changes_requested'],
  ] as const)('%s S1-74 passes with reviewStatus %s is not approved', (_id, reviewStatus) => {
    const problems = standing(backlog(story({ passes: true, reviewStatus, reviewFeedback: 'x' })))
    expect(problems).toEqual([
      `Story US-001 has passes=true but reviewStatus is '${reviewStatus}', not 'approved'. Only review iterations may approve stories. Set passes back to false or complete the review cycle.`,
    ])
  })

  it('S1-T06 S1-T07 S1-T08 S1-T09 passes goes with approved, and only with it', () => {
    const approved = story({ passes: true, reviewStatus: 'approved', reviewCount: 1 })
    expect(standing(backlog(approved))).toEqual([])
    for (const reviewStatus of [null, 'needs_review', 'changes_requested'] as const)
      expect(standing(backlog({ ...approved, reviewStatus, reviewFeedback: 'x' }))[0]).toContain('not')
  })

  it('S1-T11 S1-75 approved without passes is out of sync', () => {
    const [problem, ...more] = standing(backlog(story({ reviewStatus: 'approved' })))
    expect(problem).toContain('out of sync')
    expect(more).toEqual([])
  })

  it('S1-T10 S1-76 changes requested without feedback: feedback required', () => {
    for (const reviewFeedback of ['', ' \n'])
      expect(standing(backlog(story({ reviewStatus: 'changes_requested', reviewFeedback })))[0]).toContain(
        'feedback required',
      )
    expect(standing(backlog(story({ reviewStatus: 'changes_requested', reviewFeedback: 'x' })))).toEqual([])
  })

  it('S1-77 reviewCount may exceed the cap by one, not more', () => {
    expect(standing(backlog(story({ reviewCount: 6 })))).toEqual([])
    expect(standing(backlog(story({ reviewCount: 7 })))[0]).toContain('more than the review cap of 5')
    expect(standing(backlog(story({ reviewCount: 3 })), { reviewCap: 1 })).toHaveLength(1)
  })

  it('S1-T13 S1-73 S1-78 skipReview switches checks 2 and 2.5 off, not check 1', () => {
    const skipping = { skipReview: true, mode: 'implement', snapshot: snapshotOf(backlog()) } as const
    expect(standing(backlog(story({ passes: true })), skipping)).toEqual([])
    expect(standing(backlog(story({ reviewStatus: 'approved', reviewCount: 99 })), skipping)).toEqual([])
    expect(standing(backlog(story({ passes: true, notes: '' })), skipping)).toHaveLength(1)
  })
})

describe('check 2.5: transitions', () => {
  const illegal = (field: string, from: unknown, to: unknown, id = 'US-001') =>
    `Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. Story ${id} had illegal transition: ${field} ${from} → ${to}.`
  const illegalFix = (field: string, from: unknown, to: unknown, id = 'US-001') =>
    `Review-fix iterations cannot approve stories. Story ${id} must go back to needs_review for re-review. Illegal transition: ${field} ${from} → ${to}.`
  const other = story({ id: 'US-002' })
  const waiting = story({ reviewStatus: 'needs_review', reviewCount: 1 })
  const rejected = story({ reviewStatus: 'changes_requested', reviewCount: 1, reviewFeedback: 'too slow' })
  const approved = { passes: true, reviewStatus: 'approved' } as const

  it('S1-T14 S1-81 implement may not set passes', () => {
    expect(step('implement', [story()], [story({ passes: true })])).toContain(illegal('passes', false, true))
  })

  it('S1-T15 implement may not approve', () => {
    expect(step('implement', [story()], [story({ reviewStatus: 'approved' })])).toContain(
      illegal('reviewStatus', null, 'approved'),
    )
  })

  it('S1-T16 implement may not count a review', () => {
    expect(step('implement', [story()], [story({ reviewCount: 1 })])).toEqual([illegal('reviewCount', 0, 1)])
  })

  it('S1-T17 S1-80 implement may hand one story in, and only one', () => {
    const handed = story({ reviewStatus: 'needs_review' })
    expect(step('implement', [story(), other], [handed, other])).toEqual([])
    const second = story({ id: 'US-002', reviewStatus: 'needs_review' })
    expect(step('implement', [story(), other], [handed, second])).toEqual([
      illegal('reviewStatus', null, 'needs_review', 'US-002'),
    ])
    expect(step('implement', [rejected], [{ ...rejected, reviewStatus: 'needs_review' }])).toEqual([
      illegal('reviewStatus', 'changes_requested', 'needs_review'),
    ])
  })

  it('S1-T18 S1-T19 S1-80 implement may add stories that start at the start', () => {
    expect(step('implement', [story()], [story(), other])).toEqual([])
    expect(step('implement', [story()], [story(), { ...other, ...approved }])).toEqual([
      illegal('passes', false, true, 'US-002'),
      illegal('reviewStatus', null, 'approved', 'US-002'),
    ])
    expect(step('implement', [story()], [story(), { ...other, reviewCount: 2 }])).toHaveLength(1)
  })

  it('S1-T19 a new story that passes is refused', () => {
    expect(step('implement', [story()], [story(), { ...other, passes: true }])).toContain(
      illegal('passes', false, true, 'US-002'),
    )
  })

  it('S1-87 S1-T35 an implementer that satisfies every invariant is caught by its transition alone', () => {
    const after = [story({ ...approved, reviewCount: 0 })]
    expect(standing(backlog(...after))).toEqual([])
    expect(step('implement', [story()], after)).toEqual([
      illegal('passes', false, true),
      illegal('reviewStatus', null, 'approved'),
    ])
  })

  it('S1-T20 S1-82 review may approve', () => {
    expect(step('review', [waiting, other], [{ ...waiting, ...approved, reviewCount: 2 }, other])).toEqual([])
  })

  it('S1-T21 S1-82 review may reject with feedback', () => {
    const after = { ...rejected, reviewCount: 2 }
    expect(step('review', [waiting, other], [after, other])).toEqual([])
    expect(step('review', [waiting], [{ ...after, reviewFeedback: '' }]).length).toBeGreaterThan(0)
  })

  it('S1-T22 S1-83 review must count itself', () => {
    const text =
      'Review iteration made illegal transition on story US-001: a review must increment reviewCount.'
    expect(step('review', [waiting], [{ ...waiting, ...approved }])).toEqual([text])
    expect(step('review', [waiting], [waiting])).toEqual([text])
    expect(step('review', [waiting], [{ ...waiting, ...approved, reviewCount: 3 }])).toEqual([
      'Review iteration made illegal transition on story US-001: reviewCount 1 → 3, not by 1.',
    ])
  })

  it('S1-T23 S1-83 review may only modify one story', () => {
    const both = [waiting, { ...waiting, id: 'US-002' }]
    const after = both.map(one => ({ ...one, ...approved, reviewCount: 2 }))
    expect(step('review', both, after)).toEqual([
      'Review iteration made illegal transition on story US-002: a review may only modify one story.',
    ])
    expect(
      step(
        'review',
        [waiting, other],
        [
          { ...waiting, ...approved, reviewCount: 2 },
          { ...other, reviewStatus: 'needs_review' },
        ],
      ),
    ).toEqual([
      'Review iteration made illegal transition on story US-002: a review may only modify one story.',
    ])
  })

  it('S1-83 review must end in a verdict, on a story that waited for one', () => {
    expect(step('review', [waiting], [{ ...waiting, reviewCount: 2 }])[0]).toContain(
      "it ended as reviewStatus 'needs_review' with passes=false",
    )
    expect(step('review', [story()], [story({ ...approved, reviewCount: 1 })])[0]).toContain(
      "its reviewStatus was 'null', not 'needs_review'",
    )
  })

  it('S1-T24 S1-85 review-fix may not approve', () => {
    expect(step('review-fix', [rejected], [{ ...rejected, passes: true }])).toContain(
      illegalFix('passes', false, true),
    )
    expect(step('review-fix', [rejected], [{ ...rejected, ...approved }])).toEqual([
      illegalFix('passes', false, true),
      illegalFix('reviewStatus', 'changes_requested', 'approved'),
    ])
  })

  it('S1-T25 S1-84 review-fix may hand in again', () => {
    const after = { ...rejected, reviewStatus: 'needs_review' as const, reviewFeedback: '' }
    expect(step('review-fix', [rejected, other], [after, other])).toEqual([])
    expect(
      step('review-fix', [rejected, other], [after, { ...other, reviewStatus: 'needs_review' }]),
    ).toEqual([illegalFix('reviewStatus', null, 'needs_review', 'US-002')])
  })

  it('S1-T26 S1-85 review-fix may not count', () => {
    const after = { ...rejected, reviewStatus: 'needs_review' as const, reviewCount: 2 }
    expect(step('review-fix', [rejected], [after])).toContain(illegalFix('reviewCount', 1, 2))
  })

  it('S1-T27 S1-86 without a snapshot 2.5 is left out with a warning, and check 2 still holds', () => {
    const text = JSON.stringify(backlog(story({ passes: true })))
    const { problems, warnings } = checkBacklog({ text, skipReview: false, reviewCap: 5, mode: 'implement' })
    expect(warnings).toHaveLength(1)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain("not 'approved'")
  })

  it('S1-79 stories that are not in the snapshot are judged as new, the others against it', () => {
    const snapshot = { 'US-002': { passes: false, reviewStatus: 'needs_review', reviewCount: 1 } } as const
    const after = backlog(story(), story({ id: 'US-002', reviewStatus: 'needs_review', reviewCount: 1 }))
    expect(standing(after, { mode: 'implement', snapshot })).toEqual([])
    expect(standing(after, { mode: 'review-fix', snapshot })).toEqual([])
  })

  it('H-32 only the story that the call was for may be handed in or reviewed', () => {
    const handed = { ...other, reviewStatus: 'needs_review' as const }
    expect(step('implement', [story(), other], [story(), handed], { story: 'US-001' })).toHaveLength(1)
    expect(step('implement', [story(), other], [story(), handed], { story: 'US-002' })).toEqual([])
    const two = [waiting, { ...waiting, id: 'US-002' }]
    const after = [waiting, { ...waiting, id: 'US-002', ...approved, reviewCount: 2 }]
    expect(step('review', two, after, { story: 'US-002' })).toEqual([])
    expect(step('review', two, after, { story: 'US-001' })).toHaveLength(1)
  })

  it('lets nothing else through: of all edits of one story only the documented ones are legal', () => {
    const marks = fc.record({
      passes: fc.boolean(),
      reviewStatus: fc.constantFrom(null, 'needs_review', 'changes_requested', 'approved'),
      reviewCount: fc.integer({ min: 0, max: 3 }),
    })
    const modes = fc.constantFrom<ReviewMode>('implement', 'review', 'review-fix')
    fc.assert(
      fc.property(marks, marks, modes, (from, to, mode) => {
        const before = story({ ...from, reviewFeedback: 'f' } as Partial<Story>)
        const after = story({ ...to, reviewFeedback: 'f' } as Partial<Story>)
        const legal = step(mode, [before], [after]).length === 0
        const counted = to.reviewCount - from.reviewCount
        const same = counted === 0 && from.passes === to.passes && from.reviewStatus === to.reviewStatus
        const held = standing(backlog(after)).length === 0
        const submitted = (status: string | null) =>
          counted === 0 &&
          from.passes === to.passes &&
          from.reviewStatus === status &&
          to.reviewStatus === 'needs_review'
        const wanted = {
          implement: same || submitted(null),
          'review-fix': same || submitted('changes_requested'),
          review:
            counted === 1 &&
            from.reviewStatus === 'needs_review' &&
            ((to.reviewStatus === 'approved' && to.passes) ||
              (to.reviewStatus === 'changes_requested' && !to.passes)),
        }[mode]
        expect(legal).toBe(held && wanted)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('H-09: nothing that was asked for may vanish', () => {
  const two = story({ acceptanceCriteria: ['It works', 'It is fast'] })
  const handed = { ...two, reviewStatus: 'needs_review' as const }
  const lost = (mode: ReviewMode, after: Story[], before: Story[] = [two]) =>
    step(mode, before, after, { before: backlog(...before) })

  it('H-09 a story cannot be removed', () => {
    expect(lost('implement', [handed], [two, story({ id: 'US-002' })])).toEqual([
      'Story US-002 was removed. Stories may be added, split and reordered, never removed.',
    ])
  })

  it('H-09 a criterion cannot be dropped or reworded', () => {
    for (const acceptanceCriteria of [['It works'], ['It works', 'It is somewhat fast']])
      expect(lost('implement', [{ ...handed, acceptanceCriteria }])[0]).toContain(
        'lost the acceptance criterion "It is fast"',
      )
    expect(
      lost('implement', [{ ...handed, acceptanceCriteria: ['More', 'It is fast', 'It works'] }]),
    ).toEqual([])
  })

  it('H-09 S1-137 a story can be split: its criteria move to a new one, in implement mode only', () => {
    const rest = story({ id: 'US-001b', acceptanceCriteria: ['It is fast'] })
    const first = { ...handed, acceptanceCriteria: ['It works'] }
    expect(lost('implement', [first, rest])).toEqual([])
    const fixing = [{ ...two, reviewStatus: 'changes_requested' as const, reviewFeedback: 'slow' }]
    expect(lost('review-fix', [first, rest], fixing)).toHaveLength(1)
  })

  it('H-09 the commands that prove the work and the name of the feature are not the agent’s to change', () => {
    const before = backlog(story())
    const check = { mode: 'implement', snapshot: snapshotOf(before), before } as const
    expect(standing({ ...before, verifyCommands: ['true'] }, check)[0]).toContain(
      'verifyCommands were changed',
    )
    expect(standing({ ...before, verifyCommands: [] }, check)).toHaveLength(1)
    expect(standing({ ...before, branchName: 'ralph/other' }, check)[0]).toContain('branchName was changed')
    expect(standing({ ...before, description: 'another word' }, check)).toEqual([])
  })
})

describe('the mode of the next iteration', () => {
  it('S1-21 S1-90 feedback comes before reviews, reviews before new work', () => {
    const waiting = story({ id: 'US-002', reviewStatus: 'needs_review' })
    const rejected = story({ id: 'US-003', reviewStatus: 'changes_requested', reviewFeedback: 'x' })
    expect(modeOf(backlog(story(), waiting, rejected))).toBe('review-fix')
    expect(modeOf(backlog(story(), waiting))).toBe('review')
    expect(modeOf(backlog(story()))).toBe('implement')
    expect(modeOf(backlog(story({ passes: true, reviewStatus: 'approved' })))).toBe('implement')
  })

  it('S1-19 a snapshot holds the three review fields of every story', () => {
    expect(snapshotOf(backlog(story(), story({ id: 'US-002', reviewCount: 2 })))).toEqual({
      'US-001': { passes: false, reviewStatus: null, reviewCount: 0 },
      'US-002': { passes: false, reviewStatus: null, reviewCount: 2 },
    })
  })
})
