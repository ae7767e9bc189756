import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { repairJson } from '../../src/model/text.js'

const unit = fc.constantFrom(
  'a',
  '"',
  '\\',
  '/',
  'u',
  'd83d',
  '\\ud83d',
  '\ud83d',
  '\ude00',
  '😀',
  '\0',
  '\n',
  '0000',
)
const text = fc.array(unit, { maxLength: 6 }).map((parts) => parts.join(''))
const { document } = fc.letrec<{ document: unknown }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.integer(),
    fc.array(tie('document')),
    fc.dictionary(text, tie('document'), { maxKeys: 3 }),
  ),
}))

const wellFormed = (one: string): string =>
  one.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\0/g, '\ufffd')

const repaired = (value: unknown): unknown => {
  if (typeof value === 'string') return wellFormed(value)
  if (Array.isArray(value)) return value.map(repaired)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [wellFormed(key), repaired(inner)]))
}

const escapeAll = (json: string): string =>
  json.replace(
    /[^ -~]/g,
    (unit16) => `\\u${unit16.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`,
  )

describe('repaired JSON', () => {
  it('has U+FFFD for each half of a surrogate pair and for NUL, in values and keys, and nothing else changed', () => {
    const property = fc.property(document, fc.boolean(), (value, isAscii) => {
      const json = isAscii ? escapeAll(JSON.stringify(value)) : JSON.stringify(value)
      expect(JSON.parse(repairJson(json)), json).toEqual(repaired(value))
    })
    fc.assert(property, { numRuns: 3_000 })
  })

  it.each([
    ['"\\ud83d"', '"\\ufffd"'],
    ['"\\uDE00\\uD83D"', '"\\ufffd\\ufffd"'],
    ['"\\ud83d\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"'],
    ['"\\u0000"', '"\\ufffd"'],
  ])('is %s as %s', (json, expected) => expect(repairJson(json)).toBe(expected))

  it.each(['"\\ud83d\\ude00"', '"\\\\ud83d"', '"\\\\\\\\ud83d \\\\u0000"', '"\\u0001\\ufffd"', '"a"'])(
    'is the same for %s',
    (json) => expect(repairJson(json)).toBe(json),
  )
})
