import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll } from 'vitest'

/** Builds the scripted agent as the real build does, once per test file. The path is known after `beforeAll`. */
export function useScriptedProgram(): () => string {
  let folder = ''
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'ralph-scripted-'))
    const bundle = await rolldown({
      input: { 'scripted-agent': 'src/agents/scripted/program.ts' },
      platform: 'node',
      transform: { define: { __RALPH_VERSION__: '"1.2.3"' } },
    })
    await bundle.write({
      dir: folder,
      format: 'es',
      entryFileNames: '[name].mjs',
      chunkFileNames: '[name]-[hash].mjs',
    })
    await bundle.close()
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return () => path.join(folder, 'scripted-agent.mjs')
}
