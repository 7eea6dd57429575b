// The scripted model server for hand use:
//
//   node test/model-server/start.mjs [--port 8080] [scenario.json …]
//
// Each file is one scenario (see scenario.ts), named after the file; without any there is one named `default`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { rolldown } from 'rolldown'

const { values, positionals } = parseArgs({ options: { port: { type: 'string' } }, allowPositionals: true })

const server = await (await load()).startModelServer({ port: Number(values.port ?? 0) })
const files = positionals.map(file => [path.parse(file).name, JSON.parse(readFileSync(file, 'utf8'))])
const usual = {
  turns: [
    { text: 'I will write the file.', tools: [{ shell: 'echo hello >> out.txt' }] },
    { text: 'All done. <promise>COMPLETE</promise>' },
  ],
}
for (const [name, scenario] of files.length > 0 ? files : [['default', usual]]) {
  process.stdout.write(`${server.scenario(name, scenario)}\n`)
}

/** Node 20 reads no TypeScript, so it is bundled first, as the build does it. */
async function load() {
  const folder = mkdtempSync(path.join(tmpdir(), 'ralph-model-'))
  try {
    const bundle = await rolldown({ input: path.join(import.meta.dirname, 'server.ts'), platform: 'node' })
    await bundle.write({ dir: folder, format: 'es', entryFileNames: 'server.mjs' })
    await bundle.close()
    return await import(pathToFileURL(path.join(folder, 'server.mjs')).href)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
