import { UserError } from '../core/errors.ts'
import type { Sandbox, SandboxProbeContext } from './sandbox.ts'

/** In the order in which `auto` tries them: a kernel of its own comes before a box on this one. */
const providers: Record<string, () => Promise<() => Sandbox>> = {
  sbx: async () => (await import('./sbx.ts')).sbx,
  bubblewrap: async () => (await import('./bubblewrap.ts')).bubblewrap,
}

export const sandboxNames: readonly string[] = Object.keys(providers)

export type ChosenSandbox = {
  /** null: direct mode. */
  sandbox: Sandbox | null
  version: string | null
  /** Those that do not work here, and why. */
  missing: MissingSandbox[]
}

export type MissingSandbox = { name: string; problem: string; fix: string }

/**
 * `none`, the name of a provider, `auto` (the first that works, else direct mode) or `required` (the first that works,
 * else refused). Nobody who asked for a sandbox ever gets less.
 */
export async function chooseSandbox(use: string, context: SandboxProbeContext): Promise<ChosenSandbox> {
  if (use === 'none') return { sandbox: null, version: null, missing: [] }
  const any = use === 'auto' || use === 'required'
  if (!any && !Object.hasOwn(providers, use)) throw unknownSandbox(use)
  const missing: MissingSandbox[] = []
  for (const name of any ? sandboxNames : [use]) {
    const sandbox = await findSandbox(name)
    const { ok, version, problem, fix } = await sandbox.probe(context)
    if (ok) return { sandbox, version, missing }
    missing.push({ name, problem: problem ?? 'does not work here', fix: fix ?? '' })
  }
  if (use === 'auto') return { sandbox: null, version: null, missing }
  throw new UserError(
    `sandbox: ${use}, but ${use === 'required' ? 'none works here' : 'it does not work here'} (${missingText(missing)})`,
    `${missing.map(one => one.fix).find(Boolean) ?? ''} Or use \`--no-sandbox\`: the agent then has all your rights.`.trim(),
  )
}

/** `sbx: not installed; bubblewrap: not installed`. */
export function missingText(missing: readonly MissingSandbox[]): string {
  return missing.map(one => `${one.name}: ${one.problem}`).join('; ')
}

export function unknownSandbox(use: string): UserError {
  return new UserError(
    `unknown sandbox '${use}'`,
    `Choose auto, required, none or one of ${sandboxNames.join(', ')}.`,
    2,
  )
}

export function isSandboxName(use: string): boolean {
  return ['auto', 'required', 'none', ...sandboxNames].includes(use)
}

async function findSandbox(name: string): Promise<Sandbox> {
  const load = providers[name]
  if (!load) throw unknownSandbox(name)
  return (await load())()
}
