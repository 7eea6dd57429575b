import type { FaultPattern } from '../core/fault.ts'
import type { Fault, Usage } from '../core/outcome.ts'

/** One coding-agent CLI: how to start it headless and how to read what it prints. One file per agent. */
export interface Agent {
  name: string
  /** `guard`: it asks the guard of a request before each tool call. */
  can: { readOnly: boolean; reportsCost: boolean; structured: boolean; guard: boolean }
  /** Phrases of its error messages, for `classify`. */
  patterns: readonly FaultPattern[]
  /** How to start it for one attempt. Pure: the same request gives the same command. */
  command(request: AgentRequest): AgentCommand
  /** A fresh reader for one attempt's output. */
  reader(): AgentReader
  /** What works here and how to mend what does not; starts the program for real. */
  probe(context: ProbeContext): Promise<AgentProbe>
  /** What it cannot work without where the home folder and the network are hidden from it. */
  needs?(env: Record<string, string | undefined>): AgentNeeds
  /** How it is led to a model at `url`, without a login, to see whether it starts as it should; or why that cannot be. */
  headless?(url: string): HeadlessStart | { notChecked: string }
}

export type HeadlessStart = {
  /** In place of the user's own variables. */
  env: Record<string, string>
  /** Files of an otherwise empty home. */
  files?: Record<string, string>
  /** After the user's own arguments. */
  args?: string[]
  /** In place of the user's own model. */
  model?: string
}

export type AgentNeeds = {
  /** Its model and the renewal of its login: `example.com`, `*.example.com`, with `:port` where it is not a usual one. */
  hosts: string[]
  /** Its login and settings, by absolute path; not all of them need be there. `back`: a login that the CLI renews. */
  copies: { path: string; back: boolean }[]
}

/** What the configuration may say about an agent besides its name. */
export type AgentSettings = {
  /** `command`: the program to run, as one line (see `splitCommand`) or as a list of words. */
  command?: string | string[]
  /** `scripted`: the script to play. */
  script?: string
  /** `scripted`: what to play without a script, as JSON. */
  rehearsal?: string
  /** Another place of the agent's own program, when it is not on the PATH. */
  program?: string
  /** Phrases that come before the agent's own when a fault is looked for. */
  patterns?: FaultPattern[]
  /** The folder relative paths are from; the current one if not given. */
  base?: string
}

export type AgentRequest = {
  /** The prompt as a file; agents read it on stdin unless they say otherwise. */
  promptFile: string
  cwd: string
  model?: string
  /** A reviewer may not edit. */
  readOnly: boolean
  extraArgs: string[]
  /** The engine's own environment, to pick allowed variables from. */
  env: Record<string, string | undefined>
  /** The engine runs as root. */
  root: boolean
  /** It runs in a box that keeps a reviewer from writing; a sandbox of its own would not start in there. */
  boxed?: boolean
  /** `node <hook>` is asked before each tool call and may refuse it; only agents that `can.guard` heed it. */
  guard?: { node: string; hook: string }
}

export type AgentCommand = {
  argv: [string, ...string[]]
  /** Added to the common allowlist of `environment()`. */
  env: Record<string, string>
  stdin: 'prompt' | 'none'
  /** Files outside the workspace that the program reads; a sandbox must show them to it. */
  reads?: string[]
}

/** One event shape for all agents; live views show them, the journal does not keep them. */
export type AgentEvent =
  | { type: 'text'; text: string }
  | { type: 'tool'; name: string; input: string }
  | { type: 'notice'; text: string }

export interface AgentReader {
  /** Takes one line of output; memory stays bounded whatever comes. */
  line(line: string, stream: 'stdout' | 'stderr'): AgentEvent[]
  end(exit: { code: number | null; killed: string | null }): AgentReport
}

export type AgentReport = {
  /** The final message: the only place where a claim counts. Bounded. */
  message: string
  usage: Usage
  /** What the agent's own structured events say went wrong; text patterns come after this. */
  fault: Fault | null
  /** The end of what was printed besides the message (stderr, stray lines), for `classify`. Bounded. */
  tail: string
  sessionId: string | null
  model: string | null
  /** How full the agent's context window was at the end, where it tells. */
  context?: { usedTokens: number; windowTokens: number | null }
}

export type ProbeContext = { env: Record<string, string | undefined>; cwd: string }

export type AgentProbe = {
  ok: boolean
  version: string | null
  /** Whether it is logged in, where the program tells without calling a model. */
  login?: 'yes' | 'no' | 'unknown'
  problem: string | null
  fix: string | null
}
