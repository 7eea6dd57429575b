import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../config/settings.ts'
import { commonNames, templateProblems } from '../core/prompt.ts'
import type { Layout, Problem, Project } from '../layouts/layout.ts'

/** Mistakes in the project's own prompt templates, with file and line; a name nobody fills in would be an empty place. */
export function promptProblems(layout: Layout, project: Project, settings: Settings): Problem[] {
  const folder = join(project.root, settings.prompts)
  if (!existsSync(folder)) return []
  const used = new Set([
    ...Object.keys(layout.templates),
    ...Object.values(settings.workflow.stages).flatMap(stage =>
      stage.kind === 'agent' ? [stage.prompt] : [],
    ),
  ])
  const builtIn = Object.values(layout.templates).join('\n')
  const names = [...commonNames, ...namesIn(builtIn)]
  return readdirSync(folder)
    .filter(name => name.endsWith('.md'))
    .flatMap((name): Problem[] => {
      const file = join(settings.prompts, name)
      if (!used.has(name.slice(0, -3)))
        return [
          {
            ...{ severity: 'warning', file, line: null, message: 'no stage uses this template' },
            fix: `Its name must be one of: ${[...used].join(', ')}.`,
          },
        ]
      return templateProblems(readFileSync(join(project.root, file), 'utf8'), names).map(
        ({ line, message }) => ({
          ...{ severity: 'error', file, line, message },
          fix: `Use one of: ${[...new Set(names)].sort().join(', ')}.`,
        }),
      )
    })
}

/** What the built-in templates use is known to be filled in. */
function namesIn(template: string): string[] {
  return [...template.matchAll(/\{\{[#^/]?([A-Za-z][\w.-]*)\}\}/gu)].map(match => match[1] ?? '')
}
