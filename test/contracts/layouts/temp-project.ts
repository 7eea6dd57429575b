import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach } from 'vitest'

const made: string[] = []

/** A project folder with these files; removed after each test. */
export function tempProject(files: Record<string, string | Uint8Array> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'ralph-layout-'))
  made.push(root)
  put(root, files)
  return root
}

export function put(root: string, files: Record<string, string | Uint8Array>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
}

/** Every file below the root with its bytes, as Latin-1 so that nothing is lost. */
export function snapshot(root: string): Record<string, string> {
  const files: Record<string, string> = {}
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()) {
    if (statSync(join(root, name)).isFile()) files[name] = readFileSync(join(root, name), 'latin1')
  }
  return files
}

export function restore(root: string, files: Record<string, string>): void {
  for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true, force: true })
  for (const [path, content] of Object.entries(files)) put(root, { [path]: Buffer.from(content, 'latin1') })
}

afterEach(() => {
  for (const root of made.splice(0)) rmSync(root, { recursive: true, force: true })
})
