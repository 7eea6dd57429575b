import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Project, Skeleton, SkeletonOptions } from '../layout.ts'
import { newStoryFile } from './new-story.ts'

/** A context file and a first story; a project that has specs already keeps them. */
export function storiesSkeleton({ root }: Project, { name, verify }: SkeletonOptions): Skeleton {
  const story = existsSync(join(root, 'specs')) ? null : newStoryFile('1.1', name || 'First story')
  const pointer = existsSync(join(root, 'AGENTS.md'))
  return {
    about: 'stories in specs/epic-N/story-N.M-title.md, one after the other',
    files: {
      // Claude Code reads other files by `@name`, so that the project's rules stand in one place.
      'CLAUDE.md': pointer ? '@AGENTS.md\n' : contextText(verify),
      ...(story ? { [story.path]: story.text } : {}),
    },
    next: [
      ...(existsSync(join(root, 'CLAUDE.md'))
        ? []
        : ['fill in CLAUDE.md: what an agent must know of this project']),
      ...(story ? [`write the first story: ${story.path} (more: ralph new story 1.2 "…")`] : []),
    ],
  }
}

function contextText(verify: string[] | null): string {
  return `# About this project

What an agent must know before it changes anything. Keep it short; it is read with every attempt.

## What it is

…

## Commands

${(verify ?? ['…']).map(command => `- \`${command}\`: all checks; must be green before a story is done`).join('\n')}

## Rules

- Change only what the story asks for.
- Every story comes with tests.
- Commit finished work with a message that names the story.
`
}
