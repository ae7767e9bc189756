import { defer, EMPTY, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createStorage } from '../../sinks/create-storage.js'
import type { MemoryFiles } from '../../sinks/memory.js'
import type { Output } from '../../src/engine/define-stream.js'
import type { Stock } from '../../src/model/stock.js'
import type { FileStore } from '../../src/storage/record-file.js'
import { contextOf, inMemory, isinOf, outcomeOf, sink } from './support.js'

const FILE = 'all.json'
const output: Output = { shape: 'rows-in-one-file', file: FILE }
const sorted: Output = { ...output, sortBy: { key: ({ date }) => String(date ?? '') } }

const row = (rank: number, a: unknown, date?: string) => ({
  ISIN: isinOf(rank),
  a,
  ...(date === undefined ? {} : { date }),
})
const textOf = (...rows: readonly unknown[]): string =>
  `[\n${rows.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`
const storing = (...rows: readonly unknown[]) => {
  const files: MemoryFiles = new Map([[FILE, { text: textOf(...rows), asOf: 0 }]])
  return inMemory(files)
}

describe('the sink of rows-in-one-file', () => {
  it('sorts records by the rank of their stock, and keeps the order within a stock', async () => {
    const place = inMemory()
    await sink(place, output, [
      outcomeOf(2, [row(2, 'x')]),
      outcomeOf(0, [row(0, 'b'), row(0, 'a')]),
      outcomeOf(1, [row(1, 'y')]),
    ])
    expect(place.files()).toEqual({ [FILE]: textOf(row(0, 'b'), row(0, 'a'), row(1, 'y'), row(2, 'x')) })
  })

  it('sorts records by key first, greatest first', async () => {
    const place = inMemory()
    const items = [
      outcomeOf(1, [row(1, 'x', '2026-02-12')]),
      outcomeOf(0, [row(0, 'a', '2026-02-11'), row(0, 'b', '2026-02-12'), row(0, 'c')]),
    ]
    await sink(place, sorted, items)
    const order = [
      row(0, 'b', '2026-02-12'),
      row(1, 'x', '2026-02-12'),
      row(0, 'a', '2026-02-11'),
      row(0, 'c'),
    ]
    expect(place.files()).toEqual({ [FILE]: textOf(...order) })
  })

  it('keeps the records of listed stocks that were not requested', async () => {
    const place = storing(row(0, 'old'), row(1, 'old'), row(2, 'old'))
    await sink(place, output, [outcomeOf(1, [row(1, 'new')])], contextOf(3))
    expect(place.files()).toEqual({ [FILE]: textOf(row(0, 'old'), row(1, 'new'), row(2, 'old')) })
  })

  it('keeps the records of failed or skipped stocks', async () => {
    const place = storing(row(0, 'old'), row(1, 'old'), row(2, 'old'))
    await sink(
      place,
      output,
      [outcomeOf(0, [], 'error'), outcomeOf(1, [], 'skipped'), outcomeOf(2, [row(2, 'new')])],
      contextOf(3),
    )
    expect(place.files()).toEqual({ [FILE]: textOf(row(0, 'old'), row(1, 'old'), row(2, 'new')) })
  })

  it('writes nothing if every stock failed', async () => {
    for (const files of [new Map(), new Map([[FILE, { text: '[\n{"kept":1}\n]\n', asOf: 0 }]])]) {
      const place = inMemory(files)
      const before = place.files()
      expect(
        await sink(place, output, [outcomeOf(0, [], 'error'), outcomeOf(1, [], 'http_503')], contextOf(2)),
      ).toEqual({
        files: 0,
        bytes: 0,
      })
      expect(place.files()).toEqual(before)
    }
  })

  it('drops the records of stocks that are empty now', async () => {
    const place = storing(row(0, 'old'), row(1, 'old'))
    await sink(place, output, [outcomeOf(0, []), outcomeOf(1, [], 'error')], contextOf(2))
    expect(place.files()).toEqual({ [FILE]: textOf(row(1, 'old')) })
  })

  it('drops the records of stocks that are no longer listed', async () => {
    const place = storing(row(7, 'old'), row(0, 'old'), { a: 'without ISIN' }, null, 7)
    await sink(place, output, [outcomeOf(1, [row(1, 'new')])], contextOf(2))
    expect(place.files()).toEqual({ [FILE]: textOf(row(0, 'old'), row(1, 'new')) })
  })

  it('sorts kept records by the present rank of their stock', async () => {
    const place = storing(row(2, 'old'), row(0, 'old'))
    await sink(place, output, [outcomeOf(1, [row(1, 'new')])], contextOf(3))
    expect(place.files()).toEqual({ [FILE]: textOf(row(0, 'old'), row(1, 'new'), row(2, 'old')) })
  })

  it('keeps the records of a stock with a new symbol, under that symbol', async () => {
    const place = storing({ ...row(0, 'old'), Symbol: 'BEFORE' })
    await sink(place, output, [outcomeOf(1, [row(1, 'new')])], contextOf(2))
    expect(place.files()).toEqual({ [FILE]: textOf({ Symbol: 'S0', ...row(0, 'old') }, row(1, 'new')) })
  })

  it('keeps the records of a stock with a new ISIN if no other stock has its symbol', async () => {
    const listed = contextOf(2).listed
    const own = (rank: number): string => (listed[rank]?.value as Stock | undefined)?.Symbol ?? ''
    const [changed, gone] = [
      { ...row(7, 'old'), Symbol: own(0) },
      { ...row(8, 'old'), Symbol: 'GONE' },
    ]
    const place = storing(changed, gone)
    await sink(place, output, [outcomeOf(0, [], 'error'), outcomeOf(1, [row(1, 'new')])], contextOf(2))
    const carried = { Symbol: own(0), ...row(0, 'old') }
    expect(place.files()).toEqual({ [FILE]: textOf(carried, row(1, 'new')) })

    // Of another company, unless the list before says that it is the same one.
    const foreign = { ...changed, ISIN: 'INE999Z01018' }
    for (const [earlierIsin, expected] of [
      [undefined, [row(1, 'new')]],
      [foreign.ISIN, [carried, row(1, 'new')]],
    ] as const) {
      const reused = storing(foreign)
      await sink(reused, output, [outcomeOf(1, [row(1, 'new')])], {
        ...contextOf(2),
        listed: listed.map((item) =>
          earlierIsin && item.rank === 0 ? { ...item, earlierIsins: [earlierIsin] } : item,
        ),
      })
      expect(reused.files()).toEqual({ [FILE]: textOf(...expected) })
    }

    const twice = listed.map((item) => ({ ...item, value: { ...(item.value as object), Symbol: own(0) } }))
    const other = storing(changed)
    await sink(other, output, [outcomeOf(0, [row(0, 'new')]), outcomeOf(1, [], 'error')], {
      ...contextOf(2),
      listed: twice,
    })
    expect(other.files()).toEqual({ [FILE]: textOf(row(0, 'new')) })
  })

  it('does not read the earlier file if every listed stock was answered', async () => {
    const place = inMemory(new Map([[FILE, { text: 'damaged', asOf: 0 }]]))
    await sink(place, output, [outcomeOf(0, [row(0, 'new')]), outcomeOf(1, [])], contextOf(2))
    expect(place.files()).toEqual({ [FILE]: textOf(row(0, 'new')) })
  })

  it.each(['', '{', '{"a":1}', '[\n{"ISIN"'])(
    'does not overwrite %j, from which it cannot keep records',
    async (text) => {
      const place = inMemory(new Map([[FILE, { text, asOf: 0 }]]))
      await expect(sink(place, output, [outcomeOf(0, [row(0, 'new')])], contextOf(2))).rejects.toThrow(FILE)
      expect(place.files()).toEqual({ [FILE]: text })
    },
  )

  describe('when many stocks with earlier records have none now', () => {
    const emptied = (count: number, of: number) =>
      Array.from({ length: of }, (_, rank) => outcomeOf(rank, rank < count ? [] : [row(rank, 'new')]))
    const earlier = (of: number) => storing(...Array.from({ length: of }, (_, rank) => row(rank, 'old')))

    it('keeps their records and reports it', async () => {
      const place = earlier(60)
      const refusals: string[] = []
      await sink(place, output, emptied(20, 60), {
        ...contextOf(60),
        refuse: (code, text) => void refusals.push(`${code}: ${text}`),
      })
      const expected = Array.from({ length: 60 }, (_, rank) => row(rank, rank < 20 ? 'old' : 'new'))
      expect(place.files()).toEqual({ [FILE]: textOf(...expected) })
      expect(refusals).toEqual([
        'shrink: 20 of 60 stocks with earlier records have none now; their earlier records stay',
      ])
    })

    it.each([
      ['they are too few', 19, 30, {}],
      ['they are less than a third', 20, 67, {}],
      ['shrinking is accepted', 20, 60, { accepts: () => true }],
    ])('drops their records if %s', async (_, count, of, context) => {
      const place = earlier(of)
      await sink(place, output, emptied(count, of), { ...contextOf(of), ...context })
      expect(place.files()).toEqual({
        [FILE]: textOf(...Array.from({ length: of - count }, (__, rank) => row(rank + count, 'new'))),
      })
    })

    it.each([
      [19, 0],
      [20, 1],
      [40, 1],
    ])('with %i empty stocks, reads the earlier file so many times: %i', async (count, times) => {
      let reads = 0
      const owners = defer(() => {
        reads += 1
        return EMPTY
      })
      const none = () => of(undefined)
      const files: FileStore = {
        read: none,
        tail: none,
        exists: () => of(false),
        records: () => EMPTY,
        write: () => of(1),
        owners: () => owners,
        openSession: () => EMPTY,
      }
      await sink(
        { name: 'files', storage: createStorage(files), files: () => ({}) },
        output,
        emptied(count, 60),
        contextOf(60),
      )
      expect(reads).toBe(times)
    })

    it('ignores a damaged earlier file', async () => {
      const place = inMemory(new Map([[FILE, { text: 'damaged', asOf: 0 }]]))
      await sink(place, output, emptied(20, 60), contextOf(60))
      expect(place.files()).toEqual({
        [FILE]: textOf(...Array.from({ length: 40 }, (_, rank) => row(rank + 20, 'new'))),
      })
    })
  })
})
