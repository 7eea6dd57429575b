/** What the command line and the environment may override. */
export type Overrides = {
  preset?: string
  agent?: string
  script?: string
  model?: string
  iterations?: number
  attempts?: number
  timeout?: number
  idle?: number
  cost?: number
  log?: string
  sandbox?: string
  branch?: string
  cleanGates?: boolean
  verify?: string[] | 'none'
  extraArgs?: string[]
  skipReview?: boolean
  reviewCap?: number
  timeFactor?: number
  layout?: Record<string, unknown>
}
