import { evidenceList, evidenceText, taskEvidence } from './evidence-view.ts'
import { findTask } from './find-task.ts'
import { nothingYet, openForLooking, openOrRefuse, withStore } from './look.ts'
import { type ProjectOption, projectRoot } from './project.ts'
import { printJson, terminal } from './terminal.ts'

export type EvidenceOptions = ProjectOption & { task?: string; json?: boolean }

/** `ralph evidence`: why a task counts as done. Exit code 1 for a task that is not. */
export async function evidence(options: EvidenceOptions): Promise<void> {
  const root = projectRoot(options)
  return options.task === undefined
    ? listEvidence(root, options.json === true)
    : oneTask(root, options.task, options.json === true)
}

async function oneTask(root: string, id: string, json: boolean): Promise<void> {
  await withStore(await openOrRefuse(root), async ({ log }) => {
    const { state } = await findTask(log, id)
    const task = taskEvidence(state, (await log.lastRun())?.rules ?? null)
    const screen = terminal()
    if (json) printJson({ tasks: [task] })
    else screen.out(evidenceText(task, screen.style))
    if (task.proof === null) process.exitCode = 1
  })
}

async function listEvidence(root: string, json: boolean): Promise<void> {
  const store = await openForLooking(root)
  const screen = terminal()
  if (!store) return json ? printJson({ tasks: [] }) : screen.out(`${nothingYet}\n  → next: ralph run\n`)
  await withStore(store, async ({ log }) => {
    const tasks = (await log.tasks({ status: ['done'] })).map(one => taskEvidence(one.state, null))
    if (json) return printJson({ tasks })
    const { done, removed, ...rest } = await log.counts()
    const left = Object.values(rest).reduce((sum, count) => sum + count, 0)
    screen.out(evidenceList(tasks, left, screen.style))
  })
}
