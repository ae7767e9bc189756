import fc from 'fast-check'
import { firstValueFrom, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { sortDescending } from '../../src/operators/row-lists.js'
import { itWithMarbles } from '../support/marbles.js'

interface Deal {
  readonly date: string
  readonly n: number
}

const byDate = ({ date }: Deal): string => date
const old: Deal = { date: '2026-01-31', n: 1 }
const recent: Deal = { date: '2026-02-12', n: 2 }
const twin: Deal = { date: '2026-02-12', n: 3 }
const undated: Deal = { date: '', n: 4 }
const anyDeals: fc.Arbitrary<readonly Deal[]> = fc.array(
  fc.record({ date: fc.constantFrom('', '2025-12-31', '2026-01-01', '2026-01-02'), n: fc.nat() }),
)
const bug = new TypeError('a bug')

describe('sortDescending', () => {
  itWithMarbles('sorts each list newest first, rows of one day in their order, undated rows last', (m) => {
    const source = m.cold<readonly Deal[]>('-a-b|', { a: [undated, old, recent, twin], b: [twin, recent] })
    const expected = '                      -x-y|'

    m.expect(source.pipe(sortDescending(byDate))).toBeObservable(expected, {
      x: [recent, twin, old, undated],
      y: [twin, recent],
    })
    m.expect(source).toHaveSubscriptions('^---!')
  })

  itWithMarbles('leaves an empty list empty', (m) => {
    const source = m.cold<readonly Deal[]>('-(a|)', { a: [] })

    m.expect(source.pipe(sortDescending(byDate))).toBeObservable('-(a|)', { a: [] })
    m.expect(source).toHaveSubscriptions('                        ^!')
  })

  itWithMarbles('ends with the error of a key that throws', (m) => {
    const source = m.cold<readonly Deal[]>('-a-|', { a: [old] })
    const throws = (): never => {
      throw bug
    }

    m.expect(source.pipe(sortDescending<Deal>(throws))).toBeObservable('-#', undefined, bug)
    m.expect(source).toHaveSubscriptions('                              ^!')
  })

  it('is stable, loses no row and does not change the given list', async () => {
    const property = fc.asyncProperty(anyDeals, async (given) => {
      const places = new Map(given.map((row, place) => [row, place]))
      const before = [...given]
      const sorted = await firstValueFrom(of(given).pipe(sortDescending(byDate)))

      expect(given).toStrictEqual(before)
      expect(new Set(sorted)).toStrictEqual(new Set(given))
      expect(sorted).toHaveLength(given.length)
      for (const [place, row] of sorted.slice(1).entries()) {
        const above = sorted[place] ?? row
        const isOrdered =
          above.date === row.date ? (places.get(above) ?? 0) < (places.get(row) ?? 0) : above.date > row.date
        expect(isOrdered).toBe(true)
      }
    })
    await fc.assert(property)
  })
})
