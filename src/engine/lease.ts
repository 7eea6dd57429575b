import { UserError } from '../core/errors.ts'
import { ago } from '../core/text.ts'
import { thisHost, thisProcess } from '../store/alive.ts'
import { type Dispatch, type LeaseInfo, worktreeKey } from '../store/dispatch.ts'
import type { Fence } from '../store/log.ts'
import type { Clock } from './clock.ts'

/** The right to work in this worktree. While it is held it is renewed; when it is lost, `lost` aborts and the holder must touch nothing more. */
export type Lease = {
  fence: Fence
  takenFrom: LeaseInfo | null
  lost: AbortSignal
  /** Agents are kept alive only while the last renewal is fresh. */
  fresh(): boolean
  /** Throws `LeaseLost` unless the lease is certainly still ours. Called before anything that changes the tree. */
  assertHeld(): Promise<void>
  /** The same, but the store is asked in any case. */
  confirm(): Promise<void>
  /** The same by our own clock alone, for the last moment before a write. */
  assertNotOver(): void
  release(): Promise<void>
}

export class LeaseLost extends UserError {
  override name = 'LeaseLost'

  constructor() {
    super(
      'this Ralph lost its lease: it showed no sign of life for too long, and another one took over this folder',
      'Nothing was changed since then. `ralph status` shows how the other one gets on.',
    )
  }
}

/** Whatever went wrong: when the lease is gone, that is what is to be told. */
export async function orLeaseLost(lease: Lease, error: unknown): Promise<unknown> {
  const lost = await lease.confirm().catch((why: unknown) => why)
  return lost instanceof LeaseLost ? lost : error
}

export async function takeLease(options: {
  dispatch: Dispatch
  clock: Clock
  ttl: number
  leash: number
  what: string
  /** Wait for another holder instead of giving up, until this aborts. */
  waitFor: AbortSignal | null
  /** The preset's own words for whoever finds another at work on this machine. */
  refusal?: (pid: number) => string
}): Promise<Lease> {
  const { dispatch, clock, ttl, leash, what, waitFor } = options
  const holder = thisProcess(what)
  let claim = await dispatch.claim(worktreeKey, holder, ttl, clock.now())
  while (!claim.ok) {
    if (!waitFor || waitFor.aborted) throw heldBy(claim.by, clock.now(), options.refusal)
    await clock.sleep(50, waitFor)
    claim = await dispatch.claim(worktreeKey, holder, ttl, clock.now())
  }
  const { token } = claim
  const lost = new AbortController()
  let renewed = clock.now()

  const renew = async (): Promise<boolean> => {
    const asked = clock.now()
    const held = await dispatch.heartbeat(worktreeKey, token, ttl, asked)
    if (held) renewed = asked
    else lost.abort(new LeaseLost())
    return held
  }
  const confirm = async () => {
    if (lost.signal.aborted || !(await renew())) throw new LeaseLost()
  }
  const timer = setInterval(
    () => {
      // A database that cannot be written is not a lost lease; the next append will say what is wrong.
      renew().catch(() => undefined)
    },
    Math.max(50, Math.floor(Math.min(ttl / 4, leash / 3))),
  )
  timer.unref()

  return {
    fence: { key: worktreeKey, token },
    takenFrom: claim.takenFrom,
    lost: lost.signal,
    fresh: () => !lost.signal.aborted && clock.now() - renewed < leash,
    // By our own clock nobody can have taken it yet; after a freeze or a sleep the store is asked.
    assertHeld: async () => {
      if (lost.signal.aborted || clock.now() - renewed >= ttl / 2) await confirm()
    },
    confirm,
    assertNotOver: () => {
      if (lost.signal.aborted || clock.now() - renewed >= ttl) throw new LeaseLost()
    },
    release: async () => {
      clearInterval(timer)
      if (!lost.signal.aborted) await dispatch.release(worktreeKey, token)
    },
  }
}

function heldBy(by: LeaseInfo, now: number, refusal?: (pid: number) => string): UserError {
  const here = by.host === thisHost()
  const where = here ? `pid ${by.pid}` : `pid ${by.pid} on ${by.host}`
  return new UserError(
    here && refusal
      ? refusal(by.pid)
      : `another Ralph works in this folder: ${by.what} (${where}, for ${ago(now - by.since)})`,
    'Wait for it, stop it with `ralph cancel`, or work beside it with `ralph run --worktree <name>`.',
  )
}
