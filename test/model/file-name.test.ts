import { posix, win32 } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFileNames, type NamedEntry } from '../../src/model/stock.js'

const ISINS = ['INE101A01026', 'INE917I01010', 'INE009A01021']
const named = (keys: readonly string[]): readonly NamedEntry[] =>
  keys.map((key, place) => ({ key, id: ISINS[place] ?? `INE${String(place).padStart(9, '0')}` }))
const namesOf = (...keys: readonly string[]): readonly string[] => createFileNames(named(keys))
const nameOf = (key: string): string => namesOf(key)[0] ?? ''
const indexNameOf = (key: string): string =>
  createFileNames([{ key, id: '13' }], { mayReplace: true })[0] ?? ''

/** Safe as a file's name on Linux, macOS and Windows. */
const isSafe = (name: string): boolean =>
  /^[A-Za-z0-9 &._~-]+$/.test(name) &&
  !/^[. ]|[. ]$/.test(name) &&
  !/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(name) &&
  name.length <= 160 &&
  posix.dirname(posix.normalize(`out/${name}.csv`)) === 'out' &&
  win32.dirname(win32.normalize(`out\\${name}.csv`)) === 'out'

const folded = (names: readonly string[]): ReadonlySet<string> =>
  new Set(names.map((name) => name.normalize('NFC').toLowerCase()))

describe('the file name of a stock', () => {
  it.each([
    'M&M',
    'M&MFIN',
    'J&KBANK',
    'ARE&M',
    'GVT&D',
    'BAJAJ-AUTO',
    'NAM-INDIA',
    '360ONE',
    '20MICRONS',
    'A.B',
    'a_b',
    'CONCOR',
    'COM',
    'AUXX',
    'con2',
  ])('is its symbol: %s', (symbol) => expect(nameOf(symbol)).toBe(symbol))

  it.each([
    '../x',
    '..',
    '.',
    'a/b',
    'a\\b',
    '/',
    'C:x',
    'CON',
    'con',
    'nul',
    'COM1',
    'LPT9.txt',
    'aux.csv',
    '',
    ' ',
    'a ',
    ' a',
    'a.',
    '.a',
    'a\0b',
    '\0',
    'a\nb',
    'Ä',
    '💹',
    'x~INE101A01026',
  ])('is another safe and readable name if the symbol %j is not usable', (symbol) => {
    const name = nameOf(symbol)
    expect(isSafe(name), name).toBe(true)
    expect(name).not.toBe(symbol)
    expect(name).toContain('INE101A01026')
  })

  it('is short for a long symbol, and still unique', () => {
    const names = namesOf('N'.repeat(100), `${'N'.repeat(100)}1`, `${'N'.repeat(100)}2`, 'N'.repeat(5_000))
    expect(names[0]).toBe('N'.repeat(100))
    expect(names.every(isSafe)).toBe(true)
    expect(folded(names).size).toBe(4)
  })

  it('distinguishes symbols that differ only by case; the one in capitals keeps its name', () => {
    expect(namesOf('Abc', 'ABC', 'abc')).toEqual(['Abc~INE101A01026', 'ABC', 'abc~INE009A01021'])
    expect(folded(namesOf('Abc', 'abc')).size).toBe(2)
  })

  it('distinguishes symbols that become the same when made safe', () => {
    const names = namesOf('a/b', 'a:b', 'a_b', 'a\0b')
    expect(names[2]).toBe('a_b')
    expect(folded(names).size).toBe(4)
  })

  it('distinguishes two stocks with one symbol by their ISINs', () => {
    const names = namesOf('ABC', 'ABC')
    expect(folded(names).size).toBe(2)
    expect(names.every(isSafe)).toBe(true)
  })

  it('does not depend on the order of the list', () => {
    const entries = named(['Abc', 'abc', 'a/b', 'CON', 'XYZ'])
    expect([...createFileNames([...entries].reverse())].reverse()).toEqual(createFileNames(entries))
  })

  it('is safe and unique for any list of hostile symbols', () => {
    const awkward = fc.constantFrom(
      '..',
      '.',
      '/',
      '\\',
      '~',
      '~~',
      'con',
      'NUL',
      ' ',
      '\0',
      ':',
      'a',
      'A',
      '_',
      '&',
      '-',
      'é',
      'e\u0301',
      'ß',
      'ſ',
      'K',
      'İ',
      'ı',
      '~INE101A01026',
    )
    const key = fc.oneof(
      fc.array(awkward, { maxLength: 4 }).map((parts) => parts.join('')),
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.string({ minLength: 95, maxLength: 110, unit: fc.constantFrom('a', 'A', '/') }),
    )
    const id = fc.oneof(
      fc.constantFrom('INE101A01026', 'ine101a01026', '', '../x', 'A', '0'),
      fc.string({ maxLength: 5 }),
    )
    const entries = fc.uniqueArray(fc.record({ key, id }), {
      selector: (entry) => JSON.stringify([entry.key, entry.id]),
      maxLength: 25,
    })
    fc.assert(
      fc.property(entries, fc.boolean(), (list, mayReplace) => {
        const names = createFileNames(list, { mayReplace })
        expect(names).toHaveLength(list.length)
        expect(names.filter((name) => !isSafe(name))).toEqual([])
        expect(folded(names).size).toBe(list.length)
      }),
      { numRuns: 1_000 },
    )
  })

  it('distinguishes ten thousand hostile symbols in one list', () => {
    const [keys = []] = fc.sample(
      fc.uniqueArray(
        fc.string({ unit: fc.constantFrom('a', 'A', 'b', 'B', '.', '/', '~', ' ', '_'), maxLength: 7 }),
        {
          minLength: 10_000,
          maxLength: 10_000,
        },
      ),
      { numRuns: 1, seed: 1 },
    )
    const names = createFileNames(named(keys))
    expect(names.filter((name) => !isSafe(name))).toEqual([])
    expect(folded(names).size).toBe(10_000)
  })
})

describe('the file name of an index', () => {
  it.each([
    ['NIFTY 100', 'NIFTY 100'],
    ['NIFTY FINSRV25 50', 'NIFTY FINSRV25 50'],
    ['25/50', '25_50'],
    ['50:25:25', '50_25_25'],
    ['Cap (25%)', 'Cap _25__'],
    ['Ä', '_'],
  ])('of %j is %j: other characters become _', (symbol, name) => expect(indexNameOf(symbol)).toBe(name))

  it.each(['..', 'CON', '', ' x', 'x.', 'N'.repeat(101)])('of %j is another safe name', (symbol) => {
    expect(isSafe(indexNameOf(symbol))).toBe(true)
  })
})
