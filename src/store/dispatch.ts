/**
 * Port: who may perform effects, and what people and other processes asked for. A lease names one holder per key (a
 * worktree); its token grows with every new holder, and the log refuses an append under an old token.
 */
export interface Dispatch {
  /** Takes the lease, or says who holds it. A holder that is dead (pid and start time, on this host) or expired is replaced at once. */
  claim(key: string, holder: Holder, ttl: number, now: number): Promise<Claim>
  /** True while the lease is still ours; false once it was taken over. */
  heartbeat(key: string, token: number, ttl: number, now: number): Promise<boolean>
  release(key: string, token: number): Promise<void>
  /** Who holds the lease, dead or alive; null when it was released. */
  holder(key: string): Promise<LeaseInfo | null>
  /** Stores a request; it is never only delivered. Returns its id. */
  file(request: NewRequest): Promise<number>
  /** Requests nobody has taken yet, oldest first. */
  pending(): Promise<StoredRequest[]>
  /** Marks a request as handled, with what came of it. False when somebody else already did. */
  take(id: number, result: string, now: number): Promise<boolean>
  /** The last requests, taken or not, newest first. */
  requests(limit: number): Promise<StoredRequest[]>
}

export type Holder = {
  host: string
  pid: number /** Start time of the process as the system counts it; tells a reused pid apart. */
  started: string
  what: string
}

export type Claim = { ok: true; token: number; takenFrom: LeaseInfo | null } | { ok: false; by: LeaseInfo }

export type LeaseInfo = Holder & { key: string; token: number; since: number; expires: number }

export type RequestKind = 'cancel' | 'pause' | 'resume' | 'retry' | 'steer' | 'stop'

export type NewRequest = { kind: RequestKind; task: string | null; text: string; by: string; at: number }

export type StoredRequest = NewRequest & { id: number; takenAt: number | null; result: string | null }

/** The lease on the folder itself: one engine works in a worktree at a time. */
export const worktreeKey = 'worktree'
