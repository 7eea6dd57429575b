import { newRunState } from '../core/run.ts'
import type { Rules } from '../core/transition.ts'
import type { JournalView } from '../layouts/layout.ts'
import { openForLooking, withStore } from './look.ts'

/** The journal as a layout sees it, for somebody who only looks; without a journal nothing has happened yet. */
export async function storedView(root: string, rules: Rules): Promise<JournalView> {
  const store = await openForLooking(root)
  const known = store
    ? await withStore(store, async ({ log }) => ({
        tasks: (await log.tasks()).map(one => one.state),
        run: await log.lastRun(),
      }))
    : { tasks: [], run: null }
  return {
    tasks: known.tasks,
    events: [],
    attempts: rules.workflow.limits.attempts ?? 0,
    rules,
    run: known.run ?? newRunState('none'),
    end: known.run?.end ?? null,
    now: Date.now(),
  }
}
