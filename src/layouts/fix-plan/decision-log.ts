import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { spokenLines } from '../../core/signals.ts'
import { oneLine } from '../../core/text.ts'
import { specFolder } from './task-file.ts'

export function decisionLog(spec: string): string {
  return `${specFolder(spec)}decision-log.md`
}

/**
 * What the decision log tells of deviations from the spec (S0-67): its headings of the second level and below; the log
 * of the seed's own plugin has `## DEC-001: …`, and where there is one such, only those count.
 */
export function deviationsIn(root: string, spec: string): string[] {
  let text: string
  try {
    text = readFileSync(join(root, decisionLog(spec)), 'utf8')
  } catch {
    return []
  }
  const headings = [...withoutCode(text).matchAll(/^#{2,6}[ \t]+(\S.*)$/gmu)].map(match =>
    oneLine(match[1] ?? ''),
  )
  const numbered = headings.filter(one => /^\W*DEC-\d+/iu.test(one))
  return numbered.length > 0 ? numbered : headings
}

/** Without code blocks and quotations; no more of it than a person would read. */
export function withoutCode(text: string): string {
  return spokenLines(text.slice(0, 200_000), '').join('\n')
}
