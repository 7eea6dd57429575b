import { type AgentStage, type Edge, isEnd, type Stage, type Target, type Workflow } from './workflow.ts'

/** A workflow without its review stages: whoever led to one now leads to where its approval would have led. */
export function withoutReview(workflow: Workflow): Workflow {
  const skipped = (name: Target): AgentStage | null => {
    const stage = isEnd(name) ? undefined : workflow.stages[name]
    return stage?.kind === 'agent' && stage.review === true ? stage : null
  }
  const after = (name: Target, seen: readonly Target[] = []): Target => {
    const stage = skipped(name)
    if (!stage || seen.includes(name)) return name
    const { pass } = stage.on
    return after(typeof pass === 'string' ? pass : pass.to, [...seen, name])
  }
  const kept = Object.entries(workflow.stages).filter(([name]) => !skipped(name))
  const start = after(workflow.start)
  const stages = Object.fromEntries(kept.map(([name, stage]) => [name, mapTargets(stage, after)]))
  return { ...workflow, start, stages: reachable(stages, start) }
}

/** At most so many reviews per pass: the cap-th one that finds something leads to where the bound leads (C-03). */
export function withReviewCap(workflow: Workflow, cap: number): Workflow {
  const bound = (edge: Edge): Edge => (typeof edge === 'string' ? edge : { ...edge, max: cap - 1 })
  const stages = Object.entries(workflow.stages).map(([name, stage]): [string, Stage] => {
    if (stage.kind !== 'agent' || stage.review !== true) return [name, stage]
    const { pass, fail, unclear } = stage.on
    // A review that said nothing found nothing: asking again is another bound, unless it is the same way.
    const same = (edge: Edge) =>
      typeof edge !== 'string' && typeof fail !== 'string' && edge.then === fail.then
    const other = unclear && same(unclear) ? bound(unclear) : unclear
    return [name, { ...stage, on: { pass, fail: bound(fail), ...(other ? { unclear: other } : {}) } }]
  })
  return { ...workflow, stages: Object.fromEntries(stages) }
}

/** All time limits of a workflow times a factor, for tasks known to be hard (S3-19). */
export function withTimes(workflow: Workflow, factor: number): Workflow {
  const scaled = <T extends object>(time: T): T =>
    Object.fromEntries(
      Object.entries(time).map(([name, ms]) => [name, typeof ms === 'number' ? Math.round(ms * factor) : ms]),
    ) as T
  const stages = Object.entries(workflow.stages).map(([name, stage]): [string, Stage] => [
    name,
    stage.time ? { ...stage, time: scaled(stage.time) } : stage,
  ])
  const { run, task } = workflow.limits
  return {
    ...workflow,
    stages: Object.fromEntries(stages),
    limits: {
      ...workflow.limits,
      ...(run ? { run: scaled(run) } : {}),
      ...(task ? { task: scaled(task) } : {}),
    },
  }
}

function mapTargets(stage: Stage, map: (target: Target) => Target): Stage {
  const edge = (one: Edge): Edge => {
    if (typeof one === 'string') return map(one)
    const then = map(one.then)
    return { to: map(one.to), max: one.max, then }
  }
  const { pass, fail, unclear } = stage.on
  return {
    ...stage,
    on: { pass: edge(pass), fail: edge(fail), ...(unclear ? { unclear: edge(unclear) } : {}) },
  }
}

/** Stages that nothing leads to any more (a fixer without a reviewer) are gone, too. */
function reachable(stages: Record<string, Stage>, start: string): Record<string, Stage> {
  const found = new Set<string>()
  const todo = [start]
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    const stage = stages[name]
    if (!stage || found.has(name)) continue
    found.add(name)
    for (const edge of Object.values(stage.on))
      todo.push(...(typeof edge === 'string' ? [edge] : [edge.to, edge.then]))
  }
  return Object.fromEntries(Object.entries(stages).filter(([name]) => found.has(name)))
}
