import { isEnd, stageOf, type Workflow } from './workflow.ts'

/** What is likely to be needed for what is left, before any money is spent (G-04, G-16). */
export type Estimate = { tasks: number; each: number; total: number; limit: number | null; enough: boolean }

/** `history`: iterations that done tasks of this backlog took; without any, a guess from the workflow. */
export function estimateIterations(
  workflow: Workflow,
  tasks: number,
  history: readonly number[] = [],
): Estimate {
  const each = history.length >= 3 ? average(history) : guess(workflow)
  const total = Math.ceil(tasks * each)
  const limit = workflow.limits.iterations ?? null
  return { tasks, each, total, limit, enough: limit === null || total <= limit }
}

function average(history: readonly number[]): number {
  const mean = history.reduce((sum, one) => sum + one, 0) / history.length
  return Math.round(mean * 10) / 10
}

/** The straight way through the stages, and one correction where there is a review; a second try where there is none. */
function guess(workflow: Workflow): number {
  switch (workflow.iteration) {
    case 'task':
      return 1
    case 'attempt':
      return 1.5
    case 'call': {
      const stages = straightWay(workflow)
      const reviews = stages.some(stage => stage.kind === 'agent' && stage.review === true)
      return stages.filter(stage => stage.kind === 'agent').length + (reviews ? 1 : 0)
    }
    default:
      return workflow.iteration satisfies never
  }
}

function straightWay(workflow: Workflow) {
  const way = []
  const seen = new Set<string>()
  for (let name = workflow.start; !isEnd(name) && !seen.has(name); ) {
    seen.add(name)
    const stage = stageOf(workflow, name)
    if (!stage) break
    way.push(stage)
    name = typeof stage.on.pass === 'string' ? stage.on.pass : stage.on.pass.to
  }
  return way
}
