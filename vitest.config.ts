import { defineConfig } from 'vitest/config'

export default defineConfig({
  define: { __RALPH_VERSION__: JSON.stringify('0.0.0-test') },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/soak/**', '**/node_modules/**'],
    // Many tests start, kill and watch real processes; a loaded CI machine can starve one of them once. Not twice.
    retry: process.env.CI ? 1 : 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    // .ci/run reads the counts of the last run from this file.
    reporters: ['default', ['json', { outputFile: '.cache/test-report.json' }]],
  },
})
