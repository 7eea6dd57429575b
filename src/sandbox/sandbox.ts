/** Where agents and gates run so that what they do stays in there. One file per provider. */
export interface Sandbox {
  name: string
  /** Whether it works here for this project; starts something in it for real, for a program that is there proves nothing. */
  probe(context: SandboxProbeContext): Promise<SandboxProbe>
  /** Makes it ready. What an earlier run of this project left ready is used again. */
  open(policy: BoxPolicy): Promise<Box>
}

export type SandboxProbeContext = {
  root: string
  /** Names of the agents that are to run in it. */
  agents: readonly string[]
  /** Tasks are worked on in linked worktrees of the project's repository. */
  worktrees: boolean
  env: Readonly<Record<string, string | undefined>>
}

export type SandboxProbe = { ok: boolean; version: string | null; problem: string | null; fix: string | null }

/** What is allowed in there. All else is not. */
export type BoxPolicy = {
  /** The project: read and written, at the same path as outside. */
  root: string
  /** The engine's own folder: nothing in there may be written from inside. */
  home: string
  /** Names of the agents that are to run in it. */
  agents: readonly string[]
  /**
   * Hosts that may be reached: `example.com`, `*.example.com` for all below it, each with `:port` behind it or without
   * (then 80 and 443). This machine itself only by `localhost:port` or `127.0.0.1:port`, at that port inside as well.
   */
  hosts: readonly string[]
  /** Paths outside the project that may be read, or read and written, as well; `~` is the user's home. */
  reads: readonly string[]
  writes: readonly string[]
  /** Files of the user's home that are copied into the home in there. `back`: what changes (a renewed login) is brought back. */
  copies: readonly HomeCopy[]
  /** Who commits, as the user's git would say. */
  identity: { name: string; email: string }
  /** The environment Ralph was started with. */
  env: Readonly<Record<string, string | undefined>>
  /** An engine died or was frozen in the middle of a step: something of it may still run in there. */
  cutOff: boolean
  /** Something wanted out. Called once for each thing. */
  refused(what: string): void
}

export type HomeCopy = { path: string; back: boolean }

/** One that is ready. It lives as long as the engine; each program is a new process in it. */
export interface Box {
  /** Name of the provider, with its version where that is known. */
  name: string
  /** One line for people: what is allowed in there. */
  allows: string
  /** A program that may not write to the project cannot, whatever it tries; else its own rules are all that holds it. */
  holdsReaders: boolean
  /** How to start a program in there; the process that this starts ends with it. */
  enter(program: BoxedProgram): Promise<EnteredProgram>
  /**
   * After each program: waits until its files are the same outside. `ended`: not by itself, so that some of it may be left.
   * `program`: what `enter` gave for it, needed where several run side by side.
   */
  settle(how: { ended: boolean; program?: EnteredProgram }): Promise<void>
  /**
   * Somebody outside (a user after a pause, the engine itself when it puts a tree back) has changed files of the project:
   * from now on they are the same in there. Only where the box does not see such changes by itself.
   */
  changedOutside?(): Promise<void>
  /**
   * Writes a file of the project in there, where one that is only overwritten outside would stay as it was. Only where
   * that is so; to be called besides the write outside.
   */
  put?(path: string, content: Uint8Array): Promise<void>
  /** Ends what still runs in there. What can be used again by the next run may stay. */
  close(): Promise<void>
}

export type BoxedProgram = {
  argv: readonly [string, ...string[]]
  cwd: string
  /** The whole environment it is to see, but for what the box itself must set. */
  env: Readonly<Record<string, string>>
  /** Which agent this is; null for a gate. */
  agent: string | null
  /** The file it reads on stdin. */
  stdin: string | null
  /** Files outside the project that it reads. */
  reads: readonly string[]
  /** It may not write to the project. */
  readOnly: boolean
}

export type EnteredProgram = {
  argv: [string, ...string[]]
  cwd: string
  env: Record<string, string>
  stdin: string | null
}
