import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editJson, lineOf } from '../../../src/layouts/tasks-json/json-edit.ts'

describe('editJson', () => {
  it('changes the value and not another byte, whatever the layout of the text', () => {
    const text = '\ufeff{\r\n\t"a" :[ 1,2 , {"b":"x\\"}]" ,\t"c":null} ],\r\n  "d":-1.50e+3\r\n}\r\n\r\n'
    expect(editJson(text, [{ path: ['a', 2, 'b'], value: 'y' }])).toBe(text.replace('"x\\"}]"', '"y"'))
    expect(editJson(text, [{ path: ['d'], value: true }])).toBe(text.replace('-1.50e+3', 'true'))
    expect(
      editJson(text, [
        { path: ['a', 2, 'c'], value: 'z' },
        { path: ['a', 0], value: 7 },
      ]),
    ).toBe(text.replace('null', '"z"').replace('[ 1,', '[ 7,'))
  })

  it('adds a missing property behind the last one, laid out as that one is', () => {
    expect(editJson('{\n    "a": 1\n}\n', [{ path: ['b'], value: 'x' }])).toBe(
      '{\n    "a": 1,\n    "b": "x"\n}\n',
    )
    expect(editJson('{"a":1}', [{ path: ['b'], value: null }])).toBe('{"a":1,"b":null}')
    expect(editJson('{"a":{}}', [{ path: ['a', 'b'], value: 1 }])).toBe('{"a":{}}')
  })

  it('takes the last of two equal keys, as JSON.parse does', () => {
    expect(editJson('{"a":1,"a":2}', [{ path: ['a'], value: 3 }])).toBe('{"a":1,"a":3}')
  })

  it('comes to what a plain edit of the parsed value comes to', () => {
    const flat = fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.boolean(), fc.constant(null))
    const documents = fc.record({
      list: fc.array(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1, maxKeys: 4 }), {
        minLength: 1,
        maxLength: 4,
      }),
      rest: fc.jsonValue(),
    })
    const spaces = fc.constantFrom(0, 1, 2, '\t')
    fc.assert(
      fc.property(documents, spaces, flat, fc.nat(), fc.nat(), (document, space, value, a, b) => {
        const text = JSON.stringify(document, null, space)
        const parsed = JSON.parse(text)
        const index = a % parsed.list.length
        const keys = Object.keys(parsed.list[index])
        const key = keys[b % keys.length] ?? ''
        const edited = editJson(text, [{ path: ['list', index, key], value }])
        parsed.list[index][key] = value
        expect(edited).toBe(JSON.stringify(parsed, null, space))
        expect(JSON.parse(editJson(text, [{ path: ['list', index, key], value }], { ascii: true }))).toEqual(
          parsed,
        )
      }),
    )
  })

  it('writes in plain ASCII where the file is not UTF-8', () => {
    expect(editJson('{"a":1}', [{ path: ['a'], value: 'é😀' }], { ascii: true })).toBe(
      '{"a":"\\u00e9\\ud83d\\ude00"}',
    )
  })

  it('knows the line of a value', () => {
    expect(lineOf('{\n"a": [\n1,\n2]}', ['a', 1])).toBe(4)
    expect(lineOf('{}', ['a'])).toBeNull()
  })
})
