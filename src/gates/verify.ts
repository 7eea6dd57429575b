/** A command the engine runs itself; `own`: it stands in the task's own spec. */
export type GateCommand = { command: string; own: boolean }

/**
 * The commands of a task in order, each once: the project's, then the task's own. One that is in both counts as the
 * project's: what is green for every task says nothing about this one.
 */
export function gateCommands(project: readonly string[] | 'none', own: readonly string[]): GateCommand[] {
  const shared = project === 'none' ? [] : trimmed(project)
  const rest = trimmed(own).filter(command => !shared.includes(command))
  return [
    ...shared.map(command => ({ command, own: false })),
    ...rest.map(command => ({ command, own: true })),
  ]
}

function trimmed(commands: readonly string[]): string[] {
  return [...new Set(commands.map(command => command.trim()).filter(command => command !== ''))]
}
