// One at a time, across processes: a folder that only one can create. A holder that died is followed by exactly one other.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const pause = 100
const patience = 15 * 60_000
/** A folder without a word on its holder is being created right now, or its creator died at once. */
const nameless = 10_000

/** Runs the work while this process alone holds the lock; waits for a holder that is alive. */
export function withLock(folder, say, work) {
  const me = { pid: process.pid, started: startOf(process.pid) }
  take(folder, me, say)
  const leave = () => release(folder, me)
  process.once('exit', leave)
  try {
    work()
  } finally {
    process.off('exit', leave)
    leave()
  }
}

function take(folder, me, say) {
  const since = Date.now()
  let told = false
  for (;;) {
    if (create(folder, me)) return
    const holder = holderOf(folder)
    if (holder && isAlive(holder)) {
      if (!told) say(`waiting for process ${holder.pid}, which is at the same work`)
      told = true
    } else if (follow(folder, holder, me)) return
    if (Date.now() - since > patience)
      throw new Error(`${folder} is held for too long; remove it if nobody works here`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause)
  }
}

function create(folder, me) {
  try {
    mkdirSync(folder)
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
  writeHolder(folder, me)
  return true
}

/** Takes a dead holder's place. The file named after the dead can be created by one process only. */
function follow(folder, dead, me) {
  const age = Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
  if (!dead && age < nameless) return false
  try {
    writeFileSync(join(folder, `after-${dead?.pid ?? 'nobody'}-${dead?.started ?? ''}`), '', { flag: 'wx' })
  } catch {
    // Somebody else follows; if that one died too, right then, the folder is given up after a while.
    if (age > 6 * nameless) rmSync(folder, { recursive: true, force: true })
    return false
  }
  writeHolder(folder, me)
  return true
}

function writeHolder(folder, me) {
  const aside = join(folder, `holder-${me.pid}`)
  writeFileSync(aside, JSON.stringify(me))
  renameSync(aside, join(folder, 'holder'))
}

function holderOf(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'holder'), 'utf8'))
  } catch {
    return null
  }
}

function release(folder, me) {
  const holder = holderOf(folder)
  if (holder?.pid !== me.pid || holder.started !== me.started) return
  const gone = `${folder}-${me.pid}-gone`
  renameSync(folder, gone)
  rmSync(gone, { recursive: true, force: true })
}

function isAlive({ pid, started }) {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (error.code === 'ESRCH') return false
  }
  // A number that was given to another process since.
  const now = startOf(pid)
  return started === '' || now === '' || now === started
}

/** When the process began, as Linux counts it; empty where that cannot be read. */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}
