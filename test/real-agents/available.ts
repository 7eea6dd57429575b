import { readFileSync } from 'node:fs'

/** Which CLIs the test files need that are not named after theirs. */
const ofAll = ['boxed', 'copied-home', 'doctor', 'guard']
const needs: Record<string, string[]> = {
  claude: [...ofAll, 'reviewed', 'roles', 'three-stories'],
  codex: [...ofAll, 'reviewed', 'roles', 'three-stories'],
  copilot: ofAll,
  gemini: [...ofAll, 'acp'],
  opencode: ofAll,
}

/** Globs of the test files whose CLI cannot be had on this machine; scripts/install-agents.mjs has found out. */
export function leftOut(): string[] {
  const missing = unavailable()
  if (missing.length > 0)
    process.stderr.write(`!!! LEFT OUT, for want of the CLI: the tests of ${missing.join(', ')}\n`)
  return missing
    .flatMap(name => [`${name}*`, ...(needs[name] ?? [])])
    .map(name => `test/real-agents/${name}.test.ts`)
}

function unavailable(): string[] {
  try {
    const note = new URL('../../.cache/agents/installed.json', import.meta.url)
    return (JSON.parse(readFileSync(note, 'utf8')) as { unavailable: string[] }).unavailable
  } catch {
    // Not installed by our script: then they had better be there.
    return []
  }
}
