import { defineConfig } from 'vitest/config'

export default defineConfig({
  define: { __RALPH_VERSION__: JSON.stringify('0.0.0-test') },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/soak/**', 'test/real-agents/**', '**/node_modules/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // One more than the cores we count on: many tests wait for a limit, a lease or a process.
    maxWorkers: 3,
    // .ci/run reads the counts of the last run from this file.
    reporters: ['default', ['json', { outputFile: '.cache/test-report.json' }]],
  },
})
