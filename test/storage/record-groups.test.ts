import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRecordGroup, sortRecords } from '../../src/storage/record-groups.js'

/** A record by its group, its index in the group, and its key. */
interface RecordKey {
  readonly group: number
  readonly index: number
  readonly rank: number
  readonly key: string
}

const allOf = (ranked: readonly (readonly [rank: number, keys: readonly string[]])[]): readonly RecordKey[] =>
  ranked.flatMap(([rank, keys], group) => keys.map((key, index) => ({ group, index, rank, key })))

const sorted = (all: readonly RecordKey[]): readonly RecordKey[] =>
  [...all].sort((one, other) => (one.key < other.key ? 1 : one.key > other.key ? -1 : one.rank - other.rank))

const merged = (ranked: readonly (readonly [rank: number, keys: readonly string[]])[]): readonly string[] =>
  [...sortRecords(ranked.map(([rank, keys], group) => [rank, createRecordGroup(group, keys.length, keys)] as const))].map(
    ([group, index]) => `${group}/${index}`,
  )

const names = (all: readonly RecordKey[]): readonly string[] => all.map(({ group, index }) => `${group}/${index}`)

describe('sorting the records of journal lines', () => {
  const key = fc.oneof(
    fc.constantFrom('', '2026-02-12', '2026-02-11', 'é', '\u{1f600}'),
    fc.string({ maxLength: 3 }),
    fc.constantFrom('2026-02-12 09:15', '2026-02-12 09:30', '2026-02-12 09:15:01', '2026-02-12 10:15', '2026-02-11 10:15'),
  )
  const ranked = fc.array(fc.tuple(fc.nat(9), fc.array(key, { maxLength: 6 })), { maxLength: 12 })

  it('sorts by key, rank and position, as one sort of all records would', () => {
    fc.assert(
      fc.property(ranked, (groups) => {
        expect(merged(groups)).toEqual(names(sorted(allOf(groups))))
      }),
    )
  })

  it('sorts by rank if there are no keys', () => {
    const groups = [2, 0, 1, 0].map((rank, place) => [rank, createRecordGroup(`${place}`, 2, undefined)] as const)
    expect([...sortRecords(groups)].map(([place, index]) => `${place}/${index}`)).toEqual([
      '1/0',
      '1/1',
      '3/0',
      '3/1',
      '2/0',
      '2/1',
      '0/0',
      '0/1',
    ])
  })
})
