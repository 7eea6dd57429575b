import { git } from '../git/git.ts'
import type { Style } from '../reporters/style.ts'
import type { Store } from '../store/sqlite.ts'
import { nothingYet, openForLooking } from './look.ts'
import { type ProjectOption, projectRoot } from './project.ts'
import { emptyStatus, readStatus, type StatusData } from './status-data.ts'
import { statusText } from './status-view.ts'
import { printJson, terminal } from './terminal.ts'
import { watch } from './watch.ts'

export type StatusOptions = ProjectOption & { json?: boolean; all?: boolean; watch?: boolean }

/** Tasks of a kind that are listed without `--all`. */
const listed = 20

/** `ralph status`: where the backlog stands. Only looks, and is quick at it. */
export async function status(options: StatusOptions): Promise<void> {
  const root = projectRoot(options)
  const most = options.all ? Number.POSITIVE_INFINITY : listed
  const read = async (store: Store | null) =>
    store ? withoutMerged(root, await readStatus(store, { now: Date.now(), most })) : emptyStatus()
  if (options.watch) return watchStatus(root, options.json === true, read)

  const store = await openForLooking(root)
  try {
    const data = await read(store)
    if (options.json) printJson(data)
    else {
      const screen = terminal()
      screen.out(text(data, screen.style))
    }
  } finally {
    store?.close()
  }
}

/** What the user has merged since is no longer waiting. */
async function withoutMerged(root: string, data: StatusData): Promise<StatusData> {
  const unmerged: StatusData['unmerged'] = []
  for (const one of data.unmerged) {
    const { code } = await git({ cwd: root }, ['merge-base', '--is-ancestor', one.branch, 'HEAD'])
    if (code === 1) unmerged.push(one)
  }
  return { ...data, unmerged }
}

async function watchStatus(
  root: string,
  json: boolean,
  read: (store: Store | null) => Promise<StatusData>,
): Promise<void> {
  const screen = terminal()
  const redraw = screen.isTty && !json
  await watch({
    root,
    tick: redraw,
    show: async store => {
      const data = await read(store)
      if (json) return screen.out(`${JSON.stringify(data)}\n`)
      const view = text(data, screen.style)
      screen.out(redraw ? `\u001b[H\u001b[2J${view}\nCtrl-C ends this view, not the run.\n` : `${view}\n`)
    },
  })
}

function text(data: StatusData, style: Style): string {
  if (!data.journal) return `${nothingYet}\n  → next: ralph run\n`
  const width = Math.max(40, Math.min(process.stdout.columns ?? 160, 200) - 8)
  return statusText(data, { now: Date.now(), style, width })
}
