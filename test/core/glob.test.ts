import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matches, matchesAny } from '../../src/core/glob.ts'

describe('matches', () => {
  it.each([
    ['a pattern without a slash at any depth', '*.md', ['a.md', 'docs/a.md'], ['a.mdx', 'md']],
    ['a leading slash at the root only', '/a.md', ['a.md'], ['docs/a.md']],
    ['a leading ./ at the root only', './a.md', ['a.md'], ['docs/a.md']],
    ['a name as a folder too', 'docs', ['docs', 'docs/a', 'x/docs/a/b'], ['docs2', 'adocs']],
    ['a trailing slash inside the folder only', 'docs/', ['docs/a', 'x/docs/a'], ['docs']],
    ['one star within a folder', 'src/*.ts', ['src/a.ts'], ['src/b/a.ts', 'x/src/a.ts']],
    ['two stars across folders', 'src/**/*.ts', ['src/a.ts', 'src/b/c/a.ts'], ['lib/a.ts']],
    ['two stars in front', '**/a.ts', ['a.ts', 'x/y/a.ts'], ['xa.ts']],
    ['two stars at the end', 'src/**', ['src/a', 'src/b/a'], ['src', 'xsrc/a']],
    ['a question mark as one character, not a slash', 'a?c', ['abc', 'a😀c'], ['ac', 'a/c']],
    ['braces', '*.{test,spec}.ts', ['a.test.ts', 'x/b.spec.ts'], ['a.ts']],
    ['stars inside braces', '{docs/**,*.md}', ['docs/a/b', 'a.md'], ['src/a']],
    ['an empty choice', '.env{,.*}', ['.env', '.env.test'], ['.environment']],
    ['signs that mean something elsewhere', 'a+(b)[c]^$.ts', ['a+(b)[c]^$.ts'], ['aab.ts']],
  ])('reads %s', (_, pattern, yes, no) => {
    for (const path of yes) expect([path, matches(path, pattern)]).toEqual([path, true])
    for (const path of no) expect([path, matches(path, pattern)]).toEqual([path, false])
  })

  it('is not escaped by a newline in a file name', () => {
    expect(matches('specs/a\nb.md', 'specs/**')).toBe(true)
    expect(matches('specs/a\n/b.md', 'specs/')).toBe(true)
  })

  const name = fc
    .string({ unit: fc.constantFrom(...'ab.-_ +()[]^$'.split('')), minLength: 1, maxLength: 6 })
    .filter(text => !/^\.+$/u.test(text))
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map(parts => parts.join('/'))

  it('matches every path by itself, by its folder and by **', () => {
    fc.assert(
      fc.property(path, text => {
        expect(matches(text, `/${text}`)).toBe(true)
        expect(matches(`${text}/below`, `/${text}/`)).toBe(true)
        expect(matches(text, '**')).toBe(true)
        expect(matches(`above/${text}`, `/${text}`)).toBe(false)
      }),
    )
  })

  it('never throws, whatever the pattern', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), fc.string({ maxLength: 30 }), (pattern, text) => {
        expect(typeof matches(text, pattern)).toBe('boolean')
        expect(matchesAny(text, [])).toBe(false)
      }),
    )
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'*?{},/a.[\\'.split('')), maxLength: 14 }),
        pattern => {
          expect(typeof matches('a/a.a/a', pattern)).toBe('boolean')
        },
      ),
    )
  })
})
