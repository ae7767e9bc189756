import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { beginScan, scanObject } from '../../src/http/canonical-json.js'

/** The scanner works on valid UTF-8 only. */
const isProven = (text: string): boolean => {
  const bytes = Buffer.from(text)
  return beginScan(bytes) && scanObject(bytes, 0) === bytes.length
}

const isCanonical = (text: string): boolean => {
  try {
    return JSON.stringify(JSON.parse(text)) === text
  } catch {
    return false
  }
}

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 18 })
const number = fc
  .tuple(fc.constantFrom('', '', '-', '+'), digits, fc.constantFrom('', '.'), digits, fc.constantFrom('', '', '', 'e', 'E', 'e+', 'e-'), digits) // biome-ignore format: one number
  .map((parts) => parts.join(''))

describe('scanObject', () => {
  it.each([
    '{}', '{"a":0}', '{"a":-1.5}', '{"a":27.1,"b":0.000001,"c":1e+21,"d":1e-7}', '{"a":0.33000000000000185}', '{"a":123456789012345}', '{"a":9007199254740991}',
    '{"a":"","b":"é😀\u007f\u2028","c":"\\"\\\\\\b\\f\\n\\r\\t/"}', '{"a":[],"b":{},"c":[{"x":1},{"x":1}],"d":{"a":{"a":null}}}', '{"":true,"a7":false}',
  ])('proves %s', (text) => {
    expect(isCanonical(text)).toBe(true)
    expect(isProven(text)).toBe(true)
  }) // biome-ignore format: a list of texts

  it.each([
    '{"a":-0}', '{"a":1.0}', '{"a":1.50}', '{"a":1e3}', '{"a":0.0000001}', '{"a":1E21}', '{"a":9007199254740993}', '{"a":1e400}', '{"a":0.1e1}', '{"a":01}', '{"a":+1}',
    '{"a":"\\u0061"}', '{"a":"\\u000A"}', '{"a":"\\/"}', '{"a":"\t"}', '{"a":1,"a":2}', '{"b":{"x":1,"x":1}}', '{"a":1,"7":2}', '{"a": 1}', '{ "a":1}', '{"a":1} ', '{"a":1,}', '{"a":[1,]}',
    '{"a":1', '{"a":', '{"a', '{', '', '[]', '{"a":nul}', '{"a":[1}', '{"a":"\\', '{a:1}', '{"a"1}', '{"a":1}}',
  ])('rejects %s', (text) => {
    expect(isCanonical(text) && text.startsWith('{')).toBe(false)
    expect(isProven(text)).toBe(false)
  }) // biome-ignore format: a list of texts

  it('leaves canonical text to the parser that is deep, or has many or special names', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`
    expect([7, 8, 100_000].map((levels) => isProven(nested(levels)))).toEqual([true, false, false])
    const wide = (count: number) => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, 1]))) // biome-ignore format: one record
    expect([256, 257].map((count) => isProven(wide(count)))).toEqual([true, false])
    expect(['{"__proto__":1}', '{"_a":1}', '{"a":"\\u0007"}'].map(isProven)).toEqual([false, false, false])
  })

  it('finds a control character at any place, wherever the bytes are in memory', () => {
    for (const offset of [0, 1, 2, 3, 4, 5])
      for (let length = 0; length < 12; length += 1) {
        const bytes = Buffer.alloc(32)
          .subarray(offset, offset + length)
          .fill('ÿ\x20\x7f')
        expect(beginScan(bytes)).toBe(true)
        for (let at = 0; at < length; at += 1) {
          const changed = Buffer.alloc(32).subarray(offset, offset + length)
          bytes.copy(changed)
          changed[at] = 31
          expect(beginScan(changed), `${offset} ${length} ${at}`).toBe(false)
        }
      }
  })

  it('proves no number that JavaScript prints differently', () => {
    fc.assert(
      fc.property(number, (text) => {
        const json = `{"a":${text}}`
        expect(isProven(json), json).toBe(isCanonical(json))
      }),
      { numRuns: 50_000, seed: 1 },
    )
  })

  it('proves whatever JSON.stringify prints, except what it leaves to the parser', () => {
    let proven = 0
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 4 })), (value) => {
        let hasSpecialName = false
        const text = JSON.stringify(value, function (this: unknown, name: string, inner: unknown) {
          hasSpecialName ||=
            !Array.isArray(this) && (/^[\d_]/.test(name) || JSON.stringify(name) !== `"${name}"`)
          return inner
        })
        if (hasSpecialName || text.includes('\\u')) return
        proven += 1
        expect(isProven(text), text).toBe(true)
      }),
      { numRuns: 5_000, seed: 1 },
    )
    expect(proven).toBeGreaterThan(1_000)
  })
})
