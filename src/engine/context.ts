import type { Agent } from '../agents/agent.ts'
import type { AgentChoice, Settings } from '../config/settings.ts'
import type { Layout, Project } from '../layouts/layout.ts'
import type { Reporter } from '../reporters/reporter.ts'
import type { Box } from '../sandbox/sandbox.ts'
import type { Store } from '../store/sqlite.ts'
import type { Clock } from './clock.ts'
import type { Journal } from './journal.ts'
import type { Lease } from './lease.ts'
import type { Position, Workspace } from './workspace.ts'

/** `live`: the tasks that have one, and the user's branch that their work goes to; as the store has it. `open`: those in use. */
export type TaskFolders = {
  live: Map<string, { into: string | null }>
  open: Map<string, Context>
}

/** What a box that has copies of the project's files knows of them. */
export type BoxFiles = {
  /** Where the project stood when the last program in there had ended; null: nobody knows. */
  left: Pick<Position, 'tree' | 'head'> | null
  /** Files that git does not see, by the hash of what was last brought in. */
  brought: Map<string, string>
}

/** Everything a step may use. Built once per run; holds no state of its own beyond what stands in the journal. */
export type Context = {
  root: string
  /** `.ralph/`, the engine's own folder. */
  home: string
  settings: Settings
  /** Globs no agent may change. */
  protect: string[]
  /** Ids the backlog lists without a spec. */
  missing: string[]
  /** The verify commands of this run. */
  verify: string[]
  project: Project
  layout: Layout
  workspace: Workspace
  store: Store
  journal: Journal
  lease: Lease
  clock: Clock
  report: Required<Reporter>
  agent(choice: AgentChoice): Promise<Agent>
  /** Where agents and gates run; null: with the user's own rights. */
  box: Box | null
  boxFiles: BoxFiles
  /** Values that must not reach a file. */
  secrets: string[]
  /** A person asked to stop, by Ctrl-C or from elsewhere. */
  stop: AbortSignal
  /** The folders of single tasks. */
  folders: TaskFolders
  /** In the folder of a task: the context of the project itself. */
  main?: Context
  /** The environment Ralph was started with. */
  env: Record<string, string | undefined>
}
