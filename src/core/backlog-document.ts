/**
 * A backlog that agents edit themselves (`tasks.json` of the preset `reviewed`): its shape, and whether a text has it.
 * Pure and without imports, because the agent's own stop hook reads it with the same code.
 */
export type BacklogDocument = {
  project: string
  branchName: string
  description: string
  verifyCommands?: unknown
  userStories: Story[]
}

export type Story = {
  id: string
  title: string
  description?: unknown
  acceptanceCriteria: unknown[]
  priority: number
  passes: boolean
  reviewStatus: ReviewStatus
  reviewCount: number
  reviewFeedback: string
  notes?: unknown
  dependsOn?: unknown
}

export type ReviewStatus = null | 'needs_review' | 'changes_requested' | 'approved'

/** `document`: null when it cannot be worked with. A story that is done without notes can be read all the same. */
export type ReadDocument = { document: BacklogDocument | null; problems: DocumentProblem[] }

/** `story`: the id, or the place of a story without one; empty when the whole file is meant. */
export type DocumentProblem = { story: string; field: string; message: string }

/** Check 1: exists, is JSON, has every field, no id twice, no finished story without a word on what was done. */
export function readDocument(text: string | null, name = 'tasks.json'): ReadDocument {
  if (text === null) return broken(name, `${name} does not exist.`)
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\ufeff/u, ''))
  } catch (error) {
    return broken(
      name,
      `${name} is not valid JSON: ${error instanceof Error ? error.message : 'unreadable'}.`,
    )
  }
  if (!isRecord(value)) return broken(name, `${name} must be a JSON object.`)
  const problems = shapeProblems(value, name)
  if (problems.length > 0) return { document: null, problems }
  const document = value as BacklogDocument
  return { document, problems: document.userStories.flatMap(undocumented) }
}

function broken(field: string, message: string): ReadDocument {
  return { document: null, problems: [{ story: '', field, message }] }
}

function shapeProblems(value: Record<string, unknown>, name: string): DocumentProblem[] {
  const problems: DocumentProblem[] = []
  const add = (field: string, message: string) => problems.push({ story: '', field, message })
  for (const field of ['project', 'branchName', 'description']) {
    if (typeof value[field] !== 'string') add(field, `${name}: '${field}' must be a string.`)
  }
  const { userStories } = value
  if (!Array.isArray(userStories)) {
    add('userStories', `${name}: 'userStories' must be an array.`)
    return problems
  }
  const seen = new Set<unknown>()
  for (const [index, story] of userStories.entries()) {
    problems.push(...storyProblems(story, index))
    const id = isRecord(story) ? story.id : undefined
    if (typeof id === 'string' && seen.has(id))
      problems.push({ story: id, field: 'id', message: `Story ${id}: the id is used more than once.` })
    seen.add(id)
  }
  return problems
}

const statuses: readonly unknown[] = [null, 'needs_review', 'changes_requested', 'approved']

const fields: readonly { field: string; holds: (value: unknown) => boolean; must: string }[] = [
  { field: 'id', holds: isText, must: 'must be a non-empty string' },
  { field: 'title', holds: isText, must: 'must be a non-empty string' },
  { field: 'passes', holds: value => typeof value === 'boolean', must: 'must be true or false' },
  {
    field: 'priority',
    holds: value => typeof value === 'number' && Number.isFinite(value),
    must: 'must be a number',
  },
  {
    field: 'acceptanceCriteria',
    holds: value => Array.isArray(value) && value.length > 0,
    must: 'must be a non-empty array',
  },
  {
    field: 'reviewStatus',
    holds: value => statuses.includes(value),
    must: 'must be null, "needs_review", "changes_requested" or "approved"',
  },
  {
    field: 'reviewCount',
    holds: value => Number.isSafeInteger(value) && Number(value) >= 0,
    must: 'must be a non-negative integer',
  },
  { field: 'reviewFeedback', holds: value => typeof value === 'string', must: 'must be a string' },
]

function storyProblems(story: unknown, index: number): DocumentProblem[] {
  const place = `userStories[${index}]`
  if (!isRecord(story)) return [{ story: place, field: place, message: `${place} must be an object.` }]
  const name = isText(story.id) ? String(story.id) : place
  return fields
    .filter(({ field, holds }) => !holds(Object.hasOwn(story, field) ? story[field] : undefined))
    .map(({ field, must }) => ({ story: name, field, message: `Story ${name}: '${field}' ${must}.` }))
}

function undocumented(story: Story): DocumentProblem[] {
  if (!story.passes || isText(story.notes)) return []
  const message = `Story ${story.id}: 'notes' is empty although passes=true. Say what was done.`
  return [{ story: story.id, field: 'notes', message }]
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
