import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { build } from 'vite'
import { afterAll } from 'vitest'

const bundles = new Map<string, Promise<string>>()

/**
 * A TypeScript program of a test as one file that plain `node` runs, for tests that kill, stop or measure a process of
 * their own. Built once per test file. It lies below `node_modules`, so that packages left outside are found.
 */
export function bundle(entry: string): Promise<string> {
  const path = resolve(entry)
  const built = bundles.get(path) ?? buildOne(path)
  bundles.set(path, built)
  return built
}

async function buildOne(entry: string): Promise<string> {
  const name = basename(entry).replace(/\.ts$/, '')
  await build({
    configFile: false,
    root: process.cwd(),
    logLevel: 'silent',
    ssr: { noExternal: true, external: ['libsql'] },
    define: { __RALPH_VERSION__: JSON.stringify('0.0.0-test') },
    build: {
      ssr: entry,
      target: 'node20',
      outDir: folder(),
      emptyOutDir: false,
      minify: false,
      rolldownOptions: { output: { format: 'es', entryFileNames: `${name}.mjs` } },
    },
  })
  return join(folder(), `${name}.mjs`)
}

let made: string | undefined
afterAll(() => {
  if (made !== undefined) rmSync(made, { recursive: true, force: true })
})

function folder(): string {
  if (made !== undefined) return made
  const cache = join(process.cwd(), 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const path = mkdtempSync(join(cache, 'ralph-test-'))
  made = path
  return path
}
