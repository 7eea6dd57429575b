import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import { keepParsed, readParsed } from './parsed-cache.ts'
import type { Config } from './schema.ts'

export const configName = 'ralph.config.yaml'

/** Reads `ralph.config.yaml`; an absent file is an empty configuration. All problems are told at once, each with its line. */
export async function loadConfig(root: string): Promise<Config> {
  const path = join(root, configName)
  if (!existsSync(path)) return {}
  const text = readFileSync(path, 'utf8')
  const known = readParsed(text)
  if (known) return known
  const config = await parseConfig(text, configName)
  keepParsed(text, config)
  return config
}

export async function parseConfig(text: string, name: string): Promise<Config> {
  // Both are loaded only where there is something to read: they cost a third of a start.
  const [{ LineCounter, parseDocument }, { configSchema }] = await Promise.all([
    import('yaml'),
    import('./schema.ts'),
  ])
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const broken = document.errors[0]
  if (broken) {
    const { line } = lines.linePos(broken.pos[0])
    throw new UserError(
      `${name}:${line}: not valid YAML: ${broken.message.split('\n')[0]}`,
      `Correct line ${line} of ${name}.`,
      2,
    )
  }
  const result = configSchema.safeParse(document.toJS() ?? {})
  if (result.success) return result.data
  const problems = result.error.issues.map(issue => {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : []
    const path = [...issue.path, ...keys.slice(0, 1)].map(String)
    return `${name}:${lineOf(path)}: ${path.join('.') || 'the file'}: ${issue.message}`
  })
  throw new UserError(problems.join('\n'), `Correct ${name}; every key is described in docs/config.md.`, 2)

  function lineOf(path: string[]): number {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(
        path.slice(0, length).map(key => (/^\d+$/u.test(key) ? Number(key) : key)),
        true,
      )
      const range = (node as { range?: [number, number, number] } | undefined)?.range
      if (range) return lines.linePos(range[0]).line
    }
    return 1
  }
}
