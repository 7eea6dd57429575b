import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { newerNode } from '../../helpers/newer-node.ts'
import { temporaryFolder } from './home.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const config = 'test/contracts/store/node-sqlite.config.ts'

describe("Node's own SQLite", () => {
  it('passes the same tests under a newer Node', { timeout: 180_000 }, () => {
    const folder = temporaryFolder()
    const report = join(folder, 'report.json')
    const args = [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--config',
      config,
      '--reporter=json',
      `--outputFile=${report}`,
    ]
    const { status, stderr } = spawnSync(newerNode(), args, {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, RALPH_SQLITE: 'node', NODE_OPTIONS: '' },
    })
    const tests = readReport(report, stderr).testResults.flatMap(one => one.assertionResults)
    rmSync(folder, { recursive: true })
    const failed = tests.filter(test => test.status !== 'passed')
    expect(failed.map(test => `${test.fullName}: ${test.failureMessages.join('\n')}`)).toEqual([])
    expect(tests.length).toBeGreaterThan(80)
    expect(tests.filter(test => !test.fullName.includes('(node)'))).toEqual([])
    expect(status).toBe(0)
  })
})

function readReport(path: string, stderr: string): Report {
  if (!existsSync(path)) throw new Error(`the tests did not run:\n${stderr}`)
  return JSON.parse(readFileSync(path, 'utf8')) as Report
}

type Report = {
  testResults: { assertionResults: { fullName: string; status: string; failureMessages: string[] }[] }[]
}
