import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Stream } from '@agentclientprotocol/sdk'
import { firstPart } from '../tail-text.ts'
import { type Listener, messageStream } from './messages.ts'

export type AgentProcess = {
  stream: Stream
  ended: Promise<AgentEnd>
  /** Asks it to go by closing its stdin, then with TERM, then with KILL. */
  end(): Promise<AgentEnd>
  kill(signal: NodeJS.Signals): void
}

export type AgentEnd = { code: number | null; signal: NodeJS.Signals | null; startError: string | null }

/** From the end of its stdin to TERM, and from TERM to KILL. */
const graces = { close: 1_500, term: 2_500 }

/** Starts the agent in our own process group, so that who ends us ends it too. What it prints aside goes to stderr. */
export function startAgent(argv: string[], onUpdate: Listener['onUpdate']): AgentProcess {
  const [program = '', ...args] = argv
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = endOf(child)
  // It may be gone while we write; its end says more than a broken pipe.
  child.stdin.on('error', () => undefined)
  const onStray = (line: string) => process.stderr.write(`${firstPart(line, 2000)}\n`)
  const within = (ms: number) => Promise.race([ended.then(() => true), delay(ms, false, { ref: false })])
  return {
    stream: messageStream(child.stdin, child.stdout, { onUpdate, onStray }),
    ended,
    kill: signal => child.kill(signal),
    async end() {
      child.stdin.end()
      if (!(await within(graces.close))) child.kill('SIGTERM')
      if (!(await within(graces.term))) child.kill('SIGKILL')
      return ended
    },
  }
}

function endOf(child: ChildProcess): Promise<AgentEnd> {
  return new Promise(resolve => {
    child.once('exit', (code, signal) => resolve({ code, signal, startError: null }))
    child.once('error', error => resolve({ code: null, signal: null, startError: error.message }))
  })
}
