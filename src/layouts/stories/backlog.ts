import { dependencyProblems } from '../../core/select.ts'
import type { Task } from '../../core/task.ts'
import type { Backlog, Problem } from '../layout.ts'
import { type Order, readOrder } from './order-file.ts'
import { recordedStories } from './recorded.ts'
import { scanSpecs } from './scan.ts'
import type { SpecFile } from './spec-facts.ts'
import { stateFileProblem } from './state-file.ts'
import { epicOf, titleOf } from './story-id.ts'

export type StoryBacklog = Backlog & { files: SpecFile[] }

/**
 * Specs and order become tasks. What keeps a story from being run as its author meant it is a warning for a run, which
 * goes on with the others (S4-35), and an error for `ralph validate` (`strict`).
 */
export function storyBacklog(root: string, strict: boolean): StoryBacklog {
  const grave = strict ? 'error' : 'warning'
  const scan = scanSpecs(root)
  const problems = [...stateFileProblem(root), ...scan.problems]
  const files = onePerId(scan.files, problems)
  const order = readOrder(root)
  const done = new Set(recordedStories(root).map(one => one.id))
  const { sorted, missing } = inOrder({ files, order, done, problems, grave })
  problems.push(...sorted.flatMap(file => factProblems(file, grave)))
  const tasks = sorted.map((file, index) => toTask(file, index, need => done.has(need) && !files.has(need)))
  problems.push(...needProblems({ tasks, files, order, grave }))
  return { tasks, missing, problems, files: sorted }
}

/** Two specs for one id: the one in the epic's own folder counts, else the first by name. */
function onePerId(found: SpecFile[], problems: Problem[]): Map<string, SpecFile> {
  const files = new Map<string, SpecFile>()
  for (const file of found) {
    const first = files.get(file.id)
    if (!first) {
      files.set(file.id, file)
      continue
    }
    const [used, other] = !isHome(first) && isHome(file) ? [file, first] : [first, file]
    files.set(file.id, used)
    problems.push({
      severity: 'error',
      file: other.path,
      line: null,
      message: `story ${file.id} has two specs; ${used.path} is used`,
      fix: 'Remove or renumber one of the two files.',
    })
  }
  for (const file of files.values()) {
    if (isHome(file)) continue
    problems.push({
      severity: 'warning',
      file: file.path,
      line: null,
      message: `story ${file.id} lies in the folder of epic ${file.epic}`,
      fix: `Move it to specs/epic-${epicOf(file.id)}/.`,
    })
  }
  return files
}

function isHome(file: SpecFile): boolean {
  return Number(epicOf(file.id)) === Number(file.epic)
}

type Ordering = {
  files: Map<string, SpecFile>
  order: Order | null
  done: Set<string>
  problems: Problem[]
  grave: Problem['severity']
}

/** The chosen order first, then what it does not name, by number. */
function inOrder({ files, order, done, problems, grave }: Ordering): {
  sorted: SpecFile[]
  missing: string[]
} {
  const natural = [...files.values()]
  if (!order) return { sorted: natural, missing: [] }
  problems.push(...order.problems)
  const sorted: SpecFile[] = []
  const missing: string[] = []
  for (const { id, line } of order.ids) {
    const file = files.get(id)
    if (file) sorted.push(file)
    // A story that is done needs its spec no more.
    else if (!done.has(id)) {
      missing.push(id)
      problems.push({
        severity: grave,
        file: order.file,
        line,
        message: `no spec for story ${id}: specs/epic-${epicOf(id)}/story-${id}-*.md`,
        fix: `Write it (\`ralph new story ${id} "…"\`), or remove the line.`,
      })
    }
  }
  const listed = new Set(order.ids.map(one => one.id))
  for (const file of natural) {
    if (listed.has(file.id)) continue
    sorted.push(file)
    problems.push({
      severity: 'warning',
      file: file.path,
      line: null,
      message: `story ${file.id} is not in ${order.file}; it comes last`,
      fix: `Add ${file.id} to ${order.file} where it belongs.`,
    })
  }
  return { sorted, missing }
}

function factProblems({ path, facts }: SpecFile, grave: Problem['severity']): Problem[] {
  return facts.problems.map(({ line, message, fix, unusable }) => ({
    severity: unusable ? grave : 'warning',
    file: path,
    line,
    message,
    fix,
  }))
}

/** `settled`: done earlier and its spec gone since; nothing is left to wait for. */
function toTask(file: SpecFile, order: number, settled: (need: string) => boolean): Task {
  const { needs, verify, allows, priority } = file.facts
  return {
    id: file.id,
    title: titleOf(file),
    spec: file.path,
    needs: needs.filter(need => !settled(need)),
    order,
    ...(priority === null ? {} : { priority }),
    verify,
    allows,
  }
}

type Needing = {
  tasks: Task[]
  files: Map<string, SpecFile>
  order: Order | null
  grave: Problem['severity']
}

/** C-11: the order stays as it is; what it breaks is said. */
function needProblems({ tasks, files, order, grave }: Needing): Problem[] {
  const at = (id: string) => ({
    file: files.get(id)?.path ?? 'specs',
    line: files.get(id)?.facts.needsLine ?? null,
  })
  const problems: Problem[] = dependencyProblems(tasks).map(({ id, message }) => ({
    severity: grave,
    ...at(id),
    message: `story ${id}: ${message}`,
    fix: 'Correct depends_on.',
  }))
  const place = new Map(tasks.map(task => [task.id, task.order]))
  for (const { id, needs, order: own } of tasks) {
    const later = needs.find(need => need !== id && (place.get(need) ?? -1) > own)
    if (later === undefined) continue
    const where = order?.file ?? 'specs/order.txt'
    problems.push({
      severity: 'warning',
      ...at(id),
      message: `story ${id} depends on ${later}, which comes after it`,
      fix: `Put ${later} before ${id} in ${where}, or run with --strict-deps.`,
    })
  }
  return problems
}
