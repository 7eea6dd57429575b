import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { Task } from '../core/task.ts'
import { writeFileAtomic } from '../store/atomic-file.ts'
import { parseFrontMatter, setFrontMatterField } from './front-matter.ts'
import type { JournalView, Layout, Problem, Project } from './layout.ts'
import { storyBacklog } from './stories/backlog.ts'
import { checkSpec } from './stories/check-spec.ts'
import { newStory } from './stories/new-story.ts'
import { openProgress, progressLines } from './stories/progress-file.ts'
import { storyTemplates, storyValues } from './stories/prompt.ts'
import { recordedStories } from './stories/recorded.ts'
import { findSpec } from './stories/scan.ts'
import { storiesSkeleton } from './stories/skeleton.ts'
import { writeStateFile } from './stories/state-file.ts'
import { epicOf } from './stories/story-id.ts'

/**
 * Seed 4: `specs/epic-N/story-N.M-*.md`, `.ralph/state.json`, `progress.txt`. Byte-compatible with its `ralph.sh`: either
 * can go on where the other stopped. Settings: `contextFile` (another file than CLAUDE.md, or false for none) and
 * `agents` (their names; without `claude` among them AGENTS.md will do as well).
 */
export const stories: Layout = {
  name: 'stories',
  owned: ['.ralph/**', '/progress.txt', '/ralph.log'],
  state: ['.ralph/state.json', 'progress.txt'],

  prerequisites: ({ root, settings }) => [...missingContext(root, settings), ...missingSpecs(root)],

  read({ root }) {
    const { tasks, missing, problems } = storyBacklog(root, false)
    return { tasks, missing, problems }
  },

  spec: specText,

  /** In the seed's order: what was learnt, state.json, the spec's status, the progress line. */
  async write({ root }, journal) {
    mkdirSync(join(root, '.ralph'), { recursive: true })
    const lines = progressLines(journal)
    const ends = lines.findIndex(line => line.type !== 'learn')
    const early = ends < 0 ? lines.length : ends
    const progress = openProgress(root, lines)
    progress.append(lines.slice(0, early))
    await writeStateFile(root, journal.tasks)
    await writeStatuses(root, journal)
    progress.append(lines.slice(early))
  },

  recorded: ({ root }) => recordedStories(root),

  templates: storyTemplates,

  values: (_project, facts) => storyValues(facts),

  skeleton: storiesSkeleton,

  rehearsal: [
    {
      do: [
        { write: { path: 'rehearsal/{{task}}.md', text: 'Written in a rehearsal of story {{task}}.\n' } },
        { commit: { message: 'Rehearse story {{task}}', paths: ['rehearsal/{{task}}.md'] } },
        { done: true },
      ],
    },
  ],

  create: ({ root }, { id, title }) => newStory({ root, id, title }),

  validate({ root }) {
    const { files, problems } = storyBacklog(root, true)
    const done = new Set(recordedStories(root).map(one => one.id))
    const all = [...problems, ...files.flatMap(file => checkSpec(root, file, done.has(file.id)))]
    return all.sort((a, b) => (a.file === b.file ? (a.line ?? 0) - (b.line ?? 0) : a.file < b.file ? -1 : 1))
  },
}

function missingContext(root: string, settings: Project['settings']): Problem[] {
  const { contextFile, agents } = settings
  if (contextFile === false) return []
  const others = Array.isArray(agents) && !agents.includes('claude') ? ['AGENTS.md'] : []
  const wanted = typeof contextFile === 'string' ? [contextFile] : ['CLAUDE.md', ...others]
  if (wanted.some(file => existsSync(join(root, file)))) return []
  const names = wanted.join(' or ')
  const fix = `Write ${names} with what an agent must know of this project, or set \`context: false\` in ralph.config.yaml.`
  return [{ severity: 'error', file: wanted[0] ?? '', line: null, message: `${names} not found`, fix }]
}

function missingSpecs(root: string): Problem[] {
  if (statSync(join(root, 'specs'), { throwIfNoEntry: false })?.isDirectory()) return []
  const fix = 'Begin with `ralph new story 1.1 "…"`, which makes it.'
  return [{ severity: 'error', file: 'specs', line: null, message: 'no specs/ directory', fix }]
}

/** Read anew for each attempt (S4-19). */
function specText({ root }: Project, task: Task): string {
  const path = specPath(root, task)
  if (path !== null) return readFileSync(path, 'utf8').replace(/^\ufeff/u, '')
  const place = `specs/epic-${epicOf(task.id)}/story-${task.id}-*.md`
  throw new UserError(
    `no spec for story ${task.id}: ${place}`,
    `Write it (\`ralph new story ${task.id} "…"\`), or remove the story.`,
  )
}

/** A spec that was renamed since the backlog was read is found by its id. */
function specPath(root: string, task: Task): string | null {
  const places = [task.spec, findSpec(root, task.id)].flatMap(place => (place ? [join(root, place)] : []))
  return places.find(place => statSync(place, { throwIfNoEntry: false })?.isFile()) ?? null
}

/** `status: done` for what was just finished; `pending` again for a finished story that is to be done anew. */
async function writeStatuses(root: string, { events }: JournalView): Promise<void> {
  const last = new Map(events.map(({ task, after }) => [task, after]))
  const reopened = new Set(
    events.flatMap(({ task, event }) => (event.type === 'task.reopened' ? [task] : [])),
  )
  for (const [id, { task, status, evidence }] of last) {
    if (status === 'done' && evidence.recorded === undefined) await writeStatus(root, task, () => 'done')
    if (status === 'open' && reopened.has(id))
      await writeStatus(root, task, now => (now === 'done' ? 'pending' : now))
  }
}

async function writeStatus(root: string, task: Task, choose: (now: string) => string): Promise<void> {
  const path = specPath(root, task)
  if (path === null) return
  const bytes = readFileSync(path)
  const utf8 = bytes.toString('utf8')
  // A file that is not UTF-8 is edited byte by byte, or it would come back changed.
  const encoding = Buffer.from(utf8).equals(bytes) ? 'utf8' : 'latin1'
  const text = bytes.toString(encoding)
  const now = parseFrontMatter(text).fields.get('status')?.items[0] ?? ''
  const wanted = choose(now)
  if (wanted !== now)
    await writeFileAtomic(path, Buffer.from(setFrontMatterField(text, 'status', wanted), encoding))
}
