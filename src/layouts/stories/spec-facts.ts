import { parseFrontMatter } from '../front-matter.ts'
import type { SpecName } from './story-id.ts'

/** What Ralph takes from a spec's front matter. All else in there is for the agent (S4-69). */
export type SpecFacts = {
  status: string
  needs: string[]
  /** Line of `depends_on`; null when the spec has none. */
  needsLine: number | null
  verify: string[]
  allows: string[]
  priority: number | null
  problems: FactProblem[]
}

export type SpecFile = SpecName & {
  /** From the project root, with `/`. */
  path: string
  /** Number of the folder it lies in: `8` for `epic-8`. */
  epic: string
  facts: SpecFacts
}

/** `unusable`: a field that Ralph uses could not be read, so it counts as absent. */
export type FactProblem = { line: number; message: string; fix: string; unusable: boolean }

const listForm = 'Write it on one line, e.g. `depends_on: ["7.4"]`, or as a list of `- item` lines.'

export function specFacts(text: string): SpecFacts {
  const front = parseFrontMatter(text)
  const problems: FactProblem[] = front.problems.map(({ line, field, message }) => ({
    line,
    message: `front matter: ${message}`,
    fix: 'Write each field as `name: value`, once.',
    unusable: used.includes(field),
  }))
  const items = (name: string): string[] => {
    const field = front.fields.get(name)
    if (field?.kind === 'other' && !problems.some(problem => problem.line === field.line)) {
      problems.push({
        line: field.line,
        message: `'${name}' is written in a form that Ralph does not read`,
        fix: listForm,
        unusable: true,
      })
    }
    return [...new Set((field?.items ?? []).map(item => item.trim()))].filter(item => item !== '')
  }
  const priority = items('priority')[0] ?? ''
  return {
    status: items('status')[0] ?? '',
    needs: items('depends_on'),
    needsLine: front.fields.get('depends_on')?.line ?? null,
    verify: items('verify'),
    allows: items('allows'),
    priority: /^\d+$/u.test(priority) ? Number(priority) : null,
    problems,
  }
}

const used = ['status', 'depends_on', 'verify', 'allows']
