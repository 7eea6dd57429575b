import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { oneLine } from '../../core/text.ts'
import type { Problem } from '../layout.ts'
import { isStoryId } from './story-id.ts'

export type Order = { file: string; ids: { id: string; line: number }[]; problems: Problem[] }

/**
 * The order a person has chosen: `specs/order.txt`, or else the `STORY_ORDER` array of the seed's own `ralph.sh`, so that
 * a project which ran that script goes on in its order. Null: natural order.
 */
export function readOrder(root: string): Order | null {
  const chosen = read(root, 'specs/order.txt')
  if (chosen !== null) return parseOrder('specs/order.txt', chosen)
  const script = read(root, 'ralph.sh')
  return script !== null && arrayStart.test(script) ? parseOrder('ralph.sh', script) : null
}

const arrayStart = /^[ \t]*(?:(?:export|readonly|declare -a|declare -ra) )?STORY_ORDER=\(/mu

/** Ids, one or several on a line, `#` for comments. Where a `STORY_ORDER=(…)` array stands, only what is inside counts. */
export function parseOrder(file: string, text: string): Order {
  const order: Order = { file, ids: [], problems: [] }
  const seen = new Map<string, number>()
  const array = arrayStart.exec(text)
  const begin = array ? array.index + array[0].length : 0
  let line = text.slice(0, begin).split('\n').length
  for (const row of text
    .slice(begin)
    .replace(/^\ufeff/u, '')
    .split('\n')) {
    const words = row.replace(/(?:^|\s)#.*$/u, '')
    const close = array ? words.indexOf(')') : -1
    for (const word of (close < 0 ? words : words.slice(0, close)).split(/[\s,"']+/u)) {
      if (word !== '') add(order, seen, word, line)
    }
    if (close >= 0) break
    line++
  }
  return order
}

function add(order: Order, seen: Map<string, number>, id: string, line: number): void {
  const { file, problems } = order
  const first = seen.get(id)
  if (!isStoryId(id)) {
    problems.push({
      severity: 'warning',
      file,
      line,
      message: `'${oneLine(id, 60)}' is not a story id`,
      fix: 'Write ids like 8.3, one per line; comments begin with #.',
    })
  } else if (first !== undefined) {
    problems.push({
      severity: 'warning',
      file,
      line,
      message: `story ${id} is listed twice, first on line ${first}`,
      fix: 'Remove one of the two lines.',
    })
  } else {
    seen.set(id, line)
    order.ids.push({ id, line })
  }
}

function read(root: string, file: string): string | null {
  try {
    return readFileSync(join(root, file), 'utf8')
  } catch {
    return null
  }
}
