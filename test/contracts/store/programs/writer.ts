import { Conflict } from '../../../../src/store/log.ts'
import { openStore } from '../../../../src/store/sqlite.ts'
import { Journal, newTask } from '../journal.ts'

// Appends to one shared stream and to one of its own, and says after each append that it was kept.
// argv: database, own name, number of events (0 = until it is killed)
const [path = '', name = '', count = '0'] = process.argv.slice(2)
// SQLite's lock is not fair: among writers that never pause, one may wait for long.
const store = openStore(path, { busyTimeout: 60_000 })
const journal = new Journal(store.log, name)
await journal.start().catch(ignoreConflict)
await journal.add(newTask(name)).catch(ignoreConflict)
process.stdout.write('ready\n')
await new Promise(resolve => process.stdin.once('data', resolve))

for (let n = 1; count === '0' || n <= Number(count); n++) {
  await journal.write(name, { type: 'task.steered', text: `${n}` })
  process.stdout.write(`kept ${name} ${journal.seqs.get(name)}\n`)
  await share(`${name} ${n}`)
}
store.close()
process.exit(0)

/** Tries until it has the next number of the shared stream. */
async function share(text: string): Promise<void> {
  for (;;) {
    const shared = await store.log.task('shared')
    const head = (shared?.seq ?? 0) + 1
    if (!shared) throw new Error('no shared task')
    // A moment for the others to be faster.
    await new Promise(resolve => setImmediate(resolve))
    journal.folds.tasks.set('shared', shared.state)
    journal.seqs.set('shared', shared.seq)
    try {
      await journal.write('shared', { type: 'task.steered', text })
      process.stdout.write(`kept shared ${head}\n`)
      return
    } catch (error) {
      ignoreConflict(error)
    }
  }
}

function ignoreConflict(error: unknown): void {
  if (!(error instanceof Conflict)) throw error
}
