import { openStore } from '../../../../src/store/sqlite.ts'

// Opens the database that is named, with the driver that Ralph chooses itself, and says which one that was.
const [path = ''] = process.argv.slice(2)
const store = openStore(path)
await store.log.setNote('opened', 'yes')
process.stdout.write(`driver ${store.driver}\n`)
store.close()
