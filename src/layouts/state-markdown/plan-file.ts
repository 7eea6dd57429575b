import { isUtf8 } from 'node:buffer'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Project } from '../layout.ts'
import { type Plan, parsePlan } from './plan.ts'

/** Where a plan is looked for when nobody says where it is. */
export const planPlaces: readonly string[] = ['plan.md', 'docs/plan.md', 'PLAN.md']

/** The plan's path from the root; the first place when there is none yet. */
export function planPath({ root, settings }: Project): string {
  if (typeof settings.plan === 'string' && settings.plan !== '')
    return settings.plan.replaceAll('\\', '/').replace(/^(?:\.\/)+/u, '')
  return planPlaces.find(place => existsSync(join(root, place))) ?? planPlaces[0] ?? 'plan.md'
}

/** A file that is not UTF-8 is read byte by byte, so that it can be written as it was. */
export type PlanText = { text: string; encoding: 'utf8' | 'latin1' }

/** Null when the file is missing or no file at all. */
export function readPlanText(project: Project): PlanText | null {
  try {
    const bytes = readFileSync(join(project.root, planPath(project)))
    const encoding = isUtf8(bytes) ? 'utf8' : 'latin1'
    return { text: bytes.toString(encoding), encoding }
  } catch {
    return null
  }
}

export function readPlan(project: Project): Plan {
  return parsePlan(readPlanText(project)?.text ?? '')
}
