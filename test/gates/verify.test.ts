import { describe, expect, it } from 'vitest'
import { gateCommands } from '../../src/gates/verify.ts'

describe('gateCommands', () => {
  it('gives the project’s commands first, then the task’s own, each once', () => {
    expect(gateCommands(['npm test', ' npm run lint ', 'npm test', ''], ['test -f a', 'test -f a'])).toEqual([
      { command: 'npm test', own: false },
      { command: 'npm run lint', own: false },
      { command: 'test -f a', own: true },
    ])
  })

  it('does not take a command of every task for a proof of this one', () => {
    expect(gateCommands(['npm test'], ['npm test'])).toEqual([{ command: 'npm test', own: false }])
  })

  it('keeps a task’s own commands when the project has none', () => {
    expect(gateCommands('none', ['./check.sh'])).toEqual([{ command: './check.sh', own: true }])
    expect(gateCommands('none', [])).toEqual([])
  })
})
