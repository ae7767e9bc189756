import { describe, expect, it } from 'vitest'
import { compareIdentifiers, findIdentifierProblems, type Identifiers } from '../../src/market/listings.js'

const listOf = (count: number): readonly Identifiers[] =>
  Array.from({ length: count }, (_, place) => ({
    symbol: `S${place}`,
    ISIN: `INE${place}`,
    Sid: String(1_000 + place),
  }))

/** Gives the first `count` entries the value of the next entry. */
const shifted = (list: readonly Identifiers[], name: string, count = list.length): readonly Identifiers[] =>
  list.map((entry, place) =>
    place < count ? { ...entry, [name]: list[(place + 1) % list.length]?.[name] ?? '' } : entry,
  )

const problemsOf = (before: readonly Identifiers[], now: readonly Identifiers[]) => [
  ...findIdentifierProblems(compareIdentifiers(before, now)).keys(),
]

describe('a new master list', () => {
  it.each(['symbol', 'ISIN', 'Sid'])(
    'is refused as identity if every %s is the one of the next stock',
    (name) => {
      const problems = findIdentifierProblems(compareIdentifiers(listOf(60), shifted(listOf(60), name)))
      const [first] = listOf(60)
      expect([...problems]).toEqual([
        [
          'identity',
          expect.stringMatching(
            new RegExp(
              `^60 of 60 stocks have another symbol, ISIN or Sid at once, for example S0 has ${name} \\S+ instead of ${first?.[name]}`,
            ),
          ),
        ],
      ])
    },
  )

  it('is refused as identity if two identifiers are shifted by different distances', () => {
    const list = listOf(60)
    expect(problemsOf(list, shifted(shifted(shifted(list, 'ISIN'), 'Sid'), 'Sid'))).toEqual(['identity'])
  })

  it('passes with a handful of changed identifiers: up to 5, or up to 2 %', () => {
    expect(problemsOf(listOf(60), shifted(listOf(60), 'ISIN', 5))).toEqual([])
    expect(problemsOf(listOf(60), shifted(listOf(60), 'ISIN', 6))).toEqual(['identity'])
    expect(problemsOf(listOf(2_775), shifted(listOf(2_775), 'symbol', 55))).toEqual([])
    expect(problemsOf(listOf(2_775), shifted(listOf(2_775), 'symbol', 56))).toEqual(['identity'])
  })

  it.each(['symbol', 'ISIN', 'Sid'])(
    'is refused as identity if two listed stocks exchange their %s',
    (name) => {
      const [one, two, ...others] = listOf(60) as [Identifiers, Identifiers, ...Identifiers[]]
      const exchanged = [{ ...one, [name]: two[name] ?? '' }, { ...two, [name]: one[name] ?? '' }, ...others]
      expect([...findIdentifierProblems(compareIdentifiers(listOf(60), exchanged))]).toEqual([
        [
          'identity',
          expect.stringMatching(/^2 listed stocks exchanged an identifier, for example S0 has .* S1 has/),
        ],
      ])
    },
  )

  it('is refused as identity if two stocks exchange all but one identifier', () => {
    const [one, two, ...others] = listOf(60) as [Identifiers, Identifiers, ...Identifiers[]]
    expect(
      problemsOf(listOf(60), [
        { ...two, symbol: one.symbol as string },
        { ...one, symbol: two.symbol as string },
        ...others,
      ]),
    ).toEqual(['identity'])
  })

  it('passes if a stock takes the symbol that another one gives up for a new one', () => {
    const [one, two, ...others] = listOf(60) as [Identifiers, Identifiers, ...Identifiers[]]
    expect(
      problemsOf(listOf(60), [
        { ...one, symbol: two.symbol as string },
        { ...two, symbol: 'NEW' },
        ...others,
      ]),
    ).toEqual([])
  })

  it('passes in another order, with new stocks, and where an identifier is unknown', () => {
    const list = listOf(60)
    expect(problemsOf(list, [...listOf(70)].reverse())).toEqual([])
    expect(
      problemsOf(
        list.map((one) => ({ ...one, Sid: '' })),
        list,
      ),
    ).toEqual([])
    expect(problemsOf([], list)).toEqual([])
  })

  it('does not mix up stocks that share a symbol', () => {
    const list = listOf(60).map((one) => ({ ...one, symbol: 'SAME' }))
    expect(problemsOf(list, [...list].reverse())).toEqual([])
  })

  it('is refused as shrink if more than 5 stocks and more than 5 % are no longer listed', () => {
    expect(problemsOf(listOf(60), listOf(45))).toEqual(['shrink'])
    expect(problemsOf(listOf(60), listOf(55))).toEqual([])
    expect(problemsOf(listOf(2_775), listOf(2_775 - 138))).toEqual([])
    expect(problemsOf(listOf(2_775), listOf(2_775 - 139))).toEqual(['shrink'])
  })

  it('is refused as shrink if other stocks took the place of those that left', () => {
    expect(problemsOf(listOf(60), listOf(80).slice(20))).toEqual(['shrink'])
  })
})
