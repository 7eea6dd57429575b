// Temporary stand-in so that the engine compiles; the gates helper overwrites this file.
export function gateCommands(project: string[], own: string[]): { command: string; own: boolean }[] {
  return [...project.map(command => ({ command, own: false })), ...own.map(command => ({ command, own: true }))]
}
