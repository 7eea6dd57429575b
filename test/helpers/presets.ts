import * as gated from './gated-project.ts'
import * as pipeline from './pipeline-project.ts'
import type { TestProject } from './ralph.ts'
import * as reviewed from './reviewed-project.ts'
import * as stepwise from './stepwise-project.ts'
import type { Behaviours, Rule } from './story-project.ts'

/** A small project of each preset, driven the same way, for tests of what must hold in all of them. */
export type Preset = {
  name: 'stepwise' | 'reviewed' | 'pipeline' | 'gated'
  /** The stage of the agent that does the work. */
  writer: string
  /** The file its work ends up in. */
  work: string
  make(script: Rule[], options?: { config?: string; files?: Record<string, string> }): TestProject
  honest(): Rule[]
  /** What its writer says or marks when it is finished, without the work. */
  claim: Behaviours
  /** The writer's honest work, with its claim. */
  works: Behaviours
  /** Why a claim without any work is not believed. */
  nothingDone: RegExp
  /** Says in the preset's own files that the task is done. */
  forge: Behaviours
  forged: RegExp
  isDone(project: TestProject): boolean
  /** A failed attempt ends the task; a person has to say `--resume`. */
  stays?: boolean
  /** Failed work is left where it is, for the next attempt or for a person. */
  keeps?: boolean
}

/** Red until the work is there. */
const strict = (work: string) =>
  `#!/bin/sh\nif [ -s "${work}" ]; then echo "the work is there"; else echo "no ${work}"; exit 1; fi\n`

function withNotes(project: TestProject): TestProject {
  project.write('notes of the user.txt', 'never touch this\n')
  return project
}

const stepwiseTask = `${stepwise.specId}/TASK-001`

export const presets: Preset[] = [
  {
    name: 'stepwise',
    writer: 'implementation',
    work: `work/${stepwiseTask}.txt`,
    make: (script, { config = '', files = {} } = {}) =>
      withNotes(
        stepwise.stepwiseProject({
          ...{ script, config },
          files: { 'check.sh': strict(`work/${stepwiseTask}.txt`), ...files },
        }),
      ),
    honest: stepwise.honest,
    claim: [{ say: 'Implemented.' }],
    works: stepwise.implementation(),
    nothingDone: /Claimed done, but nothing changed/,
    forge: [
      {
        replace: { path: stepwise.planFile(), find: '"step": "implementation"', with: '"step": "complete"' },
      },
    ],
    forged: /fix_plan\.json/,
    isDone: project => stepwise.plan(project).done.includes('TASK-001'),
    ...{ stays: true, keeps: true },
  },
  {
    name: 'reviewed',
    writer: 'implement',
    work: 'work/US-001.txt',
    make: (script, { config = '', files = {} } = {}) =>
      reviewed.reviewedProject({
        ...{ script, config },
        files: { 'check.sh': strict('work/US-001.txt'), ...files },
      }),
    honest: reviewed.honestScript,
    claim: [reviewed.edit({ reviewStatus: 'needs_review', notes: 'written' }), { say: 'Handed in.' }],
    works: reviewed.implement(),
    nothingDone: /Claimed done, but nothing changed/,
    forge: [reviewed.edit({ passes: true, reviewStatus: 'approved', reviewCount: 1, notes: 'x' })],
    forged: /Implement iterations cannot set passes=true or approve stories/,
    isDone: project => reviewed.mark(project)[0] && reviewed.mark(project)[1] === 'approved',
  },
  {
    name: 'pipeline',
    writer: 'coder',
    work: 'work/TASK-001.txt',
    make: (script, { config = '', files = {} } = {}) =>
      pipeline.pipelineProject({
        ...{ script, config },
        files: { 'check.sh': strict('work/TASK-001.txt'), ...files },
      }),
    honest: pipeline.honestRules,
    claim: [{ say: 'All is committed.' }, { promise: 'IMPLEMENTATION_COMPLETE' }],
    works: pipeline.honest.coder(),
    nothingDone: /No commit detected|nothing changed/,
    forge: [
      {
        replace: { path: pipeline.taskPath('TASK-001'), find: '"title"', with: '"status": "done", "title"' },
      },
    ],
    forged: /TASK-001\.json/,
    isDone: project => pipeline.taskOf(project).status === 'done',
    keeps: true,
  },
  {
    name: 'gated',
    writer: 'implement',
    work: 'work/auth.txt',
    make: (script, { config = '', files = {} } = {}) =>
      gated.gatedProject({ ...{ script, config }, files: { 'check.sh': strict('work/auth.txt'), ...files } }),
    honest: gated.honest,
    claim: [{ say: 'All criteria are met.' }],
    works: gated.implemented(),
    nothingDone: /Claimed done, but nothing changed/,
    forge: [{ replace: { path: 'plan.md', find: '- [ ] work', with: '- [x] work' } }],
    forged: /plan\.md/,
    isDone: project => !project.exists('.ralph_state.md') && project.read('plan.md').includes('[x]'),
    keeps: true,
  },
]
