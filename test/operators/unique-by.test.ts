import fc from 'fast-check'
import { firstValueFrom, from } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { uniqueBy } from '../../src/operators/row-lists.js'
import { itWithMarbles } from '../support/marbles.js'

interface Filing {
  readonly id: string
  readonly n: number
  readonly url?: string
}

const byId = ({ id }: Filing): string => id
const later = (row: Filing, unique: Filing): boolean => row.url !== undefined && unique.url === undefined

const rows = {
  a: { id: 'a', n: 1 },
  A: { id: 'a', n: 2, url: 'a.pdf' },
  o: { id: 'a', n: 3, url: 'other.pdf' },
  b: { id: 'b', n: 4 },
} satisfies Record<string, Filing>

const anyRows = fc.array(fc.record({ id: fc.constantFrom('a', 'b', 'c', '', '__proto__'), n: fc.nat(9) }))
const bug = new TypeError('a bug')
const throws = (): never => {
  throw bug
}

describe('uniqueBy', () => {
  itWithMarbles(
    'emits one row per key on completion, the first of each key, in the order of the keys',
    (m) => {
      const source = m.cold<Filing>('b-a-A-b-|', rows)
      const expected = '             --------(x|)'

      m.expect(source.pipe(uniqueBy(byId))).toBeObservable(expected, { x: [rows.b, rows.a] })
      m.expect(source).toHaveSubscriptions('^-------!')
    },
  )

  itWithMarbles('replaces a row by a later one that is preferred', (m) => {
    const source = m.cold<Filing>('a-b-A-o-|', rows)
    const expected = '             --------(x|)'

    m.expect(source.pipe(uniqueBy(byId, later))).toBeObservable(expected, { x: [rows.A, rows.b] })
  })

  itWithMarbles('ends with the error of a key that throws', (m) => {
    const source = m.cold<Filing>('-a-b|', rows)

    m.expect(source.pipe(uniqueBy<Filing>(throws))).toBeObservable('-#', undefined, bug)
    m.expect(source).toHaveSubscriptions('                          ^!')
  })

  itWithMarbles('ends with the error of a preference that throws', (m) => {
    const source = m.cold<Filing>('-a-A|', rows)

    m.expect(source.pipe(uniqueBy(byId, throws))).toBeObservable('---#', undefined, bug)
    m.expect(source).toHaveSubscriptions('                        ^--!')
  })

  it('emits exactly the first row of every key, whatever the rows', async () => {
    const property = fc.asyncProperty(anyRows, async (given) => {
      const unique = await firstValueFrom(from(given).pipe(uniqueBy(byId)))
      expect(unique).toStrictEqual(
        given.filter((row, place) => given.findIndex(({ id }) => id === row.id) === place),
      )
    })
    await fc.assert(property)
  })

  it('emits the last row of every key at the position of the first, if each is preferred to the previous one', async () => {
    const property = fc.asyncProperty(anyRows, async (given) => {
      const unique = await firstValueFrom(from(given).pipe(uniqueBy(byId, () => true)))
      expect(unique).toStrictEqual([...new Map(given.map((row) => [row.id, row])).values()])
    })
    await fc.assert(property)
  })
})
