import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll } from 'vitest'

/** Builds programs as the real build does, once per test file. Their paths are known after `beforeAll`. */
export function usePrograms<Name extends string>(sources: Record<Name, string>): (name: Name) => string {
  let folder = ''
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'ralph-programs-'))
    const bundle = await rolldown({
      input: sources,
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
  return name => path.join(folder, `${name}.mjs`)
}
