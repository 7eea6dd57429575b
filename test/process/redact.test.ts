import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor } from '../../src/process/redact.ts'

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ'

/** Put together here, so that no scanner takes this file for a leak. */
const tokens = {
  'an OpenAI key': `sk-proj-${letters}`,
  'an Anthropic key': `sk-ant-api03-${letters}`,
  'a GitHub token': `ghp_${letters.slice(0, 36)}`,
  'a fine-grained GitHub token': `github_pat_${letters}`,
  'a GitLab token': `glpat-${letters.slice(0, 20)}`,
  'an Amazon key id': `AKIA${'ABCDEFGH12345678'}`,
  'a Google key': `AIza${letters.slice(0, 35)}`,
  'a Slack token': `xoxb-${'123456789012-'}${letters.slice(0, 20)}`,
  'an npm token': `npm_${letters.slice(0, 36)}`,
  'a web token': `eyJ${letters}.eyJ${letters}.${letters}`,
  'a bearer': `Bearer ${letters}`,
}

describe('tokens', () => {
  it.each(Object.entries(tokens))('are recognised: %s', (_, token) => {
    expect(redact([`before ${token} after\n`])).toBe('before [redacted] after\n')
    expect(redact([`{"text":"line\\n${token}"}\n`])).toMatch(/^\{"text":"line\\n\[redacted\]"\}\n$/)
  })

  it('are recognised in headers and addresses', () => {
    expect(redact([`Authorization: Bearer ${letters}\r\n`])).toBe('Authorization: [redacted]\r\n')
    expect(redact(['https://user:s3cretpass@example.com/path\n'])).toBe(
      'https://[redacted]@example.com/path\n',
    )
  })

  it('leave common text alone', () => {
    const text = [
      'task-1, risk-assessment-of-the-whole-thing-2024, flask-sqlalchemy-extended-edition',
      'sk-loading-spinner-container-large is a style',
      'npm_config_registry, hf_hub, https://example.com:8080/a@b, git@github.com:owner/name.git',
      '0b1c9d6e-5c1e-4c59-9c0b-6f3b9a1d2e3f 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      'Bearer of news; Basic research; -----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----',
      '',
    ].join('\n')
    expect(redact([text])).toBe(text)
  })

  it('cover a private key from its first to its last line, also in JSON', () => {
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${`${letters}\n`.repeat(30)}-----END RSA PRIVATE KEY-----`
    expect(redact([`a\n${key}\nb\n`])).toBe('a\n[redacted]\nb\n')
    expect(redact([`{"k":${JSON.stringify(key)},"x":1}\n`])).toBe('{"k":"[redacted]","x":1}\n')
  })

  it('do not let a key without an end swallow all that follows', () => {
    const shown = redact([
      '-----BEGIN PRIVATE KEY-----\n',
      ...Array.from({ length: 100 }, () => `${'x y '.repeat(250)}\n`),
      'the end\n',
    ])
    expect(shown.startsWith('[redacted]')).toBe(true)
    expect(shown.endsWith('the end\n')).toBe(true)
  })
})

describe('known values', () => {
  const value = 'pa$$ "word"/ü+1'

  it.each([
    ['as it is', value],
    ['in an address', encodeURIComponent(value)],
    ['in JSON', JSON.stringify(value).slice(1, -1)],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(value).slice(1, -1)).slice(1, -1)],
  ])('are found %s', (_, form) => {
    expect(redact([`<${form}>`], [value])).toBe('<[redacted]>')
  })

  it.each(['', 'u:', 'user:'])('are found in base64 behind "%s"', prefix => {
    const encoded = Buffer.from(`${prefix}${value}!`).toString('base64')
    const shown = redact([`${encoded}\n`], [value])
    expect(shown).toContain('[redacted]')
    expect(Buffer.from(shown.replace('[redacted]', ''), 'base64').length).toBeLessThan(prefix.length + 6)
  })

  it('are found line by line when they have many', () => {
    const key = `${letters}\n${letters.toUpperCase()}\n`
    expect(redact([`  ${letters}\n  ${letters.toUpperCase()}\n`], [key])).toBe('  [redacted]\n  [redacted]\n')
  })

  it('are left alone when they are too short to mean anything', () => {
    expect(redact(['true or false\n'], ['true', ''])).toBe('true or false\n')
  })
})

describe('pieces', () => {
  const secrets = [
    'known secret, with a blank',
    'päßwörd-with-ümlauts',
    'aaaaaaab',
    `multi\nline ${letters}\nsecret`,
  ]
  const needles = [...secrets, ...Object.values(tokens).filter(token => !token.includes(' '))]

  it('never show a part of a secret, however they are cut', () => {
    const word = fc.oneof(
      fc.constantFrom(...needles),
      fc.constantFrom(' ', '\n', '"', '{"a":', 'Bearer ', '-----BEGIN ', 'aaaaaaa', 'x'),
      fc.string({ maxLength: 12 }),
    )
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 12 }),
        fc.array(fc.nat(40), { maxLength: 60 }),
        (words, sizes) => {
          // Blanks between, so that no two words grow together to something else.
          const text = words.join(' ')
          const shown = redact(cut(text, sizes), secrets)
          expect(shown).toBe(redact([text], secrets))
          for (const needle of words.filter(one => needles.includes(one))) expect(shown).not.toContain(needle)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('show text without secrets as it was, however it is cut', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300, unit: 'grapheme' }), fc.array(fc.nat(20)), (text, sizes) => {
        expect(redact(cut(text, sizes), secrets)).toBe(text)
      }),
    )
  })

  it('show complete lines at once', () => {
    const redactor = createRedactor({ values: secrets })
    expect(redactor.text('a line\nand a half')).toBe('a line\nand a ')
    expect(redactor.text(' done\n')).toBe('half done\n')
    expect(redactor.end()).toBe('')
  })

  it('keep little in memory and drop the whole of a token without an end', () => {
    const redactor = createRedactor({ values: [] })
    let shown = redactor.text('x ghp_')
    for (let piece = 0; piece < 100; piece++) shown += redactor.text('a1'.repeat(5_000))
    shown += redactor.text(' after\n') + redactor.end()
    expect(shown).toBe('x [redacted] after\n')
  })
})

function redact(pieces: string[], values: string[] = []): string {
  const redactor = createRedactor({ values })
  return pieces.map(piece => redactor.text(piece)).join('') + redactor.end()
}

function cut(text: string, sizes: number[]): string[] {
  const pieces: string[] = []
  let at = 0
  for (const size of sizes) {
    pieces.push(text.slice(at, at + size))
    at += size
  }
  return [...pieces, text.slice(at)]
}
