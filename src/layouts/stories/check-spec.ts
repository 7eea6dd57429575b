import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { oneLine } from '../../core/text.ts'
import { parseFrontMatter } from '../front-matter.ts'
import type { Problem } from '../layout.ts'
import type { SpecFile } from './spec-facts.ts'

/** Ralph writes `done`; the others are common words for a story that is still to be done. */
const statuses = ['pending', 'todo', 'ready', 'in-progress', 'in_progress', 'blocked', 'done']

/** A spec goes whole into every prompt. */
const heavy = 100 * 1024

const criteria =
  /^[ \t]*(?:#{1,6}[ \t]+|\*\*|__)?.{0,40}\bacceptance criteria\b|^#{1,6}[ \t]+(?:ACs?|acceptance)\b/imu

/** What can be said of one spec by reading it, for `ralph validate` (G-20). `recorded`: the seed's files say it is done. */
export function checkSpec(root: string, file: SpecFile, recorded: boolean): Problem[] {
  let bytes: Buffer
  try {
    bytes = readFileSync(join(root, file.path))
  } catch {
    return [
      {
        severity: 'error',
        file: file.path,
        line: null,
        message: 'cannot be read',
        fix: 'Make it a readable file.',
      },
    ]
  }
  const problems: Problem[] = []
  const add = (severity: Problem['severity'], line: number | null, words: { message: string; fix: string }) =>
    problems.push({ severity, file: file.path, line, ...words })

  if (!isUtf8(bytes))
    add('error', brokenLine(bytes), { message: 'is not UTF-8', fix: 'Save the file as UTF-8.' })
  if (bytes.length > heavy) {
    const size = Math.round(bytes.length / 1024)
    add('warning', null, {
      message: `is ${size} KB long, and all of it goes into every prompt`,
      fix: 'Split the story, or move reference material to a file of its own.',
    })
  }
  const front = parseFrontMatter(bytes.toString('utf8'))
  if (!front.present) {
    add('warning', 1, {
      message: 'has no front matter',
      fix: 'Begin the file with `---`, `status: pending`, `---`.',
    })
  }
  const status = front.fields.get('status')
  const word = oneLine(status?.items[0] ?? '', 40)
  if (front.present && word === '') {
    add('warning', status?.line ?? 1, {
      message: 'has no status',
      fix: 'Add `status: pending` to the front matter.',
    })
  } else if (word !== '' && !statuses.includes(word.toLowerCase())) {
    add('warning', status?.line ?? null, {
      message: `unknown status '${word}'; it counts as pending`,
      fix: 'Use `pending` or `done`.',
    })
  } else if (word.toLowerCase() === 'done' && !recorded) {
    add('warning', status?.line ?? null, {
      message: 'says done, but no record of it exists; it will be run',
      fix: 'Set `status: pending`, or add the id to .ralph/state.json before the first run.',
    })
  }
  if (front.body.trim() === '')
    add('error', front.bodyLine, {
      message: 'says nothing beyond its front matter',
      fix: 'Describe the story and its acceptance criteria.',
    })
  else if (!criteria.test(front.body)) {
    add('warning', front.bodyLine, {
      message: 'has no acceptance criteria',
      fix: 'Add a section `## Acceptance Criteria` that says when the story is done.',
    })
  }
  return problems
}

/** UTF-8 is broken first in the line whose bytes are not valid on their own. */
function brokenLine(bytes: Buffer): number {
  let line = 1
  for (let at = 0; at < bytes.length; line++) {
    const end = bytes.indexOf(10, at)
    const stop = end < 0 ? bytes.length : end
    if (!isUtf8(bytes.subarray(at, stop))) return line
    at = stop + 1
  }
  return line
}
