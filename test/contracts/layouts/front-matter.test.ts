import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMap, isScalar, isSeq, parseDocument } from 'yaml'
import { type Field, parseFrontMatter, setFrontMatterField } from '../../../src/layouts/front-matter.ts'

function fieldOf(lines: string, name = 'depends_on'): Field | undefined {
  return parseFrontMatter(`---\n${lines}\n---\nbody\n`).fields.get(name)
}

describe('parseFrontMatter', () => {
  it('S4-68 reads the fields of the seed', () => {
    const front = parseFrontMatter(
      '---\nstatus: pending\npriority: high\nestimation: 3\ndepends_on: ["7.4"]\nfrs: [FR1, FR2]\n---\n\n# Story\n',
    )
    expect([...front.fields].map(([name, field]) => [name, field.line, field.items])).toEqual([
      ['status', 2, ['pending']],
      ['priority', 3, ['high']],
      ['estimation', 4, ['3']],
      ['depends_on', 5, ['7.4']],
      ['frs', 6, ['FR1', 'FR2']],
    ])
    expect(front).toMatchObject({ present: true, problems: [], bodyLine: 8, body: '\n# Story\n' })
  })

  it.each([
    ['depends_on: ["7.4", \'7.5\', 7.10]', ['7.4', '7.5', '7.10']],
    ['depends_on: 7.10', ['7.10']],
    ['depends_on: "7.10"  # the login', ['7.10']],
    ['depends_on:\n  - 7.10\n  - "8.1" # why\n', ['7.10', '8.1']],
    ['depends_on:\n- 7.10\n- 8.20', ['7.10', '8.20']],
    ['depends_on: [\n  "7.4",\n  7.10,\n]', ['7.4', '7.10']],
    ['depends_on: []', []],
    ['depends_on:', []],
    ['depends_on: ~', []],
    ['depends_on : [7.10]', ['7.10']],
    ['"depends_on": [7.10]', ['7.10']],
  ])('keeps the raw text of ids in %j', (lines, items) => {
    expect(fieldOf(lines)?.items).toEqual(items)
    expect(fieldOf(lines)?.kind).not.toBe('other')
  })

  it.each([
    'depends_on: &anchor [7.4]',
    'depends_on: {a: b}',
    'depends_on: |\n  7.4',
    'depends_on: [7.4, [7.5]]',
    'depends_on: "two\n  lines"',
    'depends_on:\n  a: 1',
    'depends_on: 7.4\n  7.5',
  ])('does not guess at %j', lines => {
    expect(fieldOf(lines)).toMatchObject({ kind: 'other', items: [], line: 2 })
  })

  it('names the line of what is no field, of a field twice, and of a missing space', () => {
    const front = parseFrontMatter('---\nstatus: pending\n???\nstatus: done\ndepends_on:["7.4"]\n---\n')
    expect(front.problems.map(({ line, field }) => [line, field])).toEqual([
      [3, ''],
      [4, 'status'],
      [5, 'depends_on'],
    ])
    expect(front.fields.get('status')?.items).toEqual(['pending'])
  })

  it('sees no front matter in a file that only begins with a rule, or never closes it', () => {
    expect(parseFrontMatter('# Title\n---\nstatus: x\n---\n').present).toBe(false)
    expect(parseFrontMatter('---\nstatus: pending\n').present).toBe(false)
    expect(parseFrontMatter('').present).toBe(false)
    expect(parseFrontMatter('\ufeff---\r\nstatus: pending\r\n---\r\nx').fields.get('status')?.items).toEqual([
      'pending',
    ])
  })

  it('agrees with YAML wherever it claims to know a value', () => {
    let known = 0
    fc.assert(
      fc.property(fewLines, lines => {
        const text = [...lines, 'end: 1'].join('\n')
        const document = parseDocument(text, { logLevel: 'silent' })
        const front = parseFrontMatter(`---\n${text}\n---\n`)
        // Broken YAML has no right answer; it is only required that nothing is thrown.
        if (document.errors.length > 0 || !isMap(document.contents)) return
        for (const [name, field] of front.fields) {
          if (field.kind === 'other') continue
          known++
          expect([name, yamlItems(document.contents.get(name, true))]).toEqual([name, field.items])
        }
      }),
      { numRuns: 3000 },
    )
    expect(known).toBeGreaterThan(1000)
  })
})

describe('hostile text', () => {
  it.each(['a ', 'a', ' ', '"', "'", '[', '[a', '[ ', ',', '\\', '#', '- '])(
    'takes no more than linear time for 200 KB of %j',
    piece => {
      for (const head of ['', 'a', 'a: ', 'a: [', 'a: [b', 'a: "', 'a:\n  - '])
        swallow(`${head}${piece.repeat(200_000 / piece.length)}"`)
    },
    15_000,
  )

  it.each(['\n', '\n ', '\n- ', 'a: ', 'a:\n', '# a\n'])(
    'takes no more than linear time for 20,000 times %j',
    piece => {
      for (const head of ['', 'a: ', 'a: [', 'a: |\n']) swallow(`${head}${piece.repeat(20_000)}"`)
    },
    15_000,
  )

  function swallow(block: string) {
    const text = `---\n${block}\n---\n`
    expect(parseFrontMatter(text).present).toBe(true)
    expect(setFrontMatterField(text, 'status', 'done')).toContain('status: done')
  }
})

describe('setFrontMatterField', () => {
  it.each([
    ['status: pending', 'status: done'],
    ['status: "pending"', 'status: done'],
    ["status: 'in progress'", 'status: done'],
    ['status:   pending   ', 'status:   done   '],
    ['status: pending # set by hand', 'status: done # set by hand'],
    ['status:', 'status: done'],
    ['status:   # none yet', 'status: done   # none yet'],
    ['status:pending', 'status: done'],
    ['status : pending', 'status : done'],
    ['"status": ready-for-dev', '"status": done'],
    ['status: [a, b]', 'status: done'],
    ['status: a: b', 'status: done'],
    ['status: 5', 'status: done'],
    ['status: done', 'status: done'],
    ['status:\n  pending', 'status: done'],
    ['status: |\n  pending\n  # not a comment', 'status: done'],
    ['status:\n  - a\n  - b', 'status: done'],
  ])('H-29 replaces %j whatever stood there', (before, after) => {
    const text = (line: string) => `---\n# head\n${line}\npriority: 1\n---\n\nstatus: pending\n`
    expect(setFrontMatterField(text(before), 'status', 'done')).toBe(text(after))
  })

  it('adds the field when the front matter lacks it, and the front matter when the file has none', () => {
    expect(setFrontMatterField('---\npriority: 1\n---\nx', 'status', 'done')).toBe(
      '---\npriority: 1\nstatus: done\n---\nx',
    )
    expect(setFrontMatterField('---\r\n---\r\nx', 'status', 'done')).toBe('---\r\nstatus: done\r\n---\r\nx')
    expect(setFrontMatterField('# Title\r\n\r\nx', 'status', 'done')).toBe(
      '---\r\nstatus: done\r\n---\r\n# Title\r\n\r\nx',
    )
    expect(setFrontMatterField('\ufeffbody', 'status', 'done')).toBe('\ufeff---\nstatus: done\n---\nbody')
    expect(setFrontMatterField('', 'status', 'done')).toBe('---\nstatus: done\n---\n')
  })

  it('does not touch a nested field of the same name', () => {
    const text = '---\nreview:\n  status: open\nnote: |\n  status: open\n---\n'
    expect(setFrontMatterField(text, 'status', 'done')).toBe(
      '---\nreview:\n  status: open\nnote: |\n  status: open\nstatus: done\n---\n',
    )
  })

  it('quotes a value that would not be text in YAML', () => {
    for (const value of ['7.10', 'true', 'a: b', ' x', '', '# no', 'it\'s "so"', '- x']) {
      const text = setFrontMatterField('---\nstatus: pending\n---\n', 'status', value)
      expect(parseDocument(text.split('---')[1] ?? '').toJS()).toEqual({ status: value })
    }
  })

  it('H-29 changes no other byte, for any front matter, line ends and body', () => {
    fc.assert(
      fc.property(
        blockLines,
        fc.constantFrom('\n', '\r\n'),
        fc.string(),
        fc.boolean(),
        (lines, eol, body, bom) => {
          const others = lines.filter(line => !/^"?status|^\{/u.test(line))
          const head = `${bom ? '\ufeff' : ''}---${eol}`
          const before = others.map(line => `${line}${eol}`).join('')
          const tail = `priority: 1${eol}---${eol}${body}`
          const text = `${head}${before}status: pending${eol}${tail}`
          expect(setFrontMatterField(text, 'status', 'done')).toBe(
            `${head}${before}status: done${eol}${tail}`,
          )
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('is idempotent, is read back, and never throws, whatever the text', () => {
    const anything = fc.oneof(
      fc.string({ unit: 'binary' }),
      blockLines.map(lines => `---\n${lines.join('\n')}\n---\nx`),
    )
    fc.assert(
      fc.property(anything, text => {
        const once = setFrontMatterField(text, 'status', 'done')
        expect(setFrontMatterField(once, 'status', 'done')).toBe(once)
        if (!/^\{/mu.test(text)) expect(parseFrontMatter(once).fields.get('status')?.items).toEqual(['done'])
      }),
      { numRuns: 1000 },
    )
  })
})

const scalars = fc.constantFrom(
  'pending',
  'done',
  '7.10',
  '7.4',
  '"7.4"',
  "'it''s'",
  '"a \\"b\\""',
  '~',
  'null',
  'a: b',
  'a:b',
  'x # y',
  'x#y',
  '# c',
  '',
  'npm run check',
  'a, b',
  '[7.4, "7.5"]',
  '[7.10,7.5]',
  '[]',
  '[ a ]',
  '[a,]',
  '[a, , b]',
  '[a:b]',
  '[a: b]',
  '["x":y]',
  '[~]',
  '{a: 1}',
  '&a b',
  '*a',
  '!t x',
  '|',
  '>',
  '-',
  '- x',
  '-1',
  '--flag',
  '? q',
  '@x',
  '`x`',
  '%x',
  'a]',
  'a}',
  "'open",
  '"open',
  'two  spaces',
  'tab\there',
  'true',
  '0x1F',
  '1_000',
  '.5',
  'https://example.org/x',
  '[',
  ']',
  '"x" y',
  'é',
  '…',
  ':',
  'a:',
)

const otherLines = fc.constantFrom(
  '',
  '# comment',
  '  # indented comment',
  '  - item',
  '- item',
  '  - 7.10',
  '  -',
  '  - - x',
  '  nested: 1',
  '  text',
  '\tx',
  ']',
  '  ]',
  '  - "a" # b',
  'just text',
  '???',
  '{a: b}',
  '...x',
  '   - deep',
)

const keyed = fc
  .tuple(
    fc.constantFrom('depends_on', 'verify', 'allows', 'title', '"quoted"', 'status'),
    fc.constantFrom(': ', ':', ':  ', ' : '),
    scalars,
  )
  .map(parts => parts.join(''))

const blockLines = fc.array(fc.oneof({ weight: 2, arbitrary: keyed }, otherLines), { maxLength: 8 })

/** One field with what may follow it: short, so that most of them are valid YAML. */
const fewLines = fc
  .tuple(keyed, fc.array(otherLines, { maxLength: 3 }))
  .map(([head, rest]) => [head, ...rest])

/** The raw text of what YAML sees: plain scalars as written, others decoded; null is nothing. */
function yamlItems(node: unknown): unknown {
  if (isSeq(node))
    return node.items.map(item => (isScalar(item) && item.value === null ? 'null item' : yamlText(item)))
  if (node === undefined || node === null || (isScalar(node) && node.value === null)) return []
  return [yamlText(node)]
}

function yamlText(node: unknown): unknown {
  if (!isScalar(node)) return node
  return node.type === 'PLAIN' ? node.source : node.value
}
