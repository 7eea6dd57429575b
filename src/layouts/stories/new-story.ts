import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { oneLine } from '../../core/text.ts'
import { slugOf } from '../slug.ts'
import { findSpec } from './scan.ts'
import { epicOf, isStoryId } from './story-id.ts'

/** Writes a valid skeleton of a story and returns its path from the project root. Folders are made on demand (G-17). */
export function newStory({ root, id, title }: { root: string; id: string; title: string }): string {
  const { path, text } = newStoryFile(id, title)
  const taken = existsSync(join(root, path)) ? path : findSpec(root, id)
  if (taken !== null)
    throw new UserError(`story ${id} exists already: ${taken}`, 'Edit that file, or choose another id.')
  mkdirSync(join(root, 'specs', `epic-${epicOf(id)}`), { recursive: true })
  writeFileSync(join(root, path), text, { flag: 'wx' })
  return path
}

export function newStoryFile(id: string, title: string): { path: string; text: string } {
  const name = oneLine(title.replace(/\p{Cc}+/gu, ' '))
  const slug = slugOf(name)
  if (!isStoryId(id)) throw new UserError(`'${id}' is not a story id`, 'Write it as epic.story, e.g. 8.3.', 2)
  if (slug === '')
    throw new UserError(
      `story ${id} needs a title`,
      `For example: ralph new story ${id} "Add user login".`,
      2,
    )
  return { path: `specs/epic-${epicOf(id)}/story-${id}-${slug}.md`, text: skeleton(id, name) }
}

function skeleton(id: string, title: string): string {
  return `---
status: pending
priority: medium
estimation: medium
depends_on: []
---

# Story ${id}: ${title}

As a …, I want …, so that …

## Acceptance Criteria

1. Given …, when …, then …

## Tests

- …

## Notes

Files to look at, decisions taken, what is out of scope.
`
}
