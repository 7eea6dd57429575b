/** Something out of the ordinary that only git itself can judge. Thrown before anything is changed. */
export class OnlyGitKnows extends Error {}

/** Null when git must do it. */
export function unlessOnlyGit<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    if (error instanceof OnlyGitKnows) return null
    throw error
  }
}
