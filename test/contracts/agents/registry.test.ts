import { describe, expect, it } from 'vitest'
import { nearest } from '../../../src/agents/nearest.ts'
import { patternsFor } from '../../../src/agents/patterns.ts'
import { agentNames, findAgent } from '../../../src/agents/registry.ts'

const settings = { command: 'true', script: 'script.yaml', program: '/anywhere' }

describe('findAgent', () => {
  it('finds every agent by its name', async () => {
    for (const name of agentNames) expect((await findAgent(name, settings)).name).toBe(name)
    expect(agentNames).toEqual(expect.arrayContaining(['claude', 'command', 'scripted']))
  })

  it.each([
    ['cluade', "did you mean 'claude'?"],
    ['Claude', "did you mean 'claude'?"],
    ['toString', "there is no agent named 'toString'"],
  ])('refuses %s as a mistake of the user', async (name, message) => {
    await expect(findAgent(name)).rejects.toMatchObject({
      name: 'UserError',
      exitCode: 2,
      message: expect.stringContaining(message),
      fix: expect.stringContaining('claude'),
    })
  })

  it('does not guess at a word that is nothing like a name', async () => {
    await expect(findAgent('xyz')).rejects.toMatchObject({ message: "there is no agent named 'xyz'" })
  })

  it('refuses an agent that lacks what it needs', async () => {
    await expect(findAgent('command')).rejects.toMatchObject({
      name: 'UserError',
      fix: expect.stringContaining('command:'),
    })
    await expect(findAgent('scripted')).rejects.toMatchObject({
      name: 'UserError',
      fix: expect.stringContaining('script:'),
    })
  })

  it("puts the user's patterns before the agent's own, and refuses a broken one", async () => {
    const mine = { kind: 'infrastructure' as const, pattern: 'flux capacitor' }
    expect((await findAgent('claude', { patterns: [mine] })).patterns[0]).toEqual(mine)
    await expect(findAgent('claude', { patterns: [{ kind: 'limit', pattern: '(' }] })).rejects.toMatchObject({
      name: 'UserError',
      exitCode: 2,
    })
  })
})

describe('patternsFor', () => {
  it('holds only valid expressions for every agent', () => {
    for (const name of [...agentNames, 'unknown']) {
      for (const { pattern } of patternsFor(name)) expect(() => new RegExp(pattern, 'iu')).not.toThrow()
    }
  })
})

describe('nearest', () => {
  it.each([
    ['wrte', 'write'],
    ['wirte', 'write'],
    ['wait_for', 'wait-for'],
    ['q', null],
  ])('takes %s for %s', (word, meant) => {
    expect(nearest(word, ['write', 'wait-for', 'say'])).toBe(meant)
  })
})
