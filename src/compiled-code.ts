import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { basename, dirname, join, sep } from 'node:path'
import { Script } from 'node:vm'

/**
 * Keeps the compiled form of our own files between starts: without it a third of every start goes into compiling the
 * same code again. It lies in the program's own folder and nowhere else, so whoever can change it can change the program
 * as well; where that folder cannot be written, nothing is kept and nothing is lost.
 */
export function keepCompiled(program: string, command: string | undefined): void {
  const cache = openCache(program, command)
  // Node 22 and later can do it.
  const { enableCompileCache } = Module as unknown as { enableCompileCache?: (folder: string) => unknown }
  if (enableCompileCache) return void enableCompileCache(cache.folder)
  const loader = (Module as unknown as { prototype: Loader }).prototype
  const compile = loader._compile
  loader._compile = function (this: Loader, code: string, file: string) {
    if (!file.startsWith(program + sep)) return compile.call(this, code, file)
    return cache
      .load(code, file)
      .call(this.exports, this.exports, id => this.require(id), this, file, dirname(file))
  }
}

/** Runs one file that stands alone, without all that Node does to find a module. */
export function runCompiled(file: string, command: string): void {
  const program = dirname(file)
  const exports = {}
  openCache(program, command)
    .load(readFileSync(file, 'utf8'), file)
    .call(exports, exports, createRequire(file), { exports }, file, program)
}

type Loader = {
  _compile(code: string, file: string): unknown
  require(id: string): unknown
  exports: unknown
}

/** As Node wraps a CommonJS module. */
type Wrapped = (
  this: unknown,
  exports: unknown,
  require: (id: string) => unknown,
  module: unknown,
  file: string,
  folder: string,
) => unknown

type Cache = { folder: string; load(code: string, file: string): Wrapped }

/** `size`: of what was kept before. */
type Kept = { script: Script; place: string; size: number }

function openCache(program: string, command: string | undefined): Cache {
  const folder = join(program, 'cache')
  const kept: Kept[] = []
  process.once('exit', () => {
    try {
      save(folder, kept)
    } catch {
      // Read-only, or full: the next start compiles again.
    }
  })
  return {
    folder,
    load: (code, file) => {
      const place = join(folder, nameOf(file, command))
      const earlier = readKept(place)
      const wrapped = (Module as unknown as { wrap(code: string): string }).wrap(code)
      const script = new Script(wrapped, { filename: file, ...(earlier ? { cachedData: earlier } : {}) })
      kept.push({ script, place, size: script.cachedDataRejected ? 0 : (earlier?.length ?? 0) })
      return script.runInThisContext() as Wrapped
    },
  }
}

/** Commands that are started often; each uses other parts of the same files. */
const often = new Set(['run', 'step', 'status', 'hook'])

/**
 * V8 itself looks at nothing but the length of the code, so the name must say which file it is of and which state of it:
 * the time of the last change of state is new with every build and every installation. And for which Node.
 */
function nameOf(file: string, command: string | undefined): string {
  const { size, mtimeMs, ctimeMs } = statSync(file)
  const what = `${basename(file, '.js')}-${size}-${mtimeMs}-${ctimeMs}`
  return `${what}-${often.has(command ?? '') ? command : 'any'}-${process.version}-${process.arch}`
}

/** V8 believes what it is given and dies of damage, so a digest comes before it. */
function readKept(path: string): Buffer | undefined {
  try {
    const found = readFileSync(path)
    const data = found.subarray(digestLength)
    return found.subarray(0, digestLength).equals(digestOf(data)) ? data : undefined
  } catch {
    return undefined
  }
}

const digestLength = 8

/**
 * Of every eighth word, so that no page that was lost goes unnoticed. Against damage, not against malice: whoever can write
 * here can write the program. A real digest would cost a hook more time than is saved.
 */
function digestOf(bytes: Buffer): Buffer {
  const whole = bytes.byteOffset % 4 === 0 ? bytes : Buffer.from(new Uint8Array(bytes).buffer)
  const words = new Int32Array(whole.buffer, whole.byteOffset, whole.length >> 2)
  let a = whole.length
  let b = 0x9e3779b9
  // Plain, because it runs before anything is compiled well.
  for (let at = 0; at < words.length; at += 8) {
    const word = words[at] ?? 0
    a = Math.imul(a ^ word, 0x01000193)
    b = Math.imul(b ^ word, 0x27d4eb2f) ^ (b >>> 15)
  }
  return Buffer.from(new Int32Array([a, b]).buffer)
}

/** What has run for a while has met more of its code than the one that was refused at once. */
const aWhile = 2
const worthIt = 1.1
const daysKept = 14

function save(folder: string, kept: readonly Kept[]): void {
  const missing = kept.filter(one => one.size === 0)
  const grown = process.uptime() > aWhile ? kept : missing
  if (grown.length === 0) return
  mkdirSync(folder, { recursive: true })
  for (const { script, place, size } of grown) {
    const data = script.createCachedData()
    if (data.length < size * worthIt) continue
    const draft = `${place}.${process.pid}`
    writeFileSync(draft, Buffer.concat([digestOf(data), data]))
    renameSync(draft, place)
  }
  if (missing.length > 0) dropOld(folder)
}

/** What other versions have left. */
function dropOld(folder: string): void {
  const before = Date.now() - daysKept * 24 * 3600 * 1000
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (statSync(path).mtimeMs < before) rmSync(path, { force: true })
  }
}
