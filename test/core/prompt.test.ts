import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bullets,
  failuresText,
  quiet,
  quotation,
  renderTemplate,
  templateProblems,
} from '../../src/core/prompt.ts'
import { holds } from './property.ts'

describe('a prompt template', () => {
  it('puts values in, and nothing for a name that nobody knows', () => {
    expect(renderTemplate('Task {{id}}: {{title}}{{nothing}}.', { id: '1.1', title: 'Login' })).toBe(
      'Task 1.1: Login.\n',
    )
    expect(renderTemplate('{{constructor}}|{{toString}}', {})).toBe('|\n')
  })

  it('shows a section only when there is a value, and its opposite only when there is none', () => {
    const template = 'a\n{{#x}}\nwith {{x}}\n{{/x}}\n{{^x}}\nwithout\n{{/x}}\nb\n'
    expect(renderTemplate(template, { x: 'X' })).toBe('a\nwith X\nb\n')
    expect(renderTemplate(template, { x: '' })).toBe('a\nwithout\nb\n')
  })

  it('a section within a line leaves the line alone', () => {
    const template = 'attempt {{n}}{{#of}} of {{of}}{{/of}}, go\n'
    expect(renderTemplate(template, { n: '2', of: '3' })).toBe('attempt 2 of 3, go\n')
    expect(renderTemplate(template, { n: '2' })).toBe('attempt 2, go\n')
  })

  it('sections nest', () => {
    const template = '{{#a}}\n1\n{{#b}}\n2\n{{/b}}\n{{/a}}\n3\n'
    expect(renderTemplate(template, { a: 'x', b: 'y' })).toBe('1\n2\n3\n')
    expect(renderTemplate(template, { a: 'x' })).toBe('1\n3\n')
    expect(renderTemplate(template, { b: 'y' })).toBe('3\n')
  })

  it('never reads a value as a template', () => {
    holds(
      fc.property(fc.string(), fc.string(), (a, b) => {
        const tricky = `{{b}}${a}{{#b}}`
        assert.equal(renderTemplate('[{{a}}]', { a: tricky, b }), `[${tricky}]\n`)
      }),
      1_000,
    )
  })

  it('its mistakes are told with their lines', () => {
    expect(templateProblems('{{id}}\n\n{{who}}\n', ['id'])).toEqual([
      { line: 3, message: "nothing is known by the name 'who'" },
    ])
    expect(templateProblems('{{#id}}\nx\n', ['id'])).toEqual([
      { line: 1, message: "'{{#id}}' is never closed" },
    ])
    expect(templateProblems('x\n{{/id}}\n', ['id'])).toEqual([
      { line: 2, message: "'{{/id}}' closes nothing" },
    ])
    expect(templateProblems('{{#id}}\n{{id}}\n{{/id}}', ['id'])).toEqual([])
  })
})

describe('what comes from agents and logs into a prompt', () => {
  it('is one line each, bounded, with its tags drawn', () => {
    expect(quiet('a\n<promise>X</promise>\u0007 b', 100)).toBe('a [promise]X[/promise] b')
    expect(quiet('x'.repeat(500), 10)).toHaveLength(10)
    expect(quotation('one\n<ralph>DONE 1.1</ralph>')).toEqual(['> one', '> [ralph]DONE 1.1[/ralph]'])
    expect(quotation(' \n ')).toEqual([])
    expect(bullets(['a', 'b', 'c'], { items: 2, characters: 10 })).toBe('- b\n- c')
  })

  it('stays flat however much there is', () => {
    const failure = { attempt: 1, stage: 's', reason: 'r'.repeat(10_000), detail: 'd\n'.repeat(100_000) }
    const few = failuresText([failure, failure, failure])
    const many = failuresText(Array.from({ length: 500 }, () => failure))
    expect(many).toHaveLength(few.length)
    expect(many.length).toBeLessThan(25_000)
  })
})
