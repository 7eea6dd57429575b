import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { progressFile } from './progress-file.ts'
import { readStateFile, stateFile } from './state-file.ts'

/**
 * What the seed's own files say is done: `state.json`, or where that is gone or broken, the `[DONE]` lines of
 * `progress.txt` (S4-64). The specs' `status` is only ever written, as in the seed.
 */
export function recordedStories(root: string): { id: string; source: string }[] {
  const stored = readStateFile(root)
  if (stored.kind === 'ok') return stored.state.completed_stories.map(id => ({ id, source: stateFile }))
  return doneLines(root).map(id => ({ id, source: progressFile }))
}

const doneLine = /^[ \t\ufeff]*\[DONE\] Story (\d+(?:\.\d+)+)(?!\w)/gmu

/** Only at the start of a line: a learning or a reason may quote such a line. */
function doneLines(root: string): string[] {
  let text: string
  try {
    text = readFileSync(join(root, progressFile), 'utf8')
  } catch {
    return []
  }
  return [...new Set([...text.matchAll(doneLine)].map(match => match[1] ?? ''))]
}
