import { oneLine } from '../../core/text.ts'

/** `8.3`, `8.3.1`: the epic's number, the story's, and any finer ones. */
const id = /^\d+(?:\.\d+)+$/u
const fileName = /^story-(\d+(?:\.\d+)+)(?:-(.*))?\.md$/u

export function isStoryId(text: string): boolean {
  return id.test(text)
}

/** `8.3` → `8`. */
export function epicOf(story: string): string {
  return story.split('.')[0] ?? ''
}

export type SpecName = { id: string; slug: string }

export function parseSpecName(name: string): SpecName | null {
  const match = fileName.exec(name)
  return match ? { id: match[1] ?? '', slug: match[2] ?? '' } : null
}

/** The slug made readable: `add-user-login` → `Add user login` (S4-18). */
export function titleOf({ id, slug }: SpecName): string {
  const words = readable(slug)
  return words === '' ? `Story ${id}` : words.charAt(0).toUpperCase() + words.slice(1)
}

function readable(slug: string): string {
  return oneLine(slug.replace(/[-_\p{Cc}]+/gu, ' '))
}

/** Number by number, so that 1.2 comes before 1.10 and epic 9 before epic 10. */
export function compareIds(a: string, b: string): number {
  return compareParts(partsOf(a), partsOf(b)) || (a < b ? -1 : a > b ? 1 : 0)
}

export function sortById<T extends { id: string; path: string }>(items: T[]): T[] {
  // The numbers are read once per item, not once per comparison.
  const keyed = items.map(item => ({ item, parts: partsOf(item.id) }))
  keyed.sort((a, b) => compareParts(a.parts, b.parts) || (a.item.path < b.item.path ? -1 : 1))
  return keyed.map(({ item }) => item)
}

function partsOf(id: string): number[] {
  return id.split('.').map(Number)
}

function compareParts(a: number[], b: number[]): number {
  for (let at = 0; at < a.length || at < b.length; at++) {
    const difference = (a[at] ?? -1) - (b[at] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}
