import type { TestCounts } from '../core/gate.ts'
import { ava } from './count/ava.ts'
import { bun } from './count/bun.ts'
import { cargo } from './count/cargo.ts'
import { add, emptyCounts, maxNames, type RunnerCounter } from './count/counter.ts'
import { ctest } from './count/ctest.ts'
import { deno } from './count/deno.ts'
import { dotnet } from './count/dotnet.ts'
import { go } from './count/go.ts'
import { jasmine } from './count/jasmine.ts'
import { jest } from './count/jest.ts'
import { gradle, maven } from './count/jvm.ts'
import { mix } from './count/mix.ts'
import { mocha } from './count/mocha.ts'
import { phpunit } from './count/php.ts'
import { playwright } from './count/playwright.ts'
import { pytest, unittest } from './count/python.ts'
import { minitest, rspec } from './count/ruby.ts'
import { tap } from './count/tap.ts'
import { vitest } from './count/vitest.ts'

const runners: readonly (() => RunnerCounter)[] = [
  vitest,
  jest,
  mocha,
  tap,
  ava,
  playwright,
  jasmine,
  bun,
  deno,
  pytest,
  unittest,
  cargo,
  go,
  ctest,
  rspec,
  minitest,
  phpunit,
  mix,
  maven,
  gradle,
  dotnet,
]

export type CountOptions = {
  /** The command is known to run turbo, so suites may be silent. Anybody could print that they are. */
  caches?: boolean
}

export type TestCounter = { line(text: string): void; end(): TestCounts | null }

/**
 * Counts tests from a runner's output as it comes, in bounded memory. Several runs in one output are added up
 * (workspaces, one test binary after another). Nothing recognised: null, and the exit code alone must speak.
 */
export function createTestCounter(options: CountOptions = {}): TestCounter {
  const main = lane()
  /** Tools that run packages side by side put a name before each line; each name is an output of its own. */
  const lanes = new Map<string, RunnerCounter>()
  let silent = false
  return {
    line(text) {
      const bare = clean(text)
      main.line(bare)
      if (options.caches && bare.includes('cache hit, suppressing ')) silent = true
      const prefix = lanePrefix.exec(bare)?.[0]
      if (prefix === undefined) return
      const found = lanes.get(prefix) ?? (lanes.size < maxLanes ? lane() : null)
      if (!found) return
      lanes.set(prefix, found)
      found.line(bare.slice(prefix.length))
    },
    end() {
      const total = sum([main.end(), ...[...lanes].map(([prefix, one]) => named(prefix, one.end()))])
      return silent ? { ...(total ?? emptyCounts()), partial: true } : total
    },
  }
}

export function countTests(output: string, options: CountOptions = {}): TestCounts | null {
  const counter = createTestCounter(options)
  for (const line of output.split('\n')) counter.line(line)
  return counter.end()
}

/** Two packages may have a test of the same name. */
function named(prefix: string, counts: TestCounts | null): TestCounts | null {
  return counts && { ...counts, names: counts.names.map(name => `${prefix.trim()} ${name}`) }
}

function lane(): RunnerCounter {
  const counters = runners.map(create => create())
  return {
    line(text) {
      for (const counter of counters) counter.line(text)
    },
    end: () => sum(counters.map(counter => counter.end())),
  }
}

function sum(all: (TestCounts | null)[]): TestCounts | null {
  const total = all.reduce<TestCounts | null>((so, one) => (one ? add(so, one) : so), null)
  return total && { ...total, names: total.names.slice(0, maxNames) }
}

const maxLanes = 64
const maxLine = 2000

/** pnpm: `packages/a test: …`, turbo: `@scope/a:test: …`, concurrently: `[test] …`, docker compose: `app-1  | …`. */
const lanePrefix =
  /^(?:[\w@./-]{1,80}[ :][\w.-]{0,30}(?:test|check|verify|ci|e2e|unit)[\w:.-]{0,40}: |\[(?!INFO|ERROR|WARN|DEBUG)[\w@./:-]{1,60}\]:? |[\w.-]{1,60} +\| )/u

/** Without colours and cursor movements; of a line that was written over, what stands there last. */
function clean(text: string): string {
  const short = text.length > maxLine ? text.slice(0, maxLine) : text
  const bare = short.includes('\u001b')
    ? short.replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/gu, '')
    : short
  return bare.includes('\r') ? (bare.split('\r').findLast(part => part !== '') ?? '') : bare
}
