import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Holder } from './dispatch.ts'

/** The process runs, but when it began cannot be found out. */
export const unknownStart = 'unknown'

/**
 * When a process began, as the system counts it: with the pid it names one process for ever. Null when there is no
 * such process (or only its remains).
 */
export function processStart(pid: number): string | null {
  const start = process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid)
  if (start !== undefined) return start
  return exists(pid) ? unknownStart : null
}

/** This process as the holder of a lease. */
export function thisProcess(what: string): Holder {
  return { host: thisHost(), pid: process.pid, started: processStart(process.pid) ?? unknownStart, what }
}

/** Whether the holder is surely gone. One on another host is never known to be. */
export function isDead(holder: Holder, host: string): boolean {
  if (holder.host !== host) return false
  const start = processStart(holder.pid)
  if (start === null) return true
  return start !== unknownStart && holder.started !== unknownStart && start !== holder.started
}

/** Pids mean nothing in another container, so a container counts as a host of its own. */
export function thisHost(): string {
  const namespace = pidNamespace()
  return namespace === null ? hostname() : `${hostname()} (${namespace})`
}

/** The first namespace of a Linux system has the same number everywhere. */
const firstPidNamespace = 'pid:[4026531836]'

function pidNamespace(): string | null {
  try {
    const name = readlinkSync('/proc/self/ns/pid')
    return name === firstPidNamespace ? null : name
  } catch {
    return null
  }
}

/** Null for the remains of a process, undefined when the system does not say. */
function startFromProc(pid: number): string | null | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program stands in brackets and may hold anything; fields are counted from behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return isRemains(fields[0]) ? null : fields[19]
  } catch {
    return undefined
  }
}

/** Any POSIX system has `ps`; the clock and language are fixed so that two processes read the same text. */
export function startFromPs(pid: number): string | null | undefined {
  try {
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' }
    const text = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env,
      stdio: 'pipe',
    })
    const [state, ...start] = text.trim().split(/\s+/)
    return isRemains(state?.[0]) ? null : start.join(' ') || undefined
  } catch {
    return undefined
  }
}

function isRemains(state: string | undefined): boolean {
  return state === 'Z' || state === 'X'
}

/** A process of another user cannot be signalled, but it is there. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
