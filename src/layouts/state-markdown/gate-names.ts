/** One id per gate; the seed writes the same gate in several ways, each in its place (C-36). */
type Names = { state: string; report: string; section: string }

const names: Record<string, Names> = {
  implement: { state: 'implement', report: 'implement', section: 'Implementer' },
  tests: { state: 'tests', report: 'tests', section: 'Test' },
  spec: { state: 'spec-review', report: 'spec-compliance', section: 'Spec Reviewer' },
  quality: { state: 'quality-check', report: 'code-quality', section: 'Quality Reviewer' },
}

/** A stage of somebody's own workflow goes by its own name. */
export function gateName(stage: string, place: 'state' | 'report'): string {
  return Object.hasOwn(names, stage) ? (names[stage]?.[place] ?? stage) : stage
}

export function sectionTitle(stage: string): string {
  const who = Object.hasOwn(names, stage) ? names[stage]?.section : undefined
  return `${who ?? stage} Output (verbatim)`
}

/** The stage that is meant by any of its names, or by the title of its section. */
export function stageNamed(text: string): string {
  const wanted = text.trim().toLowerCase()
  if (wanted === 'test') return 'tests'
  const found = Object.entries(names).find(([stage, { state, report, section }]) =>
    [stage, state, report, section.toLowerCase()].includes(wanted),
  )
  return found?.[0] ?? text.trim()
}
