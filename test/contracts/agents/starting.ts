import { chmodSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import type { Agent, AgentProbe, AgentRequest } from '../../../src/agents/agent.ts'
import { useFolder } from './play.ts'

/** What the engine asks for at least. */
export function aRequest(rest: Partial<AgentRequest> = {}): AgentRequest {
  return { promptFile: '/p', cwd: '/', readOnly: false, extraArgs: [], env: {}, root: false, ...rest }
}

/** Probes an agent whose home is the folder it is in. */
export function probeIn(cwd: string, agent: Agent, env: Record<string, string> = {}): Promise<AgentProbe> {
  return agent.probe({ env: { PATH: process.env.PATH, HOME: cwd, ...env }, cwd })
}

/** Must be called in a `describe`. */
export function itRefusesBrokenPrograms(
  create: (settings: { program: string }) => Agent,
  { product, install }: { product: string; install: string },
): void {
  const folder = useFolder()
  it.each([
    ['names no version', 'echo hello', `is it ${product}?`],
    ['fails', 'echo "Error: broken install" >&2; exit 1', 'Error: broken install'],
  ])('says what is wrong with a program that %s', async (_, line, problem) => {
    const cwd = folder()
    const program = path.join(cwd, 'program')
    writeFileSync(program, `#!/bin/sh\n${line}\n`)
    chmodSync(program, 0o755)
    expect(await probeIn(cwd, create({ program }))).toMatchObject({
      ok: false,
      problem: expect.stringContaining(problem),
      fix: expect.stringContaining(install),
    })
  })
}
