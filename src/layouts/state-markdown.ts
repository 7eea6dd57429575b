import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import { matchesAny } from '../core/glob.ts'
import type { Task } from '../core/task.ts'
import type { JournalView, Layout, LockFile, Problem, Project } from './layout.ts'
import { checkPlan, planBacklog } from './state-markdown/backlog.ts'
import { failureFiles } from './state-markdown/failure.ts'
import { specOf } from './state-markdown/plan.ts'
import { planPath, planPlaces, readPlan, readPlanText } from './state-markdown/plan-file.ts'
import { isCompleted, writePlanStatus } from './state-markdown/plan-status.ts'
import { gatedLines } from './state-markdown/print.ts'
import { gatedTemplates, gatedValues } from './state-markdown/prompt.ts'
import { failureReport } from './state-markdown/report.ts'
import { gatedSkeleton } from './state-markdown/skeleton.ts'
import { readStateFile, stateFile, writeStateFile } from './state-markdown/state-file.ts'

/**
 * Seed 3: a plan in Markdown, `.ralph_state.md` for the task under work, `.ralph.lock`. Setting: `plan`, the plan's path
 * (else plan.md, docs/plan.md or PLAN.md).
 */
export const stateMarkdown: Layout = {
  name: 'state-markdown',
  owned: ['.ralph/**', `/${stateFile}`, '/.ralph.lock'],
  state: [stateFile],
  protects: project => [`/${planPath(project)}`],

  prerequisites: missingPlan,
  read: planBacklog,
  spec: taskSpec,
  validate: project => [...checkPlan(project), ...notIgnored(project)],

  async write(project, { tasks, attempts }: JournalView) {
    await writePlanStatus(project, tasks)
    await writeStateFile(project.root, tasks, attempts)
  },

  recorded: project =>
    readPlan(project).tasks.flatMap(task =>
      isCompleted(task) ? [{ id: task.id, source: planPath(project) }] : [],
    ),

  continued({ root }) {
    const stored = readStateFile(root)
    if (!stored || stored.history.length === 0) return []
    return [{ id: stored.id, source: stateFile, history: stored.history, recent: stored.recent }]
  },

  leftover({ root }) {
    const stored = readStateFile(root)
    if (!stored) return null
    return `${stateFile} holds ${stored.id}, iteration ${stored.iteration}/${stored.most}`
  },

  templates: gatedTemplates,
  values: gatedValues,

  lock: { ...lockFile() },
  failed: failureFiles,
  print: (_project, event, view) => gatedLines(event, view),
  closing: (project, journal) =>
    journal.tasks.some(({ status }) => status === 'failed' || status === 'halted') ||
    (journal.end === 'failed' && journal.run.reviews)
      ? failureReport(project, journal)
      : null,
  report: failureReport,

  skeleton: gatedSkeleton,
  rehearsal: [
    {
      on: { stage: 'implement' },
      do: [
        { write: { path: 'rehearsal/{{task}}.md', text: 'Written in a rehearsal of task {{task}}.\n' } },
        { commit: { message: 'Rehearse task {{task}}', paths: ['rehearsal/{{task}}.md'] } },
        { say: 'Wrote rehearsal/{{task}}.md.' },
      ],
    },
    { do: [{ say: 'Looked at it.' }, { verdict: 'pass' }] },
  ],
}

function missingPlan(project: Project): Problem[] {
  const plan = planPath(project)
  if (statSync(join(project.root, plan), { throwIfNoEntry: false })?.isFile()) return []
  const wanted = existsSync(join(project.root, plan)) || project.settings.plan ? [plan] : planPlaces
  const fix =
    'Write it (`ralph init --preset gated` makes one), or name yours with --plan or `layout: { plan: … }`.'
  return [
    { severity: 'error', file: plan, line: null, message: `no plan: ${wanted.join(' or ')} not found`, fix },
  ]
}

/** An agent's `git add -A` would commit them. */
function notIgnored({ root }: Project): Problem[] {
  const rules = ['.gitignore', '.git/info/exclude'].flatMap(file => ignoreRules(join(root, file)))
  const open = [stateFile, '.ralph.lock'].filter(file => !matchesAny(file, rules))
  if (open.length === 0) return []
  const message = `git does not ignore ${open.join(' and ')}`
  return [{ severity: 'warning', file: '.gitignore', line: null, message, fix: `Add: ${open.join(' ')}` }]
}

function ignoreRules(file: string): string[] {
  try {
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .map(line => line.trim())
    return lines.filter(line => line !== '' && !/^[#!]/u.test(line))
  } catch {
    return []
  }
}

/** Read anew for each attempt. */
function taskSpec(project: Project, task: Task): string {
  const plan = readPlan(project)
  const found = plan.tasks.find(one => one.id === task.id)
  if (found) return specOf(plan, found)
  const why = readPlanText(project) === null ? 'cannot be read' : `has no task '${task.id}'`
  throw new UserError(`${planPath(project)} ${why}`, 'Put the task back, or take it out of the run.')
}

function lockFile(): LockFile {
  return {
    file: '.ralph.lock',
    text: (_project, { pid }) => `${pid}\n`,
    holder: text => (/^\s*\d{1,10}\s*$/u.test(text) ? Number(text) : null),
    refusal: pid => `ERROR: Another Ralph loop active (PID ${pid})`,
  }
}
