import { defineConfig } from 'vitest/config'

// The long ones: the same tests as `npm test`, over many more rounds. Run by hand, `npm run soak`.
export default defineConfig({
  define: { __RALPH_VERSION__: JSON.stringify('0.0.0-test') },
  test: {
    include: ['test/soak/**/*.test.ts', 'test/crash/presets-*.test.ts'],
    env: { RALPH_SOAK: '1' },
    testTimeout: 3_600_000,
    hookTimeout: 120_000,
    pool: 'forks',
    maxWorkers: 2,
  },
})
