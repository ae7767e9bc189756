import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FormerEntry, listingWarnings, planListings } from '../../src/market/listings.js'
import { type Stock, toStockItems } from '../../src/model/stock.js'

const stock = (symbol: string, place: number): Stock => ({
  Symbol: symbol,
  ISIN: `INE00000000${place}`,
  Name: `${symbol} Limited`,
  Sid: String(place),
  FnoFlag: 0,
})

const [A, B, C] = [stock('A', 1), stock('B', 2), stock('C', 3)]

/** Whether a text contains a name as a whole word. */
const hasWord = (text: string, word: string): boolean =>
  new RegExp(`(^|[ (])${word.replace(/\//g, '\\/')}($|[ ,;)])`, 'm').test(text)

describe('the warnings about a new list of stocks', () => {
  it('are none if the same stocks are listed, in any order, or more', () => {
    expect(listingWarnings([A, B], [B, A, C])).toEqual([])
    expect(listingWarnings([], [A, B])).toEqual([])
  })

  it('name the old and the new symbol of a renamed stock', () => {
    expect(listingWarnings([A, B], [{ ...A, Symbol: 'NEW' }, B])).toEqual([
      'renamed: A is now NEW; files under the old symbol stay as they are; the new symbol starts with new files',
    ])
  })

  it('name the old and the new ISIN of a stock that keeps its symbol', () => {
    expect(listingWarnings([A, B], [{ ...A, ISIN: C.ISIN }, B])).toEqual([
      'another ISIN: A has INE000000003 instead of INE000000001; their files continue under the symbol',
    ])
  })

  it('name the old and the new symbol of a stock that has a new ISIN, too', () => {
    expect(listingWarnings([A, B], [{ ...A, Symbol: 'NEW', ISIN: C.ISIN }, B])).toEqual([
      'renamed: A is now NEW; files under the old symbol stay as they are; the new symbol starts with new files',
    ])
  })

  it('name the file of each stock if two share a symbol, and the earlier file', () => {
    const twice = [A, { ...B, Symbol: 'A' }]
    expect(listingWarnings([A, B], twice)).toEqual([
      'renamed: B is now A (files A~INE000000002); files under the old symbol stay as they are; the new symbol starts with new files',
      'file names: A (INE000000001) is A~INE000000001, was A, A (INE000000002) is A~INE000000002; files under earlier names stay as they are',
    ])
    expect(listingWarnings(twice, twice)).toEqual([
      'file names: A (INE000000001) is A~INE000000001, A (INE000000002) is A~INE000000002; files under earlier names stay as they are',
    ])
    expect(listingWarnings(twice, [A])).toEqual([
      'file names: A (INE000000001) is A, was A~INE000000001; files under earlier names stay as they are',
      'no longer listed: A (INE000000002, files A~INE000000002); their own files stay; their records are removed from files over all stocks',
    ])
  })

  it('name a symbol that now belongs to another stock', () => {
    expect(
      listingWarnings(
        [A],
        [
          { ...A, Symbol: 'NEW' },
          { ...B, Symbol: 'A' },
        ],
      ),
    ).toEqual([
      'renamed: A is now NEW; files under the old symbol stay as they are; the new symbol starts with new files',
      'file names: A (INE000000002) is A, which belonged to A (INE000000001), whose files are now A~INE000000001; files under earlier names stay as they are',
    ])
  })

  it('name ten stocks of each kind of change, and count the others', () => {
    const many = Array.from({ length: 13 }, (_, place) => ({
      ...stock(`S${10 + place}`, 0),
      ISIN: `INE0000000${10 + place}`,
    }))
    expect(listingWarnings(many, [A])).toEqual([
      expect.stringMatching(/^no longer listed: S10 \(.*S19 \(INE000000019\), and 3 more; their own files/),
    ])
  })

  describe('for any two lists', () => {
    const listed = fc.record({
      symbol: fc.constantFrom('A', 'B', 'C', 'a', 'x/y', 'CON'),
      place: fc.integer({ min: 1, max: 5 }),
    })
    const list = fc
      .uniqueArray(listed, { selector: ({ symbol, place }) => `${symbol}${place}`, maxLength: 8 })
      .map((all) => all.map(({ symbol, place }) => stock(symbol, place)))
    const shuffled = list.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    )
    const filesOf = (stocks: readonly Stock[]): ReadonlyMap<string, Stock> =>
      new Map(toStockItems(stocks).map(({ fileName, value }) => [fileName, value]))

    it('do not depend on their order', () => {
      fc.assert(
        fc.property(shuffled, shuffled, ([before, otherBefore], [now, otherNow]) => {
          expect(listingWarnings(otherBefore, otherNow)).toEqual(listingWarnings(before, now))
        }),
        { numRuns: 500 },
      )
    })

    it('name every file that becomes stale, and every file that goes to another stock', () => {
      fc.assert(
        fc.property(list, list, (before, now) => {
          const [were, are] = [filesOf(before), filesOf(now)]
          const warnings = listingWarnings(before, now).join('\n')
          const changed = [...were].filter(([name, { ISIN, Symbol: symbol }]) => {
            const present = are.get(name)
            return present === undefined || (present.ISIN !== ISIN && present.Symbol !== symbol)
          })
          expect(changed.filter(([name]) => !hasWord(warnings, name))).toEqual([])
        }),
        { numRuns: 2_000 },
      )
    })

    it('name every stock whose ISIN or symbol changed or is gone', () => {
      fc.assert(
        fc.property(list, list, (before, now) => {
          const warnings = listingWarnings(before, now).join('\n')
          const lost = before.filter(
            (one) => !now.some(({ ISIN, Symbol: symbol }) => ISIN === one.ISIN && symbol === one.Symbol),
          )
          expect(
            lost.filter(({ ISIN, Symbol: symbol }) => !hasWord(warnings, ISIN) && !hasWord(warnings, symbol)),
          ).toEqual([])
        }),
        { numRuns: 2_000 },
      )
    })
  })
})

describe('the files of a symbol with another ISIN', () => {
  const [OLD, NEW] = ['INE149K01016', 'INE0ZZZ01018']
  const a = { ...A, ISIN: OLD }
  const formerly = (stock: Stock): FormerEntry => ({ stock, fileName: stock.Symbol, until: '2026-02-05' })
  const plan = (before: readonly Stock[], now: readonly Stock[], former: readonly FormerEntry[] = []) =>
    planListings(before, now, former).moves.map((move) => move.join(' > '))

  it.each([
    ['of the same issuer', { ...a, ISIN: 'INE149K01024', Sid: '99' }],
    ['of the same security', { ...a, ISIN: NEW }],
  ])('stay if it is %s', (_, now) => {
    expect(plan([a], [now])).toEqual([])
    expect(plan([], [now], [formerly(a)])).toEqual([])
  })

  it('make room for those of another company, and come back with their own', () => {
    const other = { ...a, ISIN: NEW, Sid: '99' }
    expect(plan([a], [other])).toEqual([`A > A~${OLD}`, `A~${NEW} > A`])
    expect(plan([other], [a])).toEqual([`A > A~${NEW}`, `A~${OLD} > A`])
    expect(listingWarnings([a], [other])).toEqual([
      `file names: A (${NEW}) is A, which belonged to A (${OLD}), whose files are now A~${OLD}; files under earlier names stay as they are`,
      `no longer listed: A (${OLD}); their own files stay; their records are removed from files over all stocks`,
    ])
  })

  it('make room after days on which nobody had the symbol, too, and then it is told', () => {
    const [other, b] = [
      { ...a, ISIN: NEW, Sid: '99' },
      { ...B, ISIN: 'INE222B01011' },
    ]
    expect(plan([b], [b, other], [formerly(a)])).toEqual([`A > A~${OLD}`, `A~${NEW} > A`])
    expect(listingWarnings([b], [b, other], [formerly(a)])).toEqual([
      `file names: A (${NEW}) is A, which belonged to A (${OLD}), whose files are now A~${OLD}; files under earlier names stay as they are`,
    ])
    // The last one to have it counts, and a listed company that takes it is another one, too.
    expect(plan([b], [b, a], [formerly(a), formerly(other)])).toEqual([`A > A~${NEW}`, `A~${OLD} > A`])
    expect(plan([b], [{ ...b, Symbol: 'A' }], [formerly(a)])).toEqual([`A > A~${OLD}`, `A~${b.ISIN} > A`])
    expect(plan([b], [b, a], [formerly(a)])).toEqual([])
    expect(plan([{ ...a, Symbol: 'B2' }], [a], [formerly(a)])).toEqual([])
  })

  it('make room for another share of the issuer that takes the symbol', () => {
    const dvr = { ...a, Symbol: 'ADVR', ISIN: 'INE149K01032', Sid: '7' }
    expect(plan([a, dvr], [{ ...dvr, Symbol: 'A' }])).toEqual([`A > A~${OLD}`, `A~${dvr.ISIN} > A`])
    expect(plan([a, dvr], [a, dvr])).toEqual([])
    expect(plan([a], [a, dvr])).toEqual([])
  })
})
