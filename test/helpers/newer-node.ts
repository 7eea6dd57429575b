import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const version = '22.23.3'
const cache = fileURLToPath(new URL('../../.cache/', import.meta.url))

/** The path of a Node that has its own SQLite. It comes from npm, once, into the git-ignored `.cache` folder. */
export function newerNode(): string {
  const name = `node-${process.platform}-${process.arch}`
  const folder = join(cache, 'node22')
  const program = join(folder, 'node_modules', name, 'bin', 'node')
  if (!existsSync(program)) install(`${name}@${version}`, folder)
  if (execFileSync(program, ['--version'], { encoding: 'utf8' }).trim() === `v${version}`) return program
  throw new Error(`${program} is another version than ${version}; remove ${folder} and run again`)
}

/** Into a folder of its own first, so that two test runs at once do not meet half of it. */
function install(spec: string, folder: string): void {
  const part = `${folder}-${process.pid}`
  const args = ['install', '--prefix', part, '--no-save', '--no-audit', '--no-fund', spec]
  console.log(`Installing ${spec} into ${folder} for the tests of Node's own SQLite`)
  try {
    mkdirSync(part, { recursive: true })
    execFileSync('npm', args, { stdio: 'pipe' })
    if (!existsSync(folder)) renameSync(part, folder)
  } catch (error) {
    throw new Error(`A newer Node is needed for this test. Run: npm ${args.with(2, folder).join(' ')}`, {
      cause: error,
    })
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}
