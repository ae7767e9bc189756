import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeRows, encodeRows } from '../../../src/storage/history/table-codec.js'

/** What is stored is read back from JSON. */
const roundTrip = (rows: readonly unknown[], base: readonly unknown[]): readonly unknown[] =>
  decodeRows(JSON.parse(JSON.stringify(encodeRows(rows, base))), base)

// JSON has no negative zero.
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown)
const symbol = fc.constantFrom('A', 'B', 'C', 'D', 'E')
const cell = fc.oneof({ weight: 4, arbitrary: fc.constantFrom<unknown>(null, 1, 2.5, '', 'x') }, json)
const key = fc.oneof({ weight: 6, arbitrary: fc.constantFrom('ISIN', 'Ltp', '__proto__', '1', '') }, fc.string())
const record = fc.tuple(symbol, fc.array(fc.tuple(key, cell))).map(([name, cells]) => Object.fromEntries([['Symbol', name], ...cells]))
const list = fc.array(fc.oneof({ weight: 9, arbitrary: record }, json), { maxLength: 30 })

/** A later version of a list: rows gone, twice, elsewhere, new, and with another cell. */
const versions = list.chain((base) =>
  fc.tuple(
    fc.constant(base),
    fc.array(fc.oneof({ weight: 3, arbitrary: base.length > 0 ? fc.constantFrom(...base) : json }, record), { maxLength: 40 }),
    fc.array(fc.tuple(fc.nat(40), key, cell)),
  ),
)

const change = (rows: readonly unknown[], edits: readonly (readonly [number, string, unknown])[]): readonly unknown[] =>
  rows.map((row, index) => {
    const own = edits.filter(([at]) => at === index).map(([, name, value]) => [name, value] as const)
    return typeof row === 'object' && row !== null && !Array.isArray(row) ? Object.fromEntries([...Object.entries(row), ...own]) : row
  })

describe('encoded rows', () => {
  it('decode to the same rows, with their keys in the same order', () => {
    fc.assert(
      fc.property(versions, ([base, rows, edits]) => {
        const now = change(rows, edits)
        expect(JSON.stringify(roundTrip(now, base))).toBe(JSON.stringify(now))
        expect(JSON.stringify(roundTrip(base, []))).toBe(JSON.stringify(base))
        expect(roundTrip(now, [])).toEqual(now)
      }),
      { numRuns: 2_000 },
    )
  })

  const market = Array.from({ length: 200 }, (_, rank) => ({ Symbol: `S${rank}`, Ltp: rank, Note: { text: 'long '.repeat(20) } }))

  it('of an unchanged list hold no row', () => {
    expect(encodeRows(market, market)).toEqual({ from: [0, 200], shapes: [], shapeOf: [-1, 200], columns: [] })
  })

  it('of a list with one price changed, one stock gone and one added hold only these', () => {
    const added = { Symbol: 'NEW', Ltp: 1, Note: null }
    const now = [...market.slice(0, 7), ...market.slice(8, 100), { ...market[100], Ltp: -1 }, ...market.slice(101), added]
    const encoded = encodeRows(now, market)
    expect(encoded.from).toEqual([0, 7, 8, 192, -1, 1])
    expect(encoded.columns).toEqual([
      { key: 'Symbol', at: [199], values: ['NEW'] },
      { key: 'Ltp', at: [99, 100], values: [-1, 1] },
      { key: 'Note', at: [199], values: [null] },
    ])
  })

  it('keep a column whole if most of it changed', () => {
    const now = market.map((row) => ({ ...row, Ltp: row.Ltp + 1 }))
    expect(encodeRows(now, market).columns).toEqual([{ key: 'Ltp', values: now.map(({ Ltp }) => Ltp) }])
  })
})
