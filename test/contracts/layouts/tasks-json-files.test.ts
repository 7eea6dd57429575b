import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Outcome } from '../../../src/core/outcome.ts'
import { newRunState } from '../../../src/core/run.ts'
import type { TaskState } from '../../../src/core/state.ts'
import type { Workflow } from '../../../src/core/workflow.ts'
import { withoutReview, withReviewCap } from '../../../src/core/workflow-edit.ts'
import type { JournalView, Project } from '../../../src/layouts/layout.ts'
import { emptyTasks } from '../../../src/layouts/tasks-json/skeleton.ts'
import { tasksJson } from '../../../src/layouts/tasks-json.ts'
import { reviewed } from '../../../src/presets/reviewed.ts'
import { anAgent, aReviewer, green, judged, red, someRules, walk } from '../../core/build.ts'
import { aStory, type StoryFields, tasksText } from '../../helpers/reviewed-project.ts'
import { tempProject } from './temp-project.ts'

const submits = anAgent({ signals: [judged('pass')] })
const approves = aReviewer(judged('pass'))
const asks = aReviewer(judged('fail', 'no test for an empty list'))
const breaks = anAgent({ violations: [{ rule: 'backlog', path: '', detail: 'illegal' }] })

function open(stories: StoryFields[], settings: Record<string, unknown> = {}): Project {
  return { root: tempProject({ 'ralph/tasks.json': tasksText(stories) }), settings }
}

function file({ root }: Project): string {
  return join(root, 'ralph/tasks.json')
}

function read(project: Project): StoryFields[] {
  return JSON.parse(readFileSync(file(project), 'utf8')).userStories
}

/** The state of the project's first story after these outcomes. */
function stateAfter(project: Project, outcomes: Outcome[], workflow: Workflow = reviewed): TaskState {
  const task = tasksJson.read(project).tasks[0]
  if (!task) throw new Error('no story')
  const one = walk(someRules(workflow), task)
  for (const outcome of outcomes) one.step(outcome)
  return one.state()
}

function view(
  states: TaskState[],
  workflow: Workflow = reviewed,
  more: Partial<JournalView> = {},
): JournalView {
  const rules = someRules(workflow)
  const run = { ...newRunState('r1'), rules, startedAt: Date.parse('2025-06-15T10:30:00.500Z') }
  return { tasks: states, events: [], attempts: 3, rules, run, end: null, now: 1, ...more }
}

describe('what the journal says stands in tasks.json', () => {
  it.each<[string, Partial<StoryFields>, Outcome[], Partial<StoryFields>]>([
    ['handed in', {}, [submits], { reviewStatus: 'needs_review' }],
    ['gates green', {}, [submits, green], { reviewStatus: 'needs_review' }],
    ['put back', { reviewStatus: 'needs_review' }, [submits, red], { reviewStatus: null }],
    [
      'changes requested',
      {},
      [submits, green, asks],
      { reviewStatus: 'changes_requested', reviewCount: 1, reviewFeedback: 'no test for an empty list' },
    ],
    [
      'handed in again: the feedback is cleared',
      { reviewStatus: 'needs_review', reviewCount: 1, reviewFeedback: 'left over' },
      [submits, green, asks, submits],
      { reviewStatus: 'needs_review', reviewCount: 1, reviewFeedback: '' },
    ],
    [
      'approved',
      { notes: 'written' },
      [submits, green, approves],
      { passes: true, reviewStatus: 'approved', reviewCount: 1, notes: 'written' },
    ],
    [
      'an illegal edit',
      { passes: true, reviewStatus: 'approved' },
      [breaks],
      { passes: false, reviewStatus: null },
    ],
  ])('S1-107 %s', async (_what, before, outcomes, wanted) => {
    const project = open([aStory('US-001', before)])
    await tasksJson.write(project, view([stateAfter(project, outcomes)]))
    expect(read(project)[0]).toEqual({ ...aStory('US-001', before), ...wanted })
  })

  it('S1-115 S1-99 an approval at the cap keeps the concerns behind the prefix', async () => {
    const capped = withReviewCap(reviewed, 1)
    const project = open([
      aStory('US-001', {
        reviewStatus: 'changes_requested',
        reviewCount: 1,
        reviewFeedback: 'slow\nand ugly',
      }),
    ])
    await tasksJson.write(project, view([stateAfter(project, [submits, green, asks], capped)], capped))
    expect(read(project)[0]).toMatchObject({
      passes: true,
      reviewStatus: 'approved',
      reviewCount: 1,
      reviewFeedback: '[AUTO-APPROVED AT CAP] slow\nand ugly',
      notes: 'Approved at the review cap.',
    })
    const lost = open([aStory('US-001')])
    await tasksJson.write(lost, view([stateAfter(lost, [submits, green, asks], capped)], capped))
    expect(read(lost)[0]?.reviewFeedback).toBe('[AUTO-APPROVED AT CAP] no test for an empty list')
    const own = open([aStory('US-001', { reviewFeedback: '[AUTO-APPROVED AT CAP] as the agent put it' })])
    await tasksJson.write(own, view([stateAfter(own, [submits, green, asks], capped)], capped))
    expect(read(own)[0]?.reviewFeedback).toBe('[AUTO-APPROVED AT CAP] as the agent put it')
  })

  it('S1-105 C-34 without reviews a story passes, and its review fields stay as they are', async () => {
    const skipping = withoutReview(reviewed)
    const project = open([aStory('US-001', { notes: 'written' })], { skipReview: true })
    await tasksJson.write(project, view([stateAfter(project, [submits, green], skipping)], skipping))
    expect(read(project)[0]).toEqual(aStory('US-001', { passes: true, notes: 'written' }))
    expect(tasksJson.recorded(project)).toEqual([{ id: 'US-001', source: 'ralph/tasks.json' }])
    expect(tasksJson.recorded({ ...project, settings: {} })).toEqual([])
  })

  it('a fix that broke the gates comes back with what they said', async () => {
    const project = open([aStory('US-001', { reviewStatus: 'needs_review', reviewCount: 1 })])
    await tasksJson.write(project, view([stateAfter(project, [submits, green, asks, submits, red])]))
    const [story] = read(project)
    expect(story?.reviewStatus).toBe('changes_requested')
    expect(story?.reviewFeedback).toContain('expected 1, got 2')
  })

  it('S1-114 counts reviews and nothing else, and never counts back what the file knew before', async () => {
    const project = open([aStory('US-001', { reviewCount: 4 })])
    const state = stateAfter(project, [submits, green, asks, submits, green, approves])
    await tasksJson.write(project, view([state]))
    expect(read(project)[0]?.reviewCount).toBe(4)
    const fresh = open([aStory('US-001')])
    await tasksJson.write(fresh, view([stateAfter(fresh, [submits, green, asks, submits, green, approves])]))
    expect(read(fresh)[0]?.reviewCount).toBe(2)
  })

  it('a story that a person wants done anew is open again, and what was counted stays', async () => {
    const project = open([
      aStory('US-001', { passes: true, reviewStatus: 'approved', reviewCount: 1, notes: 'n' }),
    ])
    const task = tasksJson.read(project).tasks[0]
    const one = walk(someRules(reviewed), task)
    for (const outcome of [submits, green, approves]) one.step(outcome)
    one.tell({ type: 'task.reopened', why: 'ralph retry' })
    await tasksJson.write(project, view([one.state()]))
    expect(read(project)[0]).toEqual(aStory('US-001', { reviewCount: 1, notes: 'n' }))
  })

  it('changes only the values that differ: the user’s own layout of the file stays, byte for byte', async () => {
    const text = `\ufeff{"project":"P",  "branchName" : "b",\r\n"description":"\\u00e4 ä",\r\n"x-own":[1,  2],\r\n"userStories":[{"id":"US-001","title":"T","acceptanceCriteria":["a"],"priority":1,\r\n\t"passes":false,"reviewStatus":"needs_review","reviewCount":0,"reviewFeedback":"","notes":"n"},\r\n{"id":"US-002","title":"U","acceptanceCriteria":["a"],"priority":1,"passes":false,"reviewStatus":null,"reviewCount":0,"reviewFeedback":""}]}`
    const project = open([])
    writeFileSync(file(project), text)
    await tasksJson.write(project, view([stateAfter(project, [submits, green, asks])]))
    expect(readFileSync(file(project), 'utf8')).toBe(
      text
        .replace('"reviewStatus":"needs_review"', '"reviewStatus":"changes_requested"')
        .replace('"reviewCount":0', '"reviewCount":1')
        .replace('"reviewFeedback":""', '"reviewFeedback":"no test for an empty list"'),
    )
  })

  it('leaves a file alone that says what the journal says, and stories that the journal does not know', async () => {
    const project = open([
      aStory('US-001', { reviewStatus: 'needs_review' }),
      aStory('US-002', { reviewStatus: 'needs_review' }),
    ])
    const before = readFileSync(file(project))
    await tasksJson.write(project, view([stateAfter(project, [submits])]))
    expect(readFileSync(file(project)).equals(before)).toBe(true)
  })
})

describe('what the file says of earlier work', () => {
  it('H-32 finished stories are done, begun ones go on where they stand', () => {
    const project = open([
      aStory('US-001', { passes: true, reviewStatus: 'approved', notes: 'n' }),
      aStory('US-002', { reviewStatus: 'needs_review' }),
      aStory('US-003', { reviewStatus: 'changes_requested', reviewFeedback: 'x' }),
      aStory('US-004'),
      aStory('US-005', { passes: true, notes: 'n' }),
    ])
    const source = 'ralph/tasks.json'
    expect(tasksJson.recorded(project)).toEqual([
      { id: 'US-001', source },
      { id: 'US-002', source, stage: 'verify' },
      { id: 'US-003', source, stage: 'review-fix' },
    ])
  })

  it('S1-113 dependsOn are the needs, priority and branch the rest of a task', () => {
    const project = open([aStory('US-001', { priority: 7, dependsOn: ['US-002'] }), aStory('US-002')])
    expect(tasksJson.read(project).tasks[0]).toEqual({
      id: 'US-001',
      edition: 'ralph/answers',
      title: 'Answer US-001',
      spec: 'ralph/tasks.json',
      needs: ['US-002'],
      order: 0,
      priority: 7,
      verify: [],
      allows: [],
    })
  })

  it('S1-112 the verify commands are those of the file, if it has any', () => {
    const project = open([aStory('US-001')])
    expect(tasksJson.verify?.(project)).toBeNull()
    writeFileSync(
      file(project),
      tasksText([aStory('US-001')], { verifyCommands: ['npm test', '', 7, 'make'] }),
    )
    expect(tasksJson.verify?.(project)).toEqual(['npm test', 'make'])
  })

  it.each<[string, Partial<StoryFields>, Outcome[], string | null]>([
    ['nothing', { reviewStatus: 'needs_review' }, [submits], null],
    ['a done story set back', {}, [submits, green, approves], 'implement'],
    ['a story the script finished', { passes: true, reviewStatus: 'approved', notes: 'n' }, [], 'verify'],
    ['a story handed in by hand', { reviewStatus: 'needs_review' }, [], 'verify'],
    [
      'a person’s feedback',
      { reviewStatus: 'changes_requested', reviewFeedback: 'no' },
      [submits, green, approves],
      'review-fix',
    ],
  ])('takes up what a person changed since: %s', (_what, fields, outcomes, stage) => {
    const project = open([aStory('US-001', fields)])
    const state = stateAfter(project, outcomes)
    const source = 'ralph/tasks.json'
    expect(tasksJson.moves?.(project, view([state]))).toEqual(stage ? [{ id: 'US-001', stage, source }] : [])
  })

  it('does not take for a person’s edit what a crash kept from being written', () => {
    const project = open([aStory('US-001', { reviewStatus: 'changes_requested', reviewFeedback: 'slow' })])
    const state = stateAfter(project, [submits, green, approves])
    const event = {
      v: 1,
      at: 1,
      run: 'r1',
      type: 'step.finished',
      step: 's',
      stage: '@settle',
      outcome: { kind: 'engine' },
    } as const
    const events = [{ task: 'US-001', event, after: state }]
    expect(tasksJson.moves?.(project, view([state], reviewed, { events }))).toEqual([])
  })
})

describe('problems', () => {
  const messages = (project: Project) => tasksJson.prerequisites(project).map(one => one.message)

  it('C-33 a fresh template is not planned yet', () => {
    const project = { root: tempProject({ 'ralph/tasks.json': emptyTasks }), settings: {} }
    expect(messages(project)).toEqual(['nothing is planned yet: ralph/tasks.json is still the template'])
    expect(tasksJson.prerequisites(project)[0]?.fix).toContain('fill in ralph/tasks.json')
    expect(tasksJson.validate(project)).toEqual([])
  })

  it('names what is missing or malformed, with its line', () => {
    expect(messages({ root: tempProject(), settings: {} })).toEqual(['no ralph/ directory'])
    expect(messages({ root: tempProject({ 'ralph/prd.md': '' }), settings: {} })).toEqual([
      'no ralph/tasks.json',
    ])
    const project = open([aStory('US-001'), { ...aStory('US-002'), acceptanceCriteria: [] }])
    expect(messages(project)).toEqual([
      "ralph/tasks.json:26: Story US-002: 'acceptanceCriteria' must be a non-empty array.",
    ])
    expect(readFileSync(file(project), 'utf8').split('\n')[25]).toContain('"acceptanceCriteria"')
    writeFileSync(file(project), '{\n  "project": "P",\n  oops\n}')
    expect(messages(project)[0]).toMatch(/^ralph\/tasks\.json:3: .*not valid JSON/u)
  })

  it('validate names contradictions, unknown needs and cycles with their lines', () => {
    const project = open([
      aStory('US-001', { passes: true, notes: 'n' }),
      aStory('US-002', { dependsOn: ['US-009'] }),
      aStory('US-003', { dependsOn: ['US-004'] }),
      aStory('US-004', { dependsOn: ['US-003'] }),
    ])
    const found = tasksJson.validate(project).map(one => `${one.line} ${one.severity} ${one.message}`)
    expect(found[0]).toMatch(/^16 warning Story US-001 has passes=true/u)
    expect(found[1]).toMatch(/error story US-002: needs 'US-009', which is not in the backlog/u)
    expect(found[2]).toMatch(/error story US-003: dependency cycle/u)
  })

  it('S1-30 another folder is taken as it is given, as long as it is in the project', () => {
    const root = tempProject({ 'docs/loop/tasks.json': tasksText([aStory('US-001')]) })
    const project = { root, settings: { ralphDir: './docs/loop/' } }
    expect(tasksJson.read(project).tasks.map(task => task.spec)).toEqual(['docs/loop/tasks.json'])
    expect(tasksJson.forProject?.(project).owned).toContain('/docs/loop/progress.txt')
    expect(tasksJson.protects?.(project)).toEqual(['/docs/loop/prd.md', '/docs/loop/prompt.md'])
    expect(() => tasksJson.read({ root, settings: { ralphDir: '../elsewhere' } })).toThrow(
      'outside the project',
    )
  })
})

describe('.ralph-active', () => {
  const marker = ({ root }: Project) => join(root, '.ralph-active')
  const lock = (project: Project, pid: number) => {
    const text = tasksJson.lock?.text(project, { pid, now: Date.parse('2025-06-15T10:30:00.500Z') }) ?? ''
    writeFileSync(marker(project), text)
  }

  it('S1-18 S1-20 has the seed’s shape: created at the start, complete before each call', async () => {
    const project = open([
      aStory('US-001'),
      aStory('US-002', { passes: true, reviewStatus: 'approved', reviewCount: 1, notes: 'n' }),
    ])
    lock(project, process.pid)
    expect(JSON.parse(readFileSync(marker(project), 'utf8'))).toEqual({
      timestamp: '2025-06-15T10:30:00Z',
      pid: process.pid,
      mode: 'direct',
      skipReview: false,
      reviewCap: 5,
    })
    const started = walk(someRules(reviewed), tasksJson.read(project).tasks[0])
    started.effect({ ...green, purpose: 'baseline' })
    const base = { head: 'h', branch: 'main', tree: 't', snapshot: '' }
    started.tell({ type: 'step.started', step: 's1', stage: 'implement', base })
    await tasksJson.write(project, view([started.state()]))
    expect(readFileSync(marker(project), 'utf8')).toBe(`{
  "timestamp": "2025-06-15T10:30:00Z",
  "pid": ${process.pid},
  "max_iterations": 15,
  "mode": "direct",
  "skipReview": false,
  "reviewCap": 5,
  "iterationMode": "implement",
  "preIterationSnapshot": {
    "US-001": {
      "passes": false,
      "reviewStatus": null,
      "reviewCount": 0
    },
    "US-002": {
      "passes": true,
      "reviewStatus": "approved",
      "reviewCount": 1
    }
  },
  "storyId": "US-001"
}
`)
  })

  it('G-01 is read as a lock, and only its owner’s is rewritten', async () => {
    const project = open([aStory('US-001')])
    lock(project, 4_000_000)
    const before = readFileSync(marker(project), 'utf8')
    expect(tasksJson.lock?.holder(before)).toBe(4_000_000)
    for (const text of ['', 'x', '{}', '{"pid":"7"}', '{"pid":-1}'])
      expect(tasksJson.lock?.holder(text)).toBeNull()
    expect(tasksJson.lock?.refusal(7)).toContain('pid 7')
    await tasksJson.write(project, view([]))
    expect(readFileSync(marker(project), 'utf8')).toBe(before)
  })
})
