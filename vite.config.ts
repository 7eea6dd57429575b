import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { defineConfig } from 'vite'

const { version } = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')) as {
  version: string
}

// One build, five entries: the command, the library, the scripted agent (a program of its own, so that the demo and the
// tests drive a real process), the client that talks with agents in ACP, and the command guard (one file that agents
// start before every tool call, so nothing else may import what is in it). All libraries but the native database driver
// are inlined.
export default defineConfig({
  plugins: [
    {
      name: 'package-of-dist',
      generateBundle() {
        this.emitFile({ type: 'asset', fileName: 'package.json', source: '{ "type": "commonjs" }\n' })
      },
    },
  ],
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
        ralph: 'src/launch.ts',
        index: 'src/index.ts',
        'scripted-agent': 'src/agents/scripted/program.ts',
        'acp-client': 'src/agents/acp/program.ts',
        'guard-hook': 'src/hooks/pretool-program.ts',
        'guard-start': 'src/hooks/guard-start.ts',
      },
      external: ['libsql', ...builtinModules, ...builtinModules.map(name => `node:${name}`)],
      output: {
        // Starts a little quicker than ES modules do, and its compiled form can be kept.
        format: 'cjs',
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
