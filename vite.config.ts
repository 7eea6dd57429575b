import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { defineConfig } from 'vite'

const { version } = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')) as {
  version: string
}

// One build, three entries: the command, the library, and the scripted agent (a program of its own, so that
// the demo and the tests drive a real process). All libraries but the native database driver are inlined.
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
      },
      external: ['libsql', ...builtinModules, ...builtinModules.map(name => `node:${name}`)],
      output: {
        format: 'es',
        entryFileNames: '[name].js',
        chunkFileNames: 'chunks/[name]-[hash].js',
        // Opening a file costs more than the code in it that is not used, so what runs together lies together. What
        // the help needs stays apart, and so do the two libraries that read a configuration.
        advancedChunks: {
          groups: [
            {
              name: 'base',
              test: /src\/(?:core\/errors|config\/duration|agents\/(?:nearest|split-command))\.ts/,
              priority: 2,
            },
            { name: 'yaml', test: /node_modules\/yaml\// },
            { name: 'schema', test: /node_modules\/zod\/|src\/config\/schema/ },
            {
              name: 'ralph',
              test: /src\/(?!main\.ts|program\.ts|index\.ts|agents\/scripted\/)/,
            },
          ],
        },
      },
    },
  },
})
