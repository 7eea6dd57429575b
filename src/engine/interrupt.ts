/**
 * Ctrl-C and TERM. The first asks the run to end cleanly: the agent is stopped, the state is consistent. The second
 * ends Ralph at once; the leash ends the agent. npm and terminals send the signal twice, so a second within a second
 * of the first is the same one.
 */
export function onInterrupt(): { signal: AbortSignal; received(): NodeJS.Signals | null; dispose(): void } {
  const controller = new AbortController()
  let first = 0
  let received: NodeJS.Signals | null = null
  const handler = (name: NodeJS.Signals) => {
    const now = performance.now()
    if (received === null) {
      received = name
      first = now
      process.stderr.write(
        '\nStopping: the agent is being ended, state is kept. Once more to stop at once.\n',
      )
      controller.abort(name)
    } else if (now - first > 1_000) {
      process.exit(name === 'SIGTERM' ? 143 : 130)
    }
  }
  const names: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const name of names) process.on(name, handler)
  return {
    signal: controller.signal,
    received: () => received,
    dispose: () => {
      for (const name of names) process.off(name, handler)
    },
  }
}
