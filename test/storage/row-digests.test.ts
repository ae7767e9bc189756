import { describe, expect, it } from 'vitest'
import {
  createRowDigests,
  digestRows,
  type TableRow,
  toColumnValues,
  type Value,
} from '../../src/storage/table-rows.js'
import { createTable } from './history/support.js'

const TABLE = createTable('rows', 'rows.json', { one: ['One', 'JSON'], other: ['Other', 'JSON'] })

const rowOf = (one: Value, other: Value = null): TableRow => ({ one, other, extra: null })

const keysOf = (rows: readonly TableRow[]): readonly number[] => {
  const digests = createRowDigests(TABLE)
  digests.add(toColumnValues(TABLE, rows))
  return digests.keys
}

describe('the digests of rows', () => {
  it('differ if a value differs, or is of another kind, or in another column', () => {
    const values: readonly Value[] = [
      null,
      '',
      'null',
      '0',
      0,
      1,
      -1,
      '1',
      1n,
      '1n',
      0.1,
      0.1 + Number.EPSILON,
      'ab',
      'ba',
      'a',
      'é',
      'e\u0301',
      '\u0000',
    ]
    const rows = [
      ...values.map((value) => rowOf(value)),
      ...values.slice(1).map((value) => rowOf(null, value)),
      rowOf('a', 'b'),
      rowOf('', 'ab'),
    ]
    expect(new Set(keysOf(rows)).size).toBe(rows.length)
  })

  it('differ if two numbers change their signs, or change places', () => {
    const pairs = Array.from({ length: 2_000 }, (_, at) => [0.25 + at, 17.3 + (at % 90)] as const)
    const rows = pairs.flatMap(([one, other]) => [
      rowOf(one, other),
      rowOf(-one, -other),
      rowOf(-one, other),
      rowOf(one, -other),
    ])
    const small = Array.from({ length: 900 }, (_, at) => rowOf(Math.floor(at / 30), at % 30))
    expect(new Set(keysOf(rows)).size).toBe(rows.length)
    expect(new Set(keysOf(small)).size).toBe(small.length)
  })

  it('are spread over 53 bits', () => {
    const rows = Array.from({ length: 200_000 }, (_, at) => rowOf(`S${at % 500}`, Math.floor(at / 500)))
    const keys = keysOf(rows)
    expect(new Set(keys).size).toBe(rows.length)
    expect(Math.max(...keys.slice(0, 1_000))).toBeGreaterThan(2 ** 52)
    expect(keys.every((key) => Number.isSafeInteger(key) && key >= 0)).toBe(true)
    // Of either half alone, 5 of 200,000 values come twice.
    for (const half of [keys.map((key) => key % 2 ** 32), keys.map((key) => Math.floor(key / 2 ** 21))])
      expect(new Set(half).size).toBeGreaterThan(rows.length - 50)
  })

  it('of a list are the same in whatever order, but not without a row that comes twice', () => {
    const rows = [rowOf('a'), rowOf('b'), rowOf('b')]
    expect(digestRows(TABLE, rows.toReversed())).toBe(digestRows(TABLE, rows))
    expect(digestRows(TABLE, rows.slice(1))).not.toBe(digestRows(TABLE, rows))
    expect(digestRows(TABLE, rows.slice(0, 2))).not.toBe(digestRows(TABLE, rows))
  })

  it('take no notice of the sign of zero, which JSON does not keep', () => {
    expect(keysOf([rowOf(-0)])).toEqual(keysOf([rowOf(0)]))
  })
})
