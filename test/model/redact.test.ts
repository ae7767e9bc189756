import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, redactError, redactRecord } from '../../src/model/redact.js'

const TOKEN = 'tok-9f8e7d6c5b4a'
const redact = createRedactor({
  headers: { authorization: `Bearer ${TOKEN}`, 'x-short': 'abc', 'x-pin': '4711' },
  options: { lists: { sheetId: '1SheetId_-xyz', asmTabId: '0', limit: 50 } },
})

describe('a text', () => {
  it.each([
    ['a whole value', `refused: Bearer ${TOKEN}.`, 'refused: [redacted].'],
    ['a word of a value', `unknown token ${TOKEN}`, 'unknown token [redacted]'],
    ['a value that was cut', `starting "tok-9f8e7d"`, 'starting "[redacted]"'],
    ['a value at the very end', 'tok-9f8e', '[redacted]'],
    ['several values', `${TOKEN}${TOKEN} 4711 1SheetId_-xyz`, '[redacted][redacted] [redacted] [redacted]'],
    ['a value in an address', `/d/1SheetId_-xyz/gviz?gid=0`, '/d/[redacted]/gviz?gid=0'],
    ['an encoded value', encodeURIComponent(`Bearer ${TOKEN}`), '[redacted]'],
    [
      'the credentials of an address',
      'GET https://me:pass@host/path failed',
      'GET https://[redacted]@host/path failed',
    ],
    ['credentials that were cut', 'starting "https://me:pa"', 'starting "https://[redacted]@"'],
    [
      'no port',
      'GET http://127.0.0.1:8080/path and http://host:80',
      'GET http://127.0.0.1:8080/path and http://host:80',
    ],
    ['a query', 'see https://host/a?key=1&b=2#c, please', 'see https://host/a?[redacted] please'],
    ['what is no secret', 'abc 0 tok-9f8 https://host/path 471', 'abc 0 tok-9f8 https://host/path 471'],
  ])('is redacted: %s', (_, text, safe) => expect(redact(text)).toBe(safe))

  it('is redacted of the headers of one host', () => {
    const own = createRedactor({ hosts: { news: { headers: { authorization: `Bearer ${TOKEN}` } } } })
    expect(own(`refused: ${TOKEN}`)).toBe('refused: [redacted]')
  })

  it('is redacted of values that need quotes, blanks or other letters', () => {
    const value = 'say "ключ"\tand\\more  blanks'
    const own = createRedactor({ headers: { 'x-own': value } })
    for (const text of [
      value,
      JSON.stringify({ value }),
      value.replace(/\s+/g, ' '),
      encodeURIComponent(value),
    ])
      expect(own(`before ${text} after`)).toMatch(/^before (\{"value":")?\[redacted\]("\})? after$/)
  })

  it('contains no secret after redaction, wherever it was and wherever the text was truncated', () => {
    const secret = fc
      .string({ unit: fc.constantFrom('a', 'b', 'c', '-', '"', ' '), minLength: 4, maxLength: 20 })
      .filter((text) => text.trim() === text)
    const noise = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '-', ' ', '[', 'r'), maxLength: 12 })
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 3 }),
        fc.array(noise, { maxLength: 4 }),
        fc.nat(60),
        (secrets, noises, length) => {
          const own = createRedactor({
            headers: Object.fromEntries(secrets.map((value, place) => [`h${place}`, value])),
          })
          const cut = noises
            .map((text, place) => text + (secrets[place] ?? secrets[0]))
            .join('')
            .slice(0, length)
          for (const value of secrets)
            expect(own(cut).includes(value), JSON.stringify([cut, own(cut)])).toBe(false)
        },
      ),
      { numRuns: 5_000 },
    )
  })

  it('of 2 MB is redacted at once', () => {
    for (const piece of ['tok-9f8', 'https://', 'https://a@', 'a://?', 'aaaa', TOKEN]) {
      const text = piece.repeat(2e6 / piece.length)
      const begun = performance.now()
      redact(text)
      // This takes a fraction of a second; with backtracking it would take minutes.
      expect(performance.now() - begun, piece).toBeLessThan(10_000)
    }
  })
})

describe('a record', () => {
  it('is redacted in its free texts, not in its identifiers', () => {
    const own = createRedactor({ headers: { a: 'market-news', b: 'item-finished', c: 'success' } })
    const event = {
      type: 'item-finished',
      stream: 'market-news',
      item: 'market-news',
      status: 'success',
      reason: 'success of market-news',
    }
    expect(redactRecord(event, own)).toEqual({
      ...event,
      item: '[redacted]',
      reason: '[redacted] of [redacted]',
    })
  })
})

describe('an error', () => {
  it('is redacted with its stack and its causes, and stays the same error', () => {
    const cause = new TypeError(`cause ${TOKEN}`)
    const error = new RangeError(`outer ${TOKEN}`, { cause })
    expect(redactError(error, redact)).toBe(error)
    for (const text of [error.message, error.stack, cause.message, cause.stack])
      expect(text).not.toContain(TOKEN)
    expect(error.message).toBe('outer [redacted]')
  })

  it('may be its own cause, or undefined', () => {
    const ring = new Error(TOKEN)
    ring.cause = ring
    expect((redactError(ring, redact) as Error).message).toBe('[redacted]')
    expect(redactError(undefined, redact)).toBeUndefined()
  })
})
