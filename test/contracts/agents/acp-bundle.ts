import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { acp } from '../../../src/agents/acp/index.ts'
import type { Agent } from '../../../src/agents/agent.ts'
import type { AcpScript } from './acp-agent.ts'
import { usePrograms } from './use-programs.ts'

export type AcpPrograms = {
  /** The client program, as the real build makes it. */
  client(): string
  /** The command of an agent that plays a script, which is written into the folder. */
  command(folder: string, script: AcpScript): string[]
  /** Ralph's adapter for that agent. */
  agent(folder: string, script: AcpScript): Agent
}

/** Builds the client program and the test's agent, once per test file. */
export function useAcpPrograms(): AcpPrograms {
  const program = usePrograms({
    'acp-client': 'src/agents/acp/program.ts',
    'acp-agent': path.join(import.meta.dirname, 'acp-agent.ts'),
  })
  const client = () => program('acp-client')
  const command = (folder: string, script: AcpScript) => {
    const file = path.join(folder, 'acp-script.json')
    writeFileSync(file, JSON.stringify(script))
    return [process.execPath, program('acp-agent'), file]
  }
  return {
    client,
    command,
    agent: (folder, script) => acp({ program: client(), command: command(folder, script) }),
  }
}
