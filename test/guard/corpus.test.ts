import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { categories } from '../../src/guard/categories.ts'
import { corpus, judge, moreCases } from './here.ts'
import { spoken, wrapped } from './ways.ts'

/** Verdicts of the corpus that we do not share, each with the reason. */
const exceptions: Record<string, string> = {}

const denied = corpus.filter(one => one.verdict === 'deny')
const allowed = corpus.filter(one => one.verdict === 'allow')

/** What went wrong, as lines; a diff of hundreds of verdicts is of no use. */
function wrong(commands: readonly string[], verdict: 'allow' | 'deny'): string[] {
  return commands.filter(command => judge(command).verdict !== verdict)
}

describe('the corpus', () => {
  it('is large enough to say something', () => {
    expect(denied.length).toBeGreaterThanOrEqual(349)
    expect(allowed.length).toBeGreaterThanOrEqual(201)
  })

  it('S1-51 G-07 denies what is dangerous', () => {
    const found = denied.filter(one => judge(one.command).verdict === 'allow').map(one => one.id)
    expect(found.filter(id => !Object.hasOwn(exceptions, id))).toEqual([])
  })

  it('S1-51 G-07 allows what is not', () => {
    const found = allowed.filter(one => judge(one.command).verdict === 'deny').map(one => one.id)
    expect(found.filter(id => !Object.hasOwn(exceptions, id))).toEqual([])
  })

  it('names the category, but where two fit', () => {
    const same = denied.filter(one => {
      const verdict = judge(one.command)
      return verdict.verdict === 'deny' && verdict.category === one.category
    })
    expect(same.length / denied.length).toBeGreaterThan(0.94)
  })
})

describe('cases beside the corpus', () => {
  it('S1-51 denies what is dangerous', () => {
    expect(moreCases.deny.length).toBeGreaterThan(700)
    expect(wrong(moreCases.deny, 'deny')).toEqual([])
  })

  it('S1-51 allows what agents do all day', () => {
    expect(moreCases.allow.length).toBeGreaterThan(400)
    expect(wrong(moreCases.allow, 'allow')).toEqual([])
  })
})

describe('G-07 the categories', () => {
  it('are more than eighteen, and the corpus has cases of each kind of danger', () => {
    expect(categories.length).toBeGreaterThanOrEqual(18)
    const known = new Set<string>(categories.map(({ name }) => name))
    expect([...new Set(denied.map(one => one.category))].filter(name => !known.has(name))).toEqual([])
  })

  it.each(categories.map(category => [category.name, category] as const))(
    '%s: its examples hold',
    (name, category) => {
      expect(category.examples.length).toBeGreaterThan(0)
      expect(category.allowed.length).toBeGreaterThan(0)
      for (const example of category.examples)
        expect(judge(example), example).toMatchObject({ verdict: 'deny', category: name })
      for (const example of category.allowed) expect(judge(example), example).toEqual({ verdict: 'allow' })
    },
  )

  it('S1-146 are told in the docs', () => {
    const text = readFileSync(new URL('../../docs/guard.md', import.meta.url), 'utf8')
    expect(categories.filter(({ name }) => !text.includes(`| \`${name}\` |`))).toEqual([])
    for (const part of ['never the wall', 'What it can never see', 'False alarms', 'Wiring it by hand'])
      expect(text).toContain(part)
  })

  it('every denial says what, and what to do instead', () => {
    for (const { command } of denied) {
      const verdict = judge(command)
      if (verdict.verdict !== 'deny') continue
      const category = categories.find(({ name }) => name === verdict.category)
      expect(verdict.reason, command).toMatch(/^\S.{15,}: \S.*\.$/su)
      expect(verdict.reason, command).toContain(category?.instead)
      expect(verdict.part, command).not.toBe('')
    }
  })
})

describe('G-07 evasion: every denied command stays denied', () => {
  it.each(Object.entries(wrapped))('%s', (_, wrap) => {
    expect(
      wrong(
        denied.map(one => wrap(one.command)),
        'deny',
      ),
    ).toEqual([])
  })
})

describe('G-07 false positives: a dangerous command that is only text stays allowed', () => {
  it.each(Object.entries(spoken))('%s', (_, speak) => {
    expect(
      wrong(
        denied.map(one => speak(one.command)),
        'allow',
      ),
    ).toEqual([])
  })
})

describe('G-07 false positives: what is allowed stays allowed in all these ways', () => {
  // With these the text changes its meaning: a comment is no command, `{}` is filled in.
  const plain = allowed.filter(one => one.technique !== 'comment' && !one.command.includes('{}'))

  it.each(Object.entries(wrapped))('%s', (_, wrap) => {
    expect(
      wrong(
        plain.map(one => wrap(one.command)),
        'allow',
      ),
    ).toEqual([])
  })
})
