import { slugOf } from '../slug.ts'

/** One task of a plan, as its Markdown has it. Lines count from 0. */
export type PlanTask = {
  id: string
  /** What stands between `Task` and the colon. */
  number: string
  title: string
  /** The heading's line, and the line after the section's last. */
  line: number
  end: number
  needs: { text: string; line: number }[]
  verify: string[]
  allows: string[]
  status: { value: string; line: number } | null
  criteria: Criterion[]
  /** Lines of notes for Ralph whose value could not be read. */
  unread: { line: number; name: string }[]
}

export type Criterion = { line: number; text: string }

export type Plan = {
  lines: string[]
  tasks: PlanTask[]
  /** Ids that more than one task claims, with the line of the later one. */
  doubles: { id: string; line: number }[]
}

const taskHeading =
  /^(#{1,5})[ \t]+Task[ \t]+([\p{L}\p{N}][\p{L}\p{N}._-]*)[ \t]*(?::|[ \t][-–—])[ \t]*(.*)$/iu
const anyHeading = /^(#{1,6})(?:[ \t]|$)/u
const ownId = /[ \t]*\{#([A-Za-z0-9][\w.-]*)\}[ \t]*$/u

/**
 * `## Task 1: Title` begins a task; what follows, up to the next heading that is no deeper, is its spec. Code blocks are
 * never looked into.
 */
export function parsePlan(text: string): Plan {
  const lines = text
    .replace(/^(?:\ufeff|\u00ef\u00bb\u00bf)/u, '')
    .split('\n')
    .map(line => line.replace(/\r$/u, ''))
  const code = codeLines(lines)
  const tasks: PlanTask[] = []
  const taken = new Set<string>()
  const doubles: Plan['doubles'] = []
  for (const [line, text] of lines.entries()) {
    const [, marks = '', number = '', rest = ''] = code.has(line) ? [] : (taskHeading.exec(text) ?? [])
    if (number === '') continue
    const end = sectionEnd(lines, code, line, marks.length)
    const title = rest
      .replace(ownId, '')
      .replace(/[ \t]+#+[ \t]*$/u, '')
      .trim()
    const notes = readNotes(lines, code, line + 1, end)
    const wanted = ownId.exec(rest)?.[1] ?? notes.id ?? (slugOf(title) || `task-${slugOf(number)}`)
    if (taken.has(wanted)) doubles.push({ id: wanted, line })
    const id = freeId(wanted, taken)
    taken.add(id)
    const { needs, verify, allows, status, unread } = notes
    const criteria = readCriteria(lines, code, line + 1, end)
    tasks.push({ id, number, title: title || id, line, end, needs, verify, allows, status, criteria, unread })
  }
  return { lines, tasks, doubles }
}

/** The section of a task as it goes into prompts: without what only the tracker needs. */
export function specOf({ lines }: Plan, task: PlanTask): string {
  const body = lines
    .slice(task.line + 1, task.end)
    .filter((_, index) => index + task.line + 1 !== task.status?.line)
  return `Task ${task.number}: ${task.title}\n\n${body
    .join('\n')
    .replace(/\n{3,}/gu, '\n\n')
    .trim()}\n`
}

function sectionEnd(lines: string[], code: ReadonlySet<number>, from: number, depth: number): number {
  for (let line = from + 1; line < lines.length; line++) {
    const text = lines[line] ?? ''
    const marks = code.has(line) ? undefined : anyHeading.exec(text)?.[1]
    if (marks !== undefined && (marks.length <= depth || taskHeading.test(text))) return line
  }
  return lines.length
}

/** Lines that are code, the fences included. */
export function codeLines(lines: string[]): Set<number> {
  const code = new Set<number>()
  let fence = ''
  for (const [line, text] of lines.entries()) {
    const [, mark = '', rest = ''] = /^[ \t]*(`{3,}|~{3,})(.*)$/u.exec(text) ?? []
    if (fence !== '' || mark !== '') code.add(line)
    if (fence === '') fence = mark.startsWith('`') && rest.includes('`') ? '' : mark
    else if (mark.startsWith(fence) && rest.trim() === '') fence = ''
  }
  return code
}

type Notes = Pick<PlanTask, 'needs' | 'verify' | 'allows' | 'status' | 'unread'> & { id: string | null }

const note =
  /^[ \t]*(?:[-*][ \t]+)?(?:\*\*)?(Id|Status|Depends on|Verify|Allows)(?:\*\*)?:(?:\*\*)?[ \t]*(.*)$/iu

/** Lines like `Depends on: Task 1`, before the first heading within the section. */
function readNotes(lines: string[], code: ReadonlySet<number>, from: number, end: number): Notes {
  const found: Notes = { id: null, needs: [], verify: [], allows: [], status: null, unread: [] }
  for (let line = from; line < end; line++) {
    const text = lines[line] ?? ''
    if (code.has(line)) continue
    if (anyHeading.test(text)) break
    const [, name = '', value = ''] = note.exec(text) ?? []
    const quoted = [...value.matchAll(/`([^`]+)`/gu)].map(match => (match[1] ?? '').trim())
    switch (name.toLowerCase()) {
      case 'id':
        found.id ??= /^`?([A-Za-z0-9][\w.-]*)`?[ \t]*$/u.exec(value)?.[1] ?? null
        break
      case 'status':
        found.status ??= { value: value.trim(), line }
        break
      case 'depends on':
        found.needs.push(...listed(value).map(text => ({ text, line })))
        break
      // Prose may begin with this word, too: only what stands in backticks is run.
      case 'verify':
        if (quoted.length === 0) found.unread.push({ line, name: 'Verify' })
        found.verify.push(...quoted)
        break
      case 'allows':
        found.allows.push(...(quoted.length > 0 ? quoted : listed(value)))
        break
      default:
        break
    }
  }
  return found
}

function listed(value: string): string[] {
  return value
    .split(/,|;|\s+and\s+/iu)
    .map(one => one.replace(/[`*]/gu, '').trim().replace(/\.$/u, ''))
    .filter(one => one !== '' && !/^(?:none|nothing|-|—)$/iu.test(one))
}

const criteriaTitle =
  /^[ \t]*(?:#{1,6}[ \t]+)?(?:\*\*)?(?:Success|Acceptance) Criteria(?:\*\*)?:?(?:\*\*)?[ \t]*$/iu
const bullet = /^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S.*)$/u

/** The list under "Success Criteria", whether its items have boxes or not. */
function readCriteria(lines: string[], code: ReadonlySet<number>, from: number, end: number): Criterion[] {
  const criteria: Criterion[] = []
  let inside = false
  for (let line = from; line < end; line++) {
    const text = lines[line] ?? ''
    if (code.has(line)) continue
    if (criteriaTitle.test(text)) inside = true
    else if (anyHeading.test(text) || /^\*\*[^*]+\*\*:?[ \t]*$/u.test(text)) inside = false
    else if (inside) {
      const item = bullet.exec(text)?.[1]
      const last = criteria.at(-1)
      if (item !== undefined) criteria.push({ line, text: item.trim() })
      // A line that goes on where the one before it stopped.
      else if (last && text.trim() !== '' && /^[ \t]/u.test(text)) last.text += ` ${text.trim()}`
    }
  }
  return criteria
}

function freeId(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted
  for (let count = 2; ; count++) if (!taken.has(`${wanted}-${count}`)) return `${wanted}-${count}`
}
