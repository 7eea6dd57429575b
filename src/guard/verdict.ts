import type { CategoryName } from './categories.ts'

/** What the guard has to know of the place a command would run in. All paths absolute. */
export type GuardContext = {
  workspace: string
  cwd: string
  home: string
  /** Folders where deletion is fine, such as /tmp; the first one is what `$TMPDIR` stands for. */
  temp: string[]
  user?: string
}

export type GuardDenial = {
  verdict: 'deny'
  category: CategoryName
  /** One sentence: what it would do, why not, and what to do instead. */
  reason: string
  /** The command inside that was judged. */
  part: string
}

export type GuardVerdict = { verdict: 'allow' } | GuardDenial

/** What a rule answers when it objects. */
export type Refusal = { category: CategoryName; what: string }

export function refuse(category: CategoryName, what: string): Refusal {
  return { category, what }
}

/** Thrown, because one objection anywhere in the tree ends the whole walk. Caught in one place, the judge. */
export class Denied extends Error {
  readonly refusal: Refusal
  readonly part: string

  constructor(refusal: Refusal, part: string) {
    super(refusal.what)
    this.refusal = refusal
    this.part = part
  }
}
