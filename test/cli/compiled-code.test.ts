import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import module from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newerNode } from '../helpers/newer-node.ts'
import { program } from '../helpers/ralph.ts'

/** What is kept between starts is for speed alone: with it, without it and with a broken one, all is the same. */

let folder: string
let cache: string
let project: string

/** A copy of the built program, so that nobody else's starts are in the way. */
beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'ralph-compiled-')))
  cpSync(path.dirname(program), path.join(folder, 'dist'), {
    recursive: true,
    filter: from => path.basename(from) !== 'cache',
  })
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
  symlinkSync(modules, path.join(folder, 'node_modules'))
  cache = path.join(folder, 'dist', 'cache')
  project = mkdtempSync(path.join(folder, 'project-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function ralph(...args: string[]): string {
  return start(process.execPath, 'ralph.js', args)
}

function start(node: string, name: string, args: string[], input = ''): string {
  return execFileSync(node, [path.join(folder, 'dist', name), ...args], {
    input,
    cwd: project,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    encoding: 'utf8',
    stdio: 'pipe',
  })
}

const isNode20 = !('enableCompileCache' in module)

describe('compiled code', () => {
  it('is kept by the first start, and fits the next one', () => {
    const first = ralph('demo')
    if (!isNode20) return expect(readdirSync(cache).length).toBeGreaterThan(0)
    const names = readdirSync(cache).filter(name => !name.startsWith('config-'))
    expect(names.length).toBeGreaterThan(3)
    const chunks = path.join(folder, 'dist', 'chunks')
    const engine = readdirSync(chunks).find(name => name.startsWith('engine-')) ?? ''
    const code = readFileSync(path.join(chunks, engine), 'utf8')
    const kept = names.filter(name => name.startsWith(path.basename(engine, '.js')))
    expect(kept.length).toBeGreaterThan(0)
    for (const name of kept) {
      const cachedData = readFileSync(path.join(cache, name)).subarray(8)
      expect(new Script(module.wrap(code), { cachedData }).cachedDataRejected, name).toBe(false)
    }
    expect(ralph('--version')).toMatch(/^\d/)
    expect(first).toContain('done')
  })

  it('that is damaged, cut or empty is not believed, and replaced', () => {
    const said = ralph('--help')
    const files = readdirSync(cache).map(name => path.join(cache, name))
    const whole = new Map(files.map(file => [file, readFileSync(file)]))
    const harm = [
      (data: Buffer) => data.fill(0x55, 200, 900),
      (data: Buffer) => data.subarray(0, 300),
      () => Buffer.alloc(0),
    ]
    for (const [index, file] of files.entries())
      writeFileSync(file, harm[index % 3]?.(Buffer.from(whole.get(file) ?? [])) ?? '')
    expect(ralph('--help')).toBe(said)
    if (isNode20) for (const file of files) expect(readFileSync(file).length).toBeGreaterThan(300)
  })

  it('of another text of the same length is not used', () => {
    expect(ralph('--help')).toContain('see it work')
    const chunks = path.join(folder, 'dist', 'chunks')
    for (const name of readdirSync(chunks)) {
      const file = path.join(chunks, name)
      const code = readFileSync(file, 'utf8')
      if (code.includes('see it work')) writeFileSync(file, code.replaceAll('see it work', 'new it work'))
    }
    expect(ralph('--help')).toContain('new it work')
  })

  it('is left to Node itself where it can do that; all works there, too', () => {
    const node = newerNode()
    expect(start(node, 'ralph.js', ['demo'])).toContain('2 of 2 tasks done with evidence')
    const kept = readdirSync(cache)
    expect(kept.some(name => name.startsWith('v22'))).toBe(true)
    expect(start(node, 'ralph.js', ['--help'])).toContain('see it work')
    const call = JSON.stringify({ tool_name: 'Bash', tool_input: { command: 'sudo ls' }, cwd: project })
    for (let round = 0; round < 2; round++)
      expect(start(node, 'guard-start.js', [], call)).toContain('"permissionDecision":"deny"')
  })

  it('is not needed: where no folder can be made, all works', () => {
    writeFileSync(cache, 'in the way')
    expect(ralph('--help')).toContain('see it work')
    expect(ralph('--help')).toContain('see it work')
    expect(readFileSync(cache, 'utf8')).toBe('in the way')
  })
})

describe('a configuration that was read before', () => {
  const config = (text: string) => writeFileSync(path.join(project, 'ralph.config.yaml'), text)
  const kept = () => (existsSync(cache) ? readdirSync(cache) : []).filter(name => name.startsWith('config-'))

  it('gives the same, is read anew when one byte differs, and a broken note of it is nothing', () => {
    config('verify: ["true"]\nlimits: { timeout: 90s }\nagent: { command: [cat] }\npreset: stories\n')
    const said = (...args: string[]) => {
      try {
        return ralph(...args)
      } catch (error) {
        return String((error as { stdout: string }).stdout)
      }
    }
    ralph('--help')
    const first = said('validate')
    expect(kept()).toHaveLength(1)
    expect(said('validate')).toBe(first)
    writeFileSync(path.join(cache, kept()[0] ?? ''), '{ "verify"')
    expect(said('validate')).toBe(first)
    expect(first).toContain('errors')

    config('verify: ["true"]\nlimits: { timeout: 90s }\nagent: { command: [cut] }\npreset: waterfall\n')
    expect(said('validate')).toContain('waterfall')
    config('verify: ["true"]\nlimits: { timeout: never }\n')
    expect(said('validate')).toMatch(/ralph\.config\.yaml:2.*timeout/)
    expect(kept()).toHaveLength(2)
  })

  it('is kept for some projects only', () => {
    ralph('--help')
    for (let n = 0; n < 55; n++) writeFileSync(path.join(cache, `config-${n}`), '{}')
    config('verify: ["true"]\n')
    try {
      ralph('validate')
    } catch {}
    expect(kept()).toHaveLength(50)
  })
})
