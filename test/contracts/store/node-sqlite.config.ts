import { defineConfig } from 'vitest/config'

/** For the run within node-sqlite.test.ts: it must not write the outer run's report. */
export default defineConfig({
  test: {
    include: ['sqlite', 'database', 'processes', 'survival', 'doctor', 'damaged-text'].map(
      name => `test/contracts/store/${name}.test.ts`,
    ),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
  },
})
