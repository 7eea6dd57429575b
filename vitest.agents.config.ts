import { basename } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { leftOut } from './test/real-agents/available.ts'

// The real agent CLIs, driven by the built `ralph` against the scripted model of test/model-server: `npm run test:agents`.
//
// What is needed: Linux or macOS, git, npm's registry for the first install (test/real-agents/agents.json pins the
// versions; they go to .cache/agents, about 1.2 GB), some 3 GB of memory. No login and no key: each CLI gets an empty home,
// a made-up key and an address on 127.0.0.1. Where the system allows it, all of this runs in a network of its own that
// ends at this machine (scripts/offline.mjs), so that nothing can leave.
//
// work.ts, trouble.ts: what every CLI must do · clis.ts: how each is led to the model, and how they differ · stage.ts: a
// project, a home and a model for a test. `RALPH_PROGRAM=<ralph.js>` tests another build.
// One CLI only: `npx vitest run --config vitest.agents.config.ts codex`.
/** The slow ones first, or the last of them would be waited for alone. */
const slow = ['opencode-outages', 'opencode', 'copilot', 'acp', 'gemini', 'codex', 'claude']

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = slow.indexOf(basename(moduleId, '.test.ts'))
      return at < 0 ? slow.length : at
    }
    return files.sort((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  define: { __RALPH_VERSION__: JSON.stringify('0.0.0-test') },
  test: {
    include: ['test/real-agents/**/*.test.ts'],
    exclude: ['**/node_modules/**', ...leftOut()],
    testTimeout: 300_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // More than there are cores: most of the time is spent on waiting for a limit to end or a time to be up.
    maxWorkers: 4,
    sequence: { sequencer: SlowFirst },
    reporters: ['default', ['json', { outputFile: '.cache/agents-report.json' }]],
  },
})
