import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { defineConfig } from 'vite'

const { version } = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')) as {
  version: string
}

// One build, four entries: the command, the library, the scripted agent (a program of its own, so that the demo and the
// tests drive a real process), and the client that talks with agents in ACP. All libraries but the native database driver
// are inlined.
export default defineConfig({
  define: { __RALPH_VERSION__: JSON.stringify(version) },
  ssr: { noExternal: true, external: ['libsql'] },
  build: {
    ssr: true,
    target: 'node20',
    outDir: 'dist',
    emptyOutDir: true,
    minify: true,
    rolldownOptions: {
      input: {
        ralph: 'src/main.ts',
        index: 'src/index.ts',
        'scripted-agent': 'src/agents/scripted/program.ts',
        'acp-client': 'src/agents/acp/program.ts',
      },
      external: ['libsql', ...builtinModules, ...builtinModules.map(name => `node:${name}`)],
      output: {
        format: 'es',
        entryFileNames: '[name].js',
        chunkFileNames: 'chunks/[name]-[hash].js',
        // Opening a file costs more than the code in it that is not used, so what runs together lies together. What
        // the help needs stays apart, and so do the two libraries that read a configuration.
        advancedChunks: {
          includeDependenciesRecursively: false,
          groups: [
            {
              name: 'base',
              test: /src\/(?:core\/errors|config\/duration|process\/lines|agents\/(?:json|nearest|split-command|tail-text))\.ts/,
              priority: 2,
            },
            { name: 'yaml', test: /node_modules\/yaml\// },
            { name: 'schema', test: /node_modules\/zod\/|src\/config\/schema/ },
            // What every command needs, and what only those need that work. Commands, presets' files and agents come
            // one by one, each with what it alone needs.
            {
              name: 'journal',
              test: /src\/(?:core|store|reporters)\/|src\/commands\/(?:terminal|look|find-task|stage-words)\.ts|src\/engine\/(?:unmerged|step-files)\.ts/,
              priority: 1,
            },
            {
              name: 'engine',
              test: /src\/(?:engine|git|gates|process|presets)\/|src\/config\/(?!schema)|src\/layouts\/(?:registry|layout|front-matter[^/]*)\.ts|src\/commands\/(?:project|run)/,
            },
          ],
        },
      },
    },
  },
})
