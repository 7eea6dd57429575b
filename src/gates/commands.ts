// Temporary stand-in so that the engine compiles; the gates helper overwrites this file.
import { readFileSync } from 'node:fs'
import type { CommandResult } from '../core/outcome.ts'
import { fingerprint } from '../core/fingerprint.ts'
import { allowedEnvironment } from '../process/environment.ts'
import type { runProcess } from '../process/run-process.ts'
export async function runCommands(o: { commands: { command: string; own: boolean }[]; cwd: string; outputDir: string; processFile: string; env: Record<string, string | undefined>; allow: string[]; timeout: number; leash: number; mayBeat: () => boolean; secrets: string[]; signal: AbortSignal; run: typeof runProcess; onLine: (line: string) => void }): Promise<CommandResult[]> {
  const results: CommandResult[] = []
  for (const [n, { command, own }] of o.commands.entries()) {
    const outputFile = `${o.outputDir}/gate-${n + 1}.log`
    const r = await o.run({ argv: ['sh', '-c', command], cwd: o.cwd, env: allowedEnvironment(o.env, o.allow), stdin: { type: 'none' }, outputFile, processFile: o.processFile, timeout: o.timeout, idle: 0, grace: 1000, leash: o.leash, mayBeat: o.mayBeat, signal: o.signal, secrets: o.secrets, onLine: o.onLine })
    const tail = readFileSync(outputFile, 'utf8').slice(-4000)
    results.push({ command, own, exit: r.exit, ended: r.ended, ms: r.ms, tests: null, fingerprint: r.exit === 0 ? '' : fingerprint(tail), tail })
    if (o.signal.aborted) break
  }
  return results
}
