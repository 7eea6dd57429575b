import type { Project } from '../layout.ts'
import { chosen } from './choice.ts'
import { decisionLog } from './decision-log.ts'
import { isStep, planPath, type Step } from './plan-file.ts'
import { aboutTask, hasSlashCommands, slashCommand } from './slash-commands.ts'
import { idOf, reportPath, specFolder, taskNumber } from './task-file.ts'

/**
 * The seed's other driver: the agent itself executes the state machine, one step per call (S0-85). What it writes into
 * the file is taken up by the next `ralph step`; what it says is done is verified there.
 */
export function stepInstructions(project: Project): string {
  const { spec, files, stored, range } = chosen(project)
  const path = planPath(spec)
  const plan = stored.kind === 'ok' ? stored.plan : null
  const step = plan && isStep(plan.step) ? plan.step : 'init'
  const number = plan?.current ? taskNumber(plan.current) : null
  const file = files.find(one => one.number === number) ?? null
  const about = file ? aboutTask(idOf(file), file.label, file.path, files) : null
  const agents = Array.isArray(project.settings.agents) ? project.settings.agents : []
  const slash = agents.some(name => typeof name === 'string' && hasSlashCommands(project, name))
  const run = about && slash ? `Run \`${slashCommand(step, about)}\`.` : ''
  const report = file ? reportPath(file.path) : ''
  const body = handlers[step]({
    spec: specFolder(spec),
    task: file?.label ?? 'none',
    file: file?.path ?? '',
    report,
    log: decisionLog(spec),
    range: `${range.from}→${range.to}`,
    run,
  })
  return [
    'Execute one step of Ralph Loop. Read fix_plan.json, run the current step, update state, and stop.',
    '',
    `State file: ${path}`,
    `Current step: ${step}`,
    `Current task: ${file ? `${file.label} "${file.title}" (${file.path})` : 'none'}`,
    '',
    ...body.map((line, index) => `${index + 1}. ${line}`),
    `${body.length + 1}. Set state.last_updated to now. Write the file to a temporary file in the same folder first, then rename it over the old one. Stop. Ask nobody for confirmation.`,
    '',
  ].join('\n')
}

type About = {
  spec: string
  task: string
  file: string
  report: string
  log: string
  range: string
  run: string
}

const fails = (step: string) => `If it fails: set state.step = "failed" and state.error = "${step} failed".`

const handlers: Record<Step, (about: About) => string[]> = {
  init: ({ spec, range }) => [
    `Read every task file ${spec}tasks/TASK-*.md (not the ones with -- in their names) and take id, title, status, lang, dependencies and complexity from its front matter.`,
    `Set task_range to ${range}. Put the ids of completed tasks into done, those in range that are not completed into pending.`,
    'Set state.step = "choose_task", state.iteration = 1, state.retry_count = 0, state.error = null.',
  ],
  choose_task: () => [
    'Of the tasks in pending that are in task_range, keep those whose dependencies are all in done; of these take the one with the lowest complexity.',
    'If there is one: set state.current_task, state.current_task_file and state.current_task_lang to it, state.retry_count = 0, state.step = "implementation".',
    'If there is none and pending is empty: set state.step = "complete". If tasks are pending but blocked: set state.step = "failed" and state.error to "blocked: " and which task needs which.',
  ],
  implementation: ({ file, run }) => [
    run || `Read the task file ${file} and implement it, with tests.`,
    'If it succeeds: set state.step = "review".',
    fails('implementation'),
  ],
  review: ({ file, report, run }) => [
    run ||
      `Read the acceptance criteria of ${file}. Check that each is met. Run the tests. Do a code review. Change no code.`,
    `Write the report to ${report}; its front matter has the line verdict: pass if all criteria are met and no issue was found, else verdict: fail.`,
    'On pass: set state.step = "cleanup".',
    'On fail: add 1 to state.retry_count. If it is 3 or more now, set state.step = "failed" and state.error = "review failed after 3 retries"; else set state.step = "fix".',
  ],
  fix: ({ report, run }) => [
    `Read the review report ${report}.`,
    run || 'Edit the files so that each of its findings is addressed.',
    'If it succeeds: set state.step = "review".',
    fails('fix'),
  ],
  cleanup: ({ run }) => [
    run ||
      'Remove debug logs and temporary comments, optimise imports, format the code, verify the documentation; what the code does stays the same.',
    'Set state.step = "sync".',
  ],
  sync: ({ spec, log, run }) => [
    run ||
      `Read ${log} for deviations and compare the implementation with the spec in ${spec}; write down what should change in the spec.`,
    'Set state.step = "update_done".',
  ],
  update_done: ({ task, file }) => [
    `Run the project's tests. In the front matter of ${file} set status: completed and completed_date: to today (YYYY-MM-DD).`,
    `Move ${task} from pending to done. Add 1 to state.iteration and to state.range_progress.done_in_range. For each pending task whose dependencies are all in done now, set dependencies_satisfied = true.`,
    `Set state.step = "choose_task" and save. Then, if nothing else is going on in git, commit: git commit -m "Ralph iteration N: ${task} [title]" with the files you changed, N being the iteration before you added 1.`,
  ],
  complete: () => ['All tasks of the range are done. Change nothing.'],
  failed: () => ['The loop has failed (state.error says why). Change nothing; a person must look.'],
}
