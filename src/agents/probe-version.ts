import type { AgentProbe } from './agent.ts'
import { startProbe } from './probe.ts'

export type VersionProbe = {
  program: string
  /** What the program is called by people. */
  product: string
  cwd: string
  env: Record<string, string>
  /** How to install it. */
  fix: string
  /** Milliseconds. */
  timeout?: number
}

/** Asks a program for its version: the cheapest real start there is. */
export async function probeVersion(options: VersionProbe): Promise<AgentProbe> {
  const { program, product, cwd, env, fix, timeout } = options
  const end = await startProbe({
    argv: [program, '--version'],
    cwd,
    env,
    ...(timeout === undefined ? {} : { timeout }),
  })
  const broken = (problem: string): AgentProbe => ({ ok: false, version: null, problem, fix })
  switch (end.type) {
    case 'missing':
      return broken(`'${program}' was not found`)
    case 'failed':
      return broken(`\`${program} --version\` failed: ${end.detail}`)
    case 'timeout':
      return broken(`\`${program} --version\` did not end within ${end.after / 1000} s`)
    case 'ok': {
      const version = /\d+\.\d+\.\d+\S*/u.exec(end.output)?.[0] ?? null
      return version === null
        ? broken(`\`${program} --version\` named no version; is it ${product}?`)
        : { ok: true, version, problem: null, fix: null }
    }
    default:
      return end satisfies never
  }
}
