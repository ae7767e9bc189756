import { posix, win32 } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { get, post } from '../../src/http/endpoint.js'
import { createRequestBuilder } from '../../src/http/request.js'
import { createFileNames } from '../../src/model/stock.js'
import { settingsOf } from '../http/support.js'
import { seed } from './payloads.js'

const SYMBOLS = 100_000
const LONGEST_SUFFIX = '_filings.json'

const word = fc.constantFrom(
  '..', '.', '/', '\\', '~', '~~', 'con', 'NUL', 'aux', 'COM1', 'lpt9', 'CONIN$', ' ', '\0', ':', '*', '?', '"', '<', '|', '%2e', '&', '-', '$',
  'a', 'A', 'é', 'e\u0301', 'É', 'ß', 'SS', 'ſ', 'K', 'İ', 'ı', 'i', '\ud800', '\udfff', '\ud801', '😀', '\u202e', '\r\n', '\t', '~INE000000001',
) // biome-ignore format: a list of words

const symbol = fc.oneof(
  fc.array(word, { maxLength: 5 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.string({ unit: fc.constantFrom('a', 'A', 'b', 'B', '_', '/', '.'), maxLength: 8 }),
  fc.string({ unit: fc.constantFrom('é', 'a', '/'), minLength: 95, maxLength: 130 }),
)

const symbols = (): readonly string[] =>
  [...new Set(fc.sample(symbol, { numRuns: SYMBOLS * 2, seed }))].slice(0, SYMBOLS)

const DEVICE = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)( *)(\.|$)/i

/** Why a name is not valid for a file on Linux, macOS or Windows. */
const faultOf = (name: string): string | undefined => {
  if (/[^A-Za-z0-9 &._~-]/.test(name)) return 'a character'
  if (/^[. ]|[. ]$/.test(name) || name === '') return 'an end'
  if (DEVICE.test(name)) return 'a device'
  if (Buffer.byteLength(name + LONGEST_SUFFIX) > 200) return 'its length'
  const isInside =
    posix.dirname(posix.join('out', name)) === 'out' && win32.dirname(win32.join('out', name)) === 'out'
  return isInside ? undefined : 'its folder'
}

describe('a hundred thousand hostile symbols', () => {
  const all = symbols()

  it.each([
    ['with the ISINs of stocks', (place: number) => `INE${String(place).padStart(9, '0')}`, false],
    ['that share one id', () => 'INE000000001', false],
    ['of indices, without any id', () => '', true],
  ])(
    '%s have safe, distinct file names, also on file systems that ignore case and Unicode form',
    (_, idOf, mayReplace) => {
      const names = createFileNames(
        all.map((key, place) => ({ key, id: idOf(place) })),
        { mayReplace },
      )
      expect(all.length).toBe(SYMBOLS)
      expect(names.filter((name) => faultOf(name) !== undefined)).toEqual([])
      for (const form of ['NFC', 'NFD', 'NFKC'] as const) {
        expect(new Set(names.map((name) => name.normalize(form).toLowerCase())).size).toBe(SYMBOLS)
        expect(new Set(names.map((name) => name.normalize(form).toUpperCase())).size).toBe(SYMBOLS)
      }
    },
  )

  it('are sent unchanged in bodies and URLs', () => {
    const settings = settingsOf({ urls: { static: 'http://static/base' } })
    const body = post({
      name: 'body',
      host: 'static',
      path: '/x',
      input: z.strictObject({ SYM: z.string() }),
      read: String,
    })
    const address = get({
      name: 'address',
      host: 'static',
      path: '/x/_{SYM}.csv?q={SYM}',
      input: z.strictObject({ SYM: z.string() }),
      read: String,
    })
    const arrives = (SYM: string): boolean => {
      const { SYM: inBody } = JSON.parse(createRequestBuilder(body, settings, 1)({ SYM }).body ?? '') as {
        readonly SYM: string
      }
      if (inBody !== SYM) return false
      // No URL has these: UTF-8 has no lone surrogates, and dots are path steps.
      if (/\p{Surrogate}/u.test(SYM) || /(^|\/)\.{1,2}(\/|$)/.test(SYM)) return true
      const { pathname, search } = new URL(createRequestBuilder(address, settings, 1)({ SYM }).url)
      return (
        decodeURIComponent(pathname) === `/base/x/_${SYM}.csv` && new URLSearchParams(search).get('q') === SYM
      )
    }
    expect(all.filter((one) => !arrives(one))).toEqual([])
  })
})
