import { UserError } from '../core/errors.ts'
import type { Base } from '../core/event.ts'
import { matchesAny } from '../core/glob.ts'
import { fileViolations } from '../core/integrity.ts'
import type { Change, Violation } from '../core/outcome.ts'
import type { TaskState } from '../core/state.ts'
import type { AgentStage } from '../core/workflow.ts'
import { definitionViolations } from '../gates/definition.ts'
import { weakenedTests } from '../gates/tests-weakened.ts'
import { gateCommands } from '../gates/verify.ts'
import type { Head } from '../store/log.ts'
import { leftBox } from './box-files.ts'
import type { Context } from './context.ts'
import { guardFiles } from './file-guard.ts'
import { rescueHome } from './rescue.ts'
import { mendStateFiles, type StateFiles } from './state-files.ts'
import type { StepFiles } from './step-files.ts'
import type { Position } from './workspace.ts'

const listed = 200

/** Looks at what an agent call did to the tree, and puts back what it may not touch. */
export async function inspect(options: {
  context: Context
  state: TaskState
  stage: AgentStage
  before: Position
  base: Base
  stateFiles: StateFiles
  /** Where the task's stream ended when the agent started. */
  head: Head | null
  files: StepFiles
  /** Files this stage is meant to write; they are judged on their own. */
  outputs: string[]
}): Promise<{ change: Change; violations: Violation[] }> {
  const { context, state, stage, before, base, stateFiles, head, files } = options
  const outputs = options.outputs.map(path => `/${path}`)
  const { workspace, settings } = context
  await context.lease.assertHeld()
  const rescued = await rescueHome(context, files.folder)
  const after = await workspace.position()
  leftBox(context, after)
  const earlier = state.evidence.change?.files.map(file => `/${file.path}`) ?? []
  const [{ files: changed, commits }, audited] = await Promise.all([
    workspace.changes(before, after),
    workspace.audit(before, after, [...earlier, ...outputs]),
  ])
  const notWork = [...context.layout.owned, settings.log, ...outputs]
  const theirs = changed.filter(file => !matchesAny(file.path, notWork))

  // For people only, so it may take its time beside all else.
  if (changed.length > 0) workspace.writeDiff(before, after, files.diff)

  const violations: Violation[] = [
    ...(rescued ? [journalGone] : await journalViolations(context, state.task.id, head)),
    ...(await guardFiles(context.lease.assertNotOver, () =>
      mendStateFiles(context.project.root, stateFiles),
    )),
    ...audited,
    ...fileViolations(theirs, {
      protect: context.protect,
      gateFiles: [],
      allows: state.task.allows,
      readOnly: stage.may === 'read',
    }),
  ]
  if (theirs.length > 0 && stage.may === 'write') {
    // What a gate is made of is taken from the task's start, whatever an earlier stage did.
    const options = {
      before: workspace.reader(state.base?.tree ?? before.tree),
      after: workspace.reader(after.tree),
      changed: theirs,
      allows: state.task.allows,
    }
    const commands = gateCommands(context.verify, state.task.verify).map(one => one.command)
    violations.push(
      ...(await definitionViolations({ ...options, commands })),
      ...(await weakenedTests(options)),
    )
  }
  const undone = await mend(context, { base, violations, committed: commits.length > 0 })

  if (undone) {
    const { head, branch, tree } = before
    return {
      change: { from: tree, to: tree, files: [], more: 0, commits: [], head, ref: branch },
      violations,
    }
  }
  const bad = new Set(violations.map(violation => violation.path))
  const good = theirs.filter(file => !bad.has(file.path) && !matchesAny(file.path, context.protect))
  return {
    change: {
      from: before.tree,
      to: after.tree,
      files: good.slice(0, listed),
      more: Math.max(0, good.length - listed),
      commits,
      head: after.head,
      ref: after.branch,
    },
    violations,
  }
}

/** Rules about the repository as a whole are mended by taking the whole step back; single files are put back one by one. */
const wholeStep: readonly Violation['rule'][] = ['branch-switched', 'refs-changed', 'swept-files']

/** True when the whole step was taken back. */
async function mend(
  context: Context,
  { base, violations, committed }: { base: Base; violations: Violation[]; committed: boolean },
): Promise<boolean> {
  if (violations.length === 0) return false
  await context.lease.assertHeld()
  // A file that is put back would still stand in the commit, and stages that go on from here would hand it on.
  const whole = ({ rule, path }: Violation) => wholeStep.includes(rule) || (committed && path !== '')
  if (violations.some(whole)) {
    await context.workspace.putBack(base, `rejected/${context.journal.run().id}-${context.clock.now()}`)
    return true
  }
  const paths = violations.map(violation => violation.path).filter(path => path !== '')
  if (paths.length > 0) await context.workspace.restorePaths(base, paths)
  return false
}

const journalGone: Violation = {
  rule: 'journal',
  path: '',
  detail: 'Deleted or replaced the journal (.ralph/ralph.db); it was put back',
}

/** An agent in direct mode has the user's rights and can reach the journal; it must not get away with it. */
async function journalViolations({ store }: Context, task: string, head: Head | null): Promise<Violation[]> {
  const found = head ? await store.log.verifyHead(task, head) : 'same'
  if (found === 'same') return []
  throw new UserError(
    `the journal of task ${task} was ${found} while its agent ran; nothing it says can be trusted any more`,
    'Look at what the agent did (`ralph show`), then run `ralph doctor`.',
  )
}
