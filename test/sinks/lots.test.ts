import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inOrder, lotOf } from '../../sinks/lots.js'

/** A record by its lot, its place in it, and its key. */
interface Told {
  readonly lot: number
  readonly nth: number
  readonly rank: number
  readonly key: string
}

const allOf = (ranked: readonly (readonly [rank: number, keys: readonly string[]])[]): readonly Told[] =>
  ranked.flatMap(([rank, keys], lot) => keys.map((key, nth) => ({ lot, nth, rank, key })))

const sorted = (all: readonly Told[]): readonly Told[] =>
  [...all].sort((one, other) => (one.key < other.key ? 1 : one.key > other.key ? -1 : one.rank - other.rank))

const merged = (ranked: readonly (readonly [rank: number, keys: readonly string[]])[]): readonly string[] =>
  [...inOrder(ranked.map(([rank, keys], lot) => [rank, lotOf(lot, keys.length, keys)] as const))].map(([lot, nth]) => `${lot}/${nth}`)

const names = (all: readonly Told[]): readonly string[] => all.map(({ lot, nth }) => `${lot}/${nth}`)

describe('the records of lots in order', () => {
  const key = fc.oneof(
    fc.constantFrom('', '2026-02-12', '2026-02-11', 'é', '\u{1f600}'),
    fc.string({ maxLength: 3 }),
    fc.constantFrom('2026-02-12 09:15', '2026-02-12 09:30', '2026-02-12 09:15:01', '2026-02-12 10:15', '2026-02-11 10:15'),
  )
  const ranked = fc.array(fc.tuple(fc.nat(9), fc.array(key, { maxLength: 6 })), { maxLength: 12 })

  it('are those of all lots by key, rank and place, as if all were sorted at once', () => {
    fc.assert(
      fc.property(ranked, (lots) => {
        expect(merged(lots)).toEqual(names(sorted(allOf(lots))))
      }),
    )
  })

  it('are those of one rank after the other, where there is nothing to sort by', () => {
    const lots = [2, 0, 1, 0].map((rank, place) => [rank, lotOf(`${place}`, 2, undefined)] as const)
    expect([...inOrder(lots)].map(([place, nth]) => `${place}/${nth}`)).toEqual(['1/0', '1/1', '3/0', '3/1', '2/0', '2/1', '0/0', '0/1'])
  })
})
