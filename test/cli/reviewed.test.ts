import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { ralph, startRalph, type TestProject, until } from '../helpers/ralph.ts'
import {
  add,
  approve,
  aStory,
  commit,
  edit,
  fix,
  honestScript,
  implement,
  look,
  mark,
  reject,
  reviewedProject,
  stories,
  story,
  tasksText,
  work,
} from '../helpers/reviewed-project.ts'

let project: TestProject
afterEach(() => project?.cleanup())

/** `stage` of each agent call and the story it was for, in order, as the journal has them. */
async function calls(): Promise<string[]> {
  const { stdout } = await ralph(project, ['journal', 'export'])
  return stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
    .filter(({ event }) => event?.type === 'step.finished' && event.outcome.kind === 'agent')
    .map(({ stream, event }) => `${event.stage} ${stream}`)
}

function seen(name: string): string {
  return project.read(`seen/${name}`)
}

function subjects(): string[] {
  return project.git('log', '--format=%s').trim().split('\n')
}

describe('the life of a story', () => {
  it('S1-T34 S1-107 S1-97 S1-98 S1-114 S1-103 implement, review, fix, review: each step leaves the fields of the seed', async () => {
    project = reviewedProject({
      script: [
        { on: { call: 1 }, do: [...look(), ...implement()] },
        { on: { call: 2 }, do: [...look(), ...reject('work/US-001.txt:1 is not mended')] },
        { on: { call: 3 }, do: [...look(), ...fix()] },
        { do: [...look(), ...approve()] },
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    const marks = [1, 2, 3, 4].map(n => {
      const { passes, reviewStatus, reviewCount, reviewFeedback } = JSON.parse(seen(`tasks-${n}.json`))
        .userStories[0]
      return [passes, reviewStatus, reviewCount, reviewFeedback]
    })
    expect(marks).toEqual([
      [false, null, 0, ''],
      [false, 'needs_review', 0, ''],
      [false, 'changes_requested', 1, 'work/US-001.txt:1 is not mended'],
      [false, 'needs_review', 1, ''],
    ])
    expect(mark(project)).toEqual([true, 'approved', 2])
    expect(await calls()).toEqual(
      ['implement', 'review', 'review-fix', 'review'].map(stage => `${stage} US-001`),
    )
    expect(subjects()).toEqual([
      'review: [US-001] - approved',
      'fix: [US-001] - address review feedback',
      'review: [US-001] - changes requested',
      'feat: [US-001] - Answer US-001',
      'first',
    ])
    expect(seen('prompt-3.md')).toContain('> work/US-001.txt:1 is not mended')
    expect(project.git('status', '--porcelain', '--untracked-files=no')).toBe('')
  })

  it('S1-T39 S1-T40 S1-93 S1-113 three stories, each with its reviews; the counts are those of the journal', async () => {
    project = reviewedProject({
      stories: [
        aStory('US-001', { priority: 3 }),
        aStory('US-002', { priority: 1, dependsOn: ['US-003'] }),
        aStory('US-003', { priority: 2, acceptanceCriteria: ['one', 'two'] }),
      ],
      script: [{ on: { stage: 'review', task: 'US-003', call: 2 }, do: reject('again') }, ...honestScript()],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    const done = await calls()
    expect(done).toEqual([
      'implement US-003',
      'review US-003',
      'review-fix US-003',
      'review US-003',
      'implement US-002',
      'review US-002',
      'implement US-001',
      'review US-001',
    ])
    for (const { id, passes, reviewStatus, reviewCount } of stories(project)) {
      expect([id, passes, reviewStatus]).toEqual([id, true, 'approved'])
      expect([id, reviewCount]).toEqual([id, done.filter(call => call === `review ${id}`).length])
    }
  })

  it('S1-T37 S1-36 S1-99 S1-115 with a cap of 1 the first review that finds something approves with the prefix', async () => {
    project = reviewedProject({
      stories: [aStory('US-001'), aStory('US-002')],
      script: [
        { on: { stage: 'review', task: 'US-001' }, do: [...look(), ...reject('still too slow')] },
        {
          on: { stage: 'review' },
          do: [
            edit({
              reviewCount: '+1',
              reviewStatus: 'approved',
              passes: true,
              reviewFeedback: '[AUTO-APPROVED AT CAP] names are odd',
            }),
            { say: 'At the cap.' },
          ],
        },
        ...honestScript(),
      ],
    })
    const result = await ralph(project, ['run', '--review-cap', '1'])
    expect(result.code, result.stdout).toBe(0)
    expect(story(project, 'US-001')).toMatchObject({
      passes: true,
      reviewStatus: 'approved',
      reviewCount: 1,
      reviewFeedback: '[AUTO-APPROVED AT CAP] still too slow',
    })
    expect(story(project, 'US-002').reviewFeedback).toBe('[AUTO-APPROVED AT CAP] names are odd')
    expect(JSON.parse(seen('active-2.json')).reviewCap).toBe(1)
    expect(seen('prompt-2.md')).toContain('This is review 1 of at most 1 of this story. It is the last one')
    // What the engine wrote into the file is committed with the story.
    expect(project.git('status', '--porcelain', '--untracked-files=no')).toBe('')
    const { stdout } = await ralph(project, ['evidence', 'US-002', '--json'])
    expect(JSON.stringify(JSON.parse(stdout))).toContain('"verdict":"auto-pass"')
  })

  it('S1-T38 S1-35 S1-105 C-34 --skip-review: implement only, passes set directly, status null, count 0', async () => {
    const passes = [
      work(),
      edit({ passes: true, notes: 'written' }),
      commit('feat', ['work/{{task}}.txt']),
      { say: 'ok' },
    ]
    project = reviewedProject({
      stories: [aStory('US-001'), aStory('US-002')],
      script: [{ on: { stage: 'implement' }, do: [...look(), ...passes] }],
    })
    const result = await ralph(project, ['run', '--skip-review'])
    expect(result.code, result.stdout).toBe(0)
    expect(mark(project, 'US-001')).toEqual([true, null, 0])
    expect(mark(project, 'US-002')).toEqual([true, null, 0])
    expect(await calls()).toEqual(['implement US-001', 'implement US-002'])
    expect(JSON.parse(seen('active-1.json')).skipReview).toBe(true)
    expect(seen('prompt-1.md')).toContain('reviews are switched off')
  })

  it('what agents leave uncommitted is committed with the story, and nothing else is', async () => {
    const bare = honestScript().map(rule => ({ ...rule, do: rule.do.filter(one => !('commit' in one)) }))
    project = reviewedProject({ script: bare })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(subjects()).toEqual(['feat: [US-001] - Answer US-001', 'first'])
    expect(project.git('show', '--format=', '--name-only', 'HEAD').trim().split('\n').sort()).toEqual([
      'ralph/progress.txt',
      'ralph/tasks.json',
      'work/US-001.txt',
    ])
    expect(project.git('show', 'HEAD:ralph/tasks.json')).toBe(project.read('ralph/tasks.json'))
    expect(project.git('status', '--porcelain').trim().split('\n').sort()).toEqual([
      '?? "notes of the user.txt"',
      '?? ralph.log',
    ])
  })

  it('works the same where the folder is not in git at all', async () => {
    project = reviewedProject({
      script: [
        { on: { call: 1 }, do: [work(), edit({ passes: true }), { say: 'done' }] },
        ...honestScript().map(rule => ({ ...rule, do: rule.do.filter(one => !('commit' in one)) })),
      ],
    })
    project.write('.gitignore', '.ralph-active\nseen/\nralph/\n')
    project.git('rm', '-rq', '--cached', 'ralph')
    project.git('commit', '-qam', 'not in git')
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(mark(project)).toEqual([true, 'approved', 1])
    expect(project.git('ls-files', 'ralph')).toBe('')
  })

  it('S1-23 S1-24 S1-104 S1-T36 the tag completes nothing by itself, and nothing waits for it', async () => {
    project = reviewedProject({
      stories: [aStory('US-001'), aStory('US-002')],
      script: [
        { on: { call: 1 }, do: [...implement(), { promise: 'COMPLETE' }] },
        { on: { call: 2 }, do: [...approve(), { promise: 'COMPLETE' }] },
        ...honestScript(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(await calls()).toHaveLength(4)
    expect(mark(project, 'US-002')).toEqual([true, 'approved', 1])
  })
})

describe('integrity', () => {
  it('S1-T35 S1-87 H-11 C-35 an implementer that approves itself is put back, whole, and told so', async () => {
    project = reviewedProject({
      script: [
        {
          on: { call: 1 },
          do: [work(), edit({ passes: true, reviewStatus: 'approved', notes: 'n' }), { promise: 'COMPLETE' }],
        },
        { on: { call: 2 }, do: [...look(), ...implement()] },
        { do: approve() },
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    const text =
      'Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. Story US-001 had illegal transition: passes false → true.'
    expect(result.stdout).toContain(text)
    expect(seen('prompt-2.md')).toContain(text)
    expect(JSON.parse(seen('tasks-2.json')).userStories[0]).toEqual(aStory('US-001'))
    expect(mark(project)).toEqual([true, 'approved', 1])
  })

  it.each<[string, Record<string, unknown>, string]>([
    ['a broken file', { write: { path: 'ralph/tasks.json', text: '{ "project": ' } }, 'is not valid JSON'],
    ['a deleted file', { delete: 'ralph/tasks.json' }, 'does not exist'],
    ['a malformed story', edit({ acceptanceCriteria: [] }), "'acceptanceCriteria' must be a non-empty array"],
    [
      'a story removed',
      {
        write: {
          path: 'ralph/tasks.json',
          text: tasksText([aStory('US-001')], { verifyCommands: ['sh check.sh'] }),
        },
      },
      'Story US-002 was removed',
    ],
    [
      'another verify command',
      { replace: { path: 'ralph/tasks.json', find: 'sh check.sh', with: 'true' } },
      'verifyCommands were changed',
    ],
    [
      'a weaker criterion',
      edit({ acceptanceCriteria: ['something'] }, 'US-002'),
      'Story US-002 lost the acceptance criterion',
    ],
    [
      'a new story that is done',
      add(aStory('US-009', { passes: true, reviewStatus: 'approved', notes: 'n' })),
      'Story US-009 had illegal transition',
    ],
    ['an edit of the PRD', { append: { path: 'ralph/prd.md', text: 'Anything goes.\n' } }, 'ralph/prd.md'],
    ['the marker edited', { run: 'sed -i s/implement/review/ .ralph-active' }, 'Changed .ralph-active'],
    ['the marker deleted', { delete: '.ralph-active' }, 'Changed .ralph-active'],
  ])('H-09 H-10 S1-110 %s fails the attempt with its reason and is put back', async (_what, bad, reason) => {
    project = reviewedProject({
      stories: [aStory('US-001'), aStory('US-002', { priority: 2 })],
      script: [
        { on: { call: 1 }, do: [work(), edit({ reviewStatus: 'needs_review' }), bad, { say: 'done' }] },
        { do: [{ hang: 5 }, ...look(), { exit: 7 }] },
      ],
    })
    const before = project.read('ralph/tasks.json')
    const prd = project.read('ralph/prd.md')
    const result = await ralph(project, ['run', '-n', '2'])
    expect(result.code).toBe(1)
    expect(result.stdout).toContain(reason)
    expect(seen('tasks-2.json')).toBe(before)
    expect(JSON.parse(seen('active-2.json')).iterationMode).toBe('implement')
    expect(project.read('ralph/prd.md')).toBe(prd)
    expect(project.exists('work/US-001.txt')).toBe(false)
    expect(project.exists('.ralph-active')).toBe(false)
  })

  it('a reviewer that edits code or forgets to count is asked again; the work stays', async () => {
    project = reviewedProject({
      script: [
        { on: { call: 2 }, do: [{ append: { path: 'work/US-001.txt', text: 'mine\n' } }, ...approve()] },
        { on: { call: 3 }, do: [edit({ reviewStatus: 'approved', passes: true }), { say: 'fine' }] },
        ...honestScript(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(result.stdout).toContain('a reviewer may not edit')
    expect(result.stdout).toContain(
      'Review iteration made illegal transition on story US-001: a review must increment reviewCount.',
    )
    expect(await calls()).toEqual(['implement', 'review', 'review', 'review'].map(stage => `${stage} US-001`))
    expect(project.read('work/US-001.txt')).toBe('answer US-001\n')
  })

  it('S1-112 red gates put the work back, whatever the file says; S1-117 the progress log outlives it', async () => {
    project = reviewedProject({
      script: [
        { on: { call: 1 }, do: [...implement(), { write: { path: 'work/US-001.txt', text: 'wrong\n' } }] },
        { on: { call: 2 }, do: [...look(), ...implement()] },
        { do: approve() },
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(JSON.parse(seen('tasks-2.json')).userStories[0]).toEqual(aStory('US-001'))
    expect(seen('prompt-2.md')).toContain('wrong answer in work/US-001.txt')
    const log = project.read('ralph/progress.txt')
    expect(log.match(/^## US-001 - implement$/gmu)).toHaveLength(2)
    expect(log.startsWith('# Ralph Progress Log\nStarted: 2026-01-30\n')).toBe(true)
  })

  it('S1-94 unfinished work goes on where it is, and a story may be split', async () => {
    const parts = ['first half', 'second half']
    project = reviewedProject({
      stories: [aStory('US-001', { acceptanceCriteria: parts })],
      script: [
        {
          on: { call: 1 },
          do: [
            { write: { path: 'src/half.txt', text: 'half\n' } },
            edit({ acceptanceCriteria: [parts[0]] }),
            add(aStory('US-001b', { acceptanceCriteria: [parts[1] ?? ''], priority: 2 })),
            { say: 'Split; the first half is under way.' },
          ],
        },
        { on: { call: 2 }, do: [{ run: 'test -f src/half.txt' }, ...look(), ...implement()] },
        ...honestScript(),
      ],
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(seen('prompt-2.md')).toContain('Not finished: story US-001 was not set to')
    expect(stories(project).map(one => [one.id, one.passes])).toEqual([
      ['US-001', true],
      ['US-001b', true],
    ])
    expect(project.git('ls-files', 'src')).toContain('src/half.txt')
  })
})

describe('choosing', () => {
  it('S1-21 S1-90 H-32 what the file has begun goes first: feedback, reviews, new work, each by priority', async () => {
    const begun = { reviewStatus: 'needs_review', notes: 'n' }
    project = reviewedProject({
      stories: [
        aStory('US-001', { priority: 1 }),
        aStory('US-002', { priority: 4, ...begun }),
        aStory('US-003', { priority: 3, ...begun }),
        aStory('US-004', {
          priority: 9,
          reviewStatus: 'changes_requested',
          reviewCount: 1,
          reviewFeedback: 'x',
          notes: 'n',
        }),
        aStory('US-005', { priority: 2, passes: true, reviewStatus: 'approved', reviewCount: 1, notes: 'n' }),
      ],
      script: [{ on: { call: 1 }, do: [...look(), ...fix()] }, ...honestScript()],
      files: { 'work/US-004.txt': 'answer US-004\n' },
    })
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(await calls()).toEqual([
      'review-fix US-004',
      'review US-004',
      'review US-003',
      'review US-002',
      'implement US-001',
      'review US-001',
    ])
    expect(JSON.parse(seen('active-1.json'))).toMatchObject({
      iterationMode: 'review-fix',
      storyId: 'US-004',
    })
    expect(seen('prompt-1.md')).toContain('- Mode: **review-fix**\n- Story: **US-004**')
    expect(mark(project, 'US-004')).toEqual([true, 'approved', 2])
  })

  it('H-31 when every open story is blocked, no agent is called and the blockers are named', async () => {
    project = reviewedProject({ stories: [aStory('US-001', { dependsOn: ['US-404'] })] })
    const result = await ralph(project, ['run'])
    expect(result.code).toBe(1)
    expect(result.stdout).toContain('blocked: US-001 needs US-404')
    expect(await calls()).toEqual([])
    project.write(
      'ralph/tasks.json',
      tasksText([aStory('US-001', { dependsOn: ['US-002'] }), aStory('US-002', { dependsOn: ['US-001'] })], {
        verifyCommands: ['true'],
      }),
    )
    const cycle = await ralph(project, ['run'])
    expect(cycle.code).toBe(1)
    expect(cycle.stderr).toContain('dependency cycle: US-001 → US-002 → US-001')
  })

  it('a person’s edit of the file counts, and so does another feature under the same ids', async () => {
    project = reviewedProject({})
    expect((await ralph(project, ['run'])).code).toBe(0)
    const asked = {
      reviewStatus: 'changes_requested',
      reviewCount: 1,
      reviewFeedback: 'shorter, please',
      notes: 'n',
    }
    const verify = { verifyCommands: ['sh check.sh'] }
    project.write(
      'agent.json',
      JSON.stringify([{ on: { stage: 'review-fix' }, do: [...look(), ...fix()] }, ...honestScript()]),
    )
    project.git('commit', '-qam', 'another agent')
    project.write('ralph/tasks.json', tasksText([aStory('US-001', asked)], verify))
    const again = await ralph(project, ['run'])
    expect(again.code, again.stdout).toBe(0)
    expect(seen('prompt-1.md')).toContain('> shorter, please')
    expect(mark(project)).toEqual([true, 'approved', 2])
    project.write('ralph/tasks.json', tasksText([aStory('US-001')], { branchName: 'ralph/next', ...verify }))
    project.write(
      'agent.json',
      JSON.stringify(
        honestScript()
          .map(rule => ({
            ...rule,
            do: [
              { append: { path: 'src/next.txt', text: 'x' } },
              ...rule.do.filter(one => !('write' in one)),
            ],
          }))
          .map((rule, index) => (index === 1 ? honestScript()[1] : rule)),
      ),
    )
    project.git('commit', '-qam', 'the next feature')
    const next = await ralph(project, ['run'])
    expect(next.code, next.stdout).toBe(0)
    expect((await calls()).slice(-2)).toEqual(['implement US-001', 'review US-001'])
    expect(mark(project)).toEqual([true, 'approved', 1])
  })
})

describe('the command line', () => {
  it('S1-12 S1-17 S1-20 S1-28 S1-29 S1-T30 fifteen iterations by default, one call each; -n stops with exit 1', async () => {
    project = reviewedProject({
      script: honestScript().map(rule => ({ ...rule, do: [...look(), ...rule.do] })),
    })
    const first = await ralph(project, ['run', '--no-sandbox', '--max-iterations', '1'])
    expect(first.code).toBe(1)
    expect(first.stdout).toContain('1 of 1 iterations used')
    expect(seen('prompt-1.md').startsWith('# Iteration 1 of 1\n')).toBe(true)
    expect(mark(project)).toEqual([false, 'needs_review', 0])
    const rest = await ralph(project, ['run'])
    expect(rest.code, rest.stdout).toBe(0)
    expect(seen('prompt-1.md').startsWith('# Iteration 1 of 15\n')).toBe(true)
    expect(Object.keys(JSON.parse(seen('active-1.json')))).toEqual([
      ...['timestamp', 'pid', 'max_iterations', 'mode', 'skipReview', 'reviewCap'],
      ...['iterationMode', 'preIterationSnapshot', 'storyId'],
    ])
    expect(JSON.parse(seen('active-1.json'))).toMatchObject({
      max_iterations: 15,
      mode: 'direct',
      iterationMode: 'review',
      preIterationSnapshot: { 'US-001': { passes: false, reviewStatus: 'needs_review', reviewCount: 0 } },
    })
    expect(await calls()).toEqual(['implement US-001', 'review US-001'])
  })

  it('S1-18 S1-19 S1-22 H-18 the marker is there while the loop runs, and gone after EXIT, INT and TERM', async () => {
    project = reviewedProject({
      script: [
        { on: { stage: 'implement' }, do: [{ 'wait-for': 'seen/go' }, ...look(), ...implement()] },
        { do: [...look(), ...approve()] },
      ],
    })
    const base = project.git('rev-parse', 'HEAD').trim()
    for (const [signal, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const) {
      const running = startRalph(project, ['run'])
      await until(
        'the marker',
        () => project.exists('.ralph-active') && project.read('.ralph-active').includes('storyId'),
      )
      const active = JSON.parse(project.read('.ralph-active'))
      expect(active).toMatchObject({ pid: running.pid, iterationMode: 'implement', storyId: 'US-001' })
      expect(active.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/u)
      running.kill(signal)
      expect((await running.ended).code).toBe(code)
      expect(project.exists('.ralph-active')).toBe(false)
    }
    project.write('seen/go', '')
    expect((await ralph(project, ['run'])).code).toBe(0)
    expect(project.exists('.ralph-active')).toBe(false)
    expect(seen('prompt-2.md')).toContain(`\`git diff ${base}\``)
  })

  it('G-01 C-17 a living loop keeps a second one out; what a dead one left is taken over', async () => {
    project = reviewedProject({})
    project.write(
      '.ralph-active',
      JSON.stringify({ timestamp: '2025-06-15T10:30:00Z', pid: process.pid, mode: 'direct' }),
    )
    const refused = await ralph(project, ['run'])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(`another ralph loop works in this folder (pid ${process.pid}`)
    expect(JSON.parse(project.read('.ralph-active')).pid).toBe(process.pid)
    project.write('.ralph-active', JSON.stringify({ pid: 2 ** 22 + 1 }))
    const taken = await ralph(project, ['run'])
    expect(taken.code, taken.stderr).toBe(0)
    expect(project.exists('.ralph-active')).toBe(false)
  })

  it('S1-30 S1-31 --ralph-dir and --project-dir name other folders', async () => {
    project = reviewedProject({})
    project.git('mv', 'ralph', 'loop')
    const rules = JSON.stringify(honestScript())
      .replaceAll('ralph/tasks.json', 'loop/tasks.json')
      .replaceAll('ralph/progress.txt', 'loop/progress.txt')
    project.write('agent.json', rules)
    project.git('commit', '-qam', 'another folder')
    const result = await ralph(project, ['run', '--project-dir', project.root, '--ralph-dir', './loop'], {
      cwd: path.dirname(project.root),
    })
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(JSON.parse(project.read('loop/tasks.json')).userStories[0].passes).toBe(true)
    expect(project.exists('ralph')).toBe(false)
  })

  it('S1-37 -h shows the usage, with the flags of the seed', async () => {
    project = reviewedProject({})
    const { stdout, code } = await ralph(project, ['run', '-h'])
    expect(code).toBe(0)
    for (const flag of [
      '-n, --max-iterations',
      '-m, --model',
      '--sandbox',
      '--no-sandbox',
      '--skip-review',
      '--review-cap',
    ])
      expect(stdout).toContain(flag)
  })

  it('S1-27 an empty answer is asked for again and uses up no iteration', async () => {
    project = reviewedProject({ script: [{ on: { call: 1 }, do: [{ exit: 0 }] }, ...honestScript()] })
    const result = await ralph(project, ['run', '-n', '2'])
    expect(result.code, result.stdout).toBe(0)
    expect((await calls()).slice(0, 2)).toEqual(['implement US-001', 'implement US-001'])
    expect(mark(project)).toEqual([true, 'approved', 1])
  })

  it('C-33 a fresh template is refused before anything is spent', async () => {
    project = reviewedProject({})
    const template = JSON.parse(project.read('ralph/tasks.json'))
    template.userStories = [{ ...aStory('US-001'), title: '', acceptanceCriteria: [] }]
    project.write('ralph/tasks.json', JSON.stringify(template))
    const result = await ralph(project, ['run'])
    expect(result.code).toBe(1)
    expect(result.stderr).toContain('nothing is planned yet')
    expect(result.stderr).toContain('fill in ralph/tasks.json')
  })

  it('S1-32 -m reaches the agent; a reviewer that must write its verdict has the tools for it', async () => {
    project = reviewedProject({
      config: 'agent: claude',
      files: { 'agent.json': JSON.stringify(honestScript()) },
    })
    project.write('ralph.config.yaml', 'preset: reviewed\nagent: claude\nsandbox: none\n')
    project.git('commit', '-qam', 'claude')
    const bin = path.join(project.home, 'bin')
    const scripted = path.join(
      path.dirname(process.env.RALPH_PROGRAM ?? 'dist/ralph.js'),
      'scripted-agent.js',
    )
    project.write(
      '../home/bin/claude',
      `#!/bin/sh
mkdir -p seen
echo "$@" > seen/args-$RALPH_CALL.txt
${process.execPath} ${path.resolve(scripted)} agent.json > /dev/null || exit 1
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","total_cost_usd":0.01,"usage":{"input_tokens":1,"output_tokens":1}}'
`,
      0o755,
    )
    const result = await ralph(project, ['run', '-m', 'opus'], {
      env: { PATH: `${bin}:${process.env.PATH}` },
    })
    expect(result.code, result.stdout + result.stderr).toBe(0)
    for (const call of [1, 2]) {
      const args = seen(`args-${call}.txt`)
      expect(args).toMatch(/^-p /u)
      expect(args).toContain('--dangerously-skip-permissions')
      expect(args).toContain('--model opus')
    }
  })
})

describe('crashes', () => {
  it.each<[string, Record<string, unknown>]>([
    ['a story more', add(aStory('US-000', { priority: 0 }))],
    ['half a file', { write: { path: 'ralph/tasks.json', text: '{ "project": "Ans' } }],
    ['no file at all', { delete: 'ralph' }],
  ])('what a killed run had in tasks.json is put back: %s', async (_what, left) => {
    project = reviewedProject({
      script: [
        {
          on: { call: 1 },
          do: [
            work(),
            edit({ reviewStatus: 'needs_review' }),
            left,
            { write: { path: 'seen/now', text: '' } },
            { hang: true },
          ],
        },
        ...honestScript(),
      ],
      files: { 'honest.json': JSON.stringify(honestScript()) },
    })
    const running = startRalph(project, ['run'])
    await until('the edit', () => project.exists('seen/now'))
    running.kill('SIGKILL')
    await running.ended
    const result = await ralph(project, ['run', '--script', 'honest.json'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(stories(project).map(one => one.id)).toEqual(['US-001'])
    expect(mark(project)).toEqual([true, 'approved', 1])
    expect(await calls()).toEqual(['implement US-001', 'review US-001'])
  })

  it('without a journal the file is enough to go on', async () => {
    project = reviewedProject({ stories: [aStory('US-001'), aStory('US-002', { priority: 2 })] })
    expect((await ralph(project, ['run', '-n', '3'])).code).toBe(1)
    project.git('clean', '-xdfq', '.ralph')
    const result = await ralph(project, ['run'])
    expect(result.code, result.stdout).toBe(0)
    expect(await calls()).toEqual(['review US-002'])
    expect(stories(project).map(one => one.reviewCount)).toEqual([1, 1])
    // Ralph has not seen this work made, and says so.
    const evidence = await ralph(project, ['evidence', 'US-002'])
    expect(evidence.stdout).toMatch(
      /adopted {2}the work, or a part of it, was there before; so says .*tasks\.json/,
    )
    expect((await ralph(project, ['evidence'])).stdout).toMatch(/US-002 .*work taken over \(.*tasks\.json/)
  })
})

it('S1-25 what the agent says is shown on stderr as it comes, and captured all the same', async () => {
  project = reviewedProject({
    script: [
      { on: { call: 1 }, do: [{ say: 'I begin now.' }, { 'wait-for': 'seen/go' }, ...implement()] },
      ...honestScript(),
    ],
  })
  const running = startRalph(project, ['run'])
  await until('the first words', () => running.stderr().includes('I begin now.'))
  expect(running.stdout()).not.toContain('I begin now.')
  project.write('seen/go', '')
  expect((await running.ended).code).toBe(0)
  expect((await ralph(project, ['show', '2', '--output'])).stdout).toContain('I begin now.')
})

it('S1-38 G-03 the help names what is needed, and what several virtual machines take', async () => {
  project = reviewedProject({})
  const { stdout } = await ralph(project, ['run', '--help'])
  expect(stdout).toMatch(/Needs: git, and the CLI of an agent \(claude, /)
  expect(stdout).toContain('Docker Desktop 4.58')
  expect(stdout).toMatch(/microVM of its own that may take half of the memory/)
})
