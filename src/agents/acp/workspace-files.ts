import { lstatSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { RequestError } from '@agentclientprotocol/sdk'
import { asAmount, asText, type JsonRecord } from '../json.ts'

const largestFile = 64 * 1024 * 1024

/** Reads and writes files for an agent, in the workspace and nowhere else, wherever links may lead. */
export function workspaceFiles(workspace: string, readOnly: boolean) {
  const root = realpathSync(workspace)
  const inside = (file: string) => file === root || file.startsWith(root + path.sep)

  const place = (request: JsonRecord): string => {
    const file = path.resolve(root, asText(request.path))
    const real = attempt(() => realPlace(file))
    // A link into nothing leads nowhere that could be trusted.
    if (!real || !inside(real)) throw RequestError.invalidParams(undefined, `${file} is not in the workspace`)
    return real
  }

  return {
    read(request: JsonRecord): { content: string } {
      const file = place(request)
      const found = statSync(file, { throwIfNoEntry: false })
      if (!found) throw RequestError.resourceNotFound(asText(request.path))
      if (!found.isFile()) throw RequestError.invalidParams(undefined, `${file} is not a file`)
      if (found.size > largestFile) throw RequestError.invalidParams(undefined, `${file} is too large`)
      return { content: lines(readFileSync(file, 'utf8'), asAmount(request.line), asAmount(request.limit)) }
    },
    write(request: JsonRecord): Record<string, never> {
      const file = place(request)
      if (readOnly) throw RequestError.invalidRequest(undefined, 'you may only read')
      mkdirSync(path.dirname(file), { recursive: true })
      writeFileSync(file, asText(request.content))
      return {}
    },
  }
}

/** Where a path leads, whether or not its last parts exist yet. */
function realPlace(file: string): string {
  if (lstatSync(file, { throwIfNoEntry: false })) return realpathSync(file)
  return path.join(realPlace(path.dirname(file)), path.basename(file))
}

/** `line` counts from 1. */
function lines(text: string, line: number | null, limit: number | null): string {
  if (line === null && limit === null) return text
  const from = Math.max(0, (line ?? 1) - 1)
  return text
    .split('\n')
    .slice(from, limit === null ? undefined : from + limit)
    .join('\n')
}

function attempt(find: () => string): string | null {
  try {
    return find()
  } catch {
    return null
  }
}
