import { copyFileSync, rmSync } from 'node:fs'
import { openDatabase } from '../../../../src/store/database.ts'
import { inspectDatabase } from '../../../../src/store/doctor.ts'
import { openStore, type Store } from '../../../../src/store/sqlite.ts'
import { StoreError } from '../../../../src/store/store-error.ts'

// Writes bytes that are no text into one column after the other of a journal's copy, asks for all that a journal can
// be asked for, and says of each column what came of it. Before each it says which one it is: its last word, if it dies.
const [path = '', task = '', run = ''] = process.argv.slice(2)
const copy = `${path}.copy`

for (const column of columns()) {
  process.stdout.write(`begin ${column}\n`)
  for (const end of ['', '-wal', '-shm']) rmSync(`${copy}${end}`, { force: true })
  copyFileSync(path, copy)
  damage(column)
  const words = new Set<string>()
  let store: Store | null = null
  try {
    store = openStore(copy)
    for (const question of questions(store)) words.add(await answer(question))
  } catch (error) {
    words.add(word(error))
  } finally {
    store?.close()
  }
  words.add(`doctor: ${inspectDatabase(copy).type}`)
  process.stdout.write(`${column}: ${[...words].sort().join(', ')}\n`)
}

function columns(): string[] {
  const db = openDatabase(path, { readOnly: true })
  const sql = `select cast(m.name as blob) as name, cast(c.name as blob) as column from sqlite_master m, pragma_table_info(m.name) c
    where m.type = 'table' and m.name not like 'sqlite_%' and not (c.pk = 1 and lower(c.type) = 'integer') order by 1, 2`
  const found = db.all<{ name: string; column: string }>(sql)
  db.close()
  return found.map(({ name, column }) => `${name}.${column}`)
}

function damage(column: string): void {
  const [table, name] = column.split('.')
  const db = openDatabase(copy)
  db.exec(
    `update ${table} set ${name} = cast(x'7bfffe' as text) where rowid = (select max(rowid) from ${table})`,
  )
  db.close()
}

function questions({ log, dispatch, check }: Store): (() => unknown)[] {
  const all = async (rows: Iterable<unknown> | AsyncIterable<unknown>) => {
    for await (const _ of rows);
  }
  const holder = { host: 'h', pid: 1, started: 's', what: 'w' }
  return [
    () => log.task(task),
    () => log.tasks(),
    () => log.counts(),
    () => log.proofs(),
    () => all(log.candidates()),
    () => log.isDone(task),
    () => log.run(run),
    () => log.lastRun(),
    () => log.head(task),
    async () => log.verifyHead(task, (await log.head(task)) ?? { seq: 0, hash: '' }),
    () => all(log.events()),
    () => all(log.events({ stream: task })),
    () => all(log.events({ run })),
    () => log.lastId(),
    () => log.getNote('key'),
    () => dispatch.holder('key'),
    () => dispatch.pending(),
    () => dispatch.requests(10),
    () => check(),
    () => dispatch.claim('key', holder, 1, 0),
    () => dispatch.heartbeat('key', 1, 1, 0),
    () => dispatch.file({ kind: 'cancel', task: null, text: '', by: 'me', at: 0 }),
  ]
}

async function answer(question: () => unknown): Promise<string> {
  try {
    await question()
    return 'answered'
  } catch (error) {
    return word(error)
  }
}

function word(error: unknown): string {
  if (error instanceof StoreError) return error.reason
  return error instanceof Error ? `${error.name} ${error.message}` : String(error)
}
