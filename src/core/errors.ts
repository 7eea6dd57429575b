/** A mistake of the user or of his environment: one line that says what is wrong and where, one that says what to do next. Never a stack trace. */
export class UserError extends Error {
  override name = 'UserError'
  readonly fix: string
  /** 1: not complete, lock, prerequisite · 2: wrong usage or configuration. */
  readonly exitCode: 1 | 2

  constructor(message: string, fix: string, exitCode: 1 | 2 = 1) {
    super(message)
    this.fix = fix
    this.exitCode = exitCode
  }
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
