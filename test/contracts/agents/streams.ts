import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Agent, AgentEvent, AgentReport } from '../../../src/agents/agent.ts'
import type { Fault } from '../../../src/core/outcome.ts'
import { faultOf } from './play.ts'

/** What an agent printed: lines as they are, events as objects. */
export type Output = {
  stdout?: (object | string)[]
  stderr?: string[]
  exit?: number | null
  killed?: string | null
}

export type ReadOutput = { report: AgentReport; events: AgentEvent[]; fault: Fault | null }

/** Hands an output to the agent's reader and judges it, without a process. */
export function readOutput(agent: Agent, output: Output): ReadOutput {
  const { stdout = [], stderr = [], exit = 0, killed = null } = output
  const reader = agent.reader()
  const events = [
    ...stderr.flatMap(line => reader.line(line, 'stderr')),
    ...stdout.flatMap(one => reader.line(typeof one === 'string' ? one : JSON.stringify(one), 'stdout')),
  ]
  const report = reader.end({ code: exit, killed })
  return { report, events, fault: faultOf(agent, report, { code: exit, killed }) }
}

/** Reads what the real CLI once printed. */
export function readRecorded(agent: Agent, name: string, end: Pick<Output, 'exit' | 'killed'>): ReadOutput {
  return readOutput(agent, { ...recording(agent, name), ...end })
}

/** The lines of a recording, which is named for its agent. A CLI may have used only one of its two outputs. */
export function recording(agent: Agent, name: string): { stdout: string[]; stderr: string[] } {
  const file = path.join(import.meta.dirname, 'fixtures', `${agent.name}-${name}`)
  const places = { stdout: `${file}.jsonl`, stderr: `${file}.stderr.txt` }
  if (!existsSync(places.stdout) && !existsSync(places.stderr)) throw new Error(`no recording ${name}`)
  const lines = (place: string) => (existsSync(place) ? readFileSync(place, 'utf8').split('\n') : [])
  return { stdout: lines(places.stdout), stderr: lines(places.stderr) }
}
