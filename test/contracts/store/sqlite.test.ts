import { dispatchContract } from './dispatch-contract.ts'
import { driver, sqliteHome } from './home.ts'
import { logContract } from './log-contract.ts'

logContract(`sqlite (${driver})`, sqliteHome)
dispatchContract(`sqlite (${driver})`, sqliteHome)
