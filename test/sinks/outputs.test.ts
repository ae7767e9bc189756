import { describe, expect, it } from 'vitest'
import type { Output } from '../../src/engine/define-stream.js'
import type { ItemOutcome } from '../../src/model/outcome.js'
import { contextOf, inFolder, inMemory, isinOf, outcomeOf, type Place, sink } from './support.js'

const places = [
  { name: 'memory', open: (): Place => inMemory() },
  { name: 'a folder', open: (): Place => inFolder() },
]

const candle = (rank: number): readonly number[] => [1_770_834_600, 1.5, 2, 1, 1.25, rank]

interface Kind {
  readonly output: Output
  readonly rowsOf: (rank: number) => readonly unknown[]
  /** The expected files for a number of items. */
  readonly files: (items: number) => Readonly<Record<string, string>>
}

const perItem = (
  items: number,
  name: (rank: number) => string,
  text: (rank: number) => string,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Array.from({ length: items }, (_, rank) => [name(rank), text(rank)] as const).sort(([one], [other]) =>
      one < other ? -1 : 1,
    ),
  )

const kinds: readonly Kind[] = [
  {
    output: { shape: 'rows-in-one-file', file: 'all.json' },
    rowsOf: (rank) => [{ ISIN: isinOf(rank), a: '₹' }],
    files: (items) => ({
      'all.json':
        items === 0
          ? '[]\n'
          : `[\n${Array.from({ length: items }, (_, rank) => `{"ISIN":"${isinOf(rank)}","a":"₹"}`).join(',\n')}\n]\n`,
    }),
  },
  {
    output: { shape: 'array-per-item', file: '{exch}_{list}_list.json' },
    rowsOf: (rank) => [{ rank }, { b: null, a: '"\n' }],
    files: (items) =>
      perItem(
        items,
        (rank) => `nse_S${rank}_list.json`,
        (rank) => `[\n{"rank":${rank}},\n{"b":null,"a":"\\"\\n"}\n]\n`,
      ),
  },
  {
    output: {
      shape: 'document-per-item',
      file: 'deep/er/{SYMBOL}.json',
      document: (rows, { key }) => ({ key, rows }),
    },
    rowsOf: (rank) => [{ rank }],
    files: (items) =>
      perItem(
        items,
        (rank) => `deep/er/S${rank}.json`,
        (rank) => `{"key":"S${rank}","rows":[{"rank":${rank}}]}\n`,
      ),
  },
  {
    output: { shape: 'candles-per-item', file: 'ohlcv/{SYMBOL}.csv' },
    rowsOf: (rank) => [candle(rank)],
    files: (items) =>
      perItem(
        items,
        (rank) => `ohlcv/S${rank}.csv`,
        (rank) => `Timestamp,Open,High,Low,Close,Volume\n1770834600,1.5,2,1,1.25,${rank}\n`,
      ),
  },
  {
    output: { shape: 'text', file: '{SYMBOL}.csv' },
    rowsOf: (rank) => [`A,B ${rank}`, ' x '],
    files: (items) =>
      perItem(
        items,
        (rank) => `S${rank}.csv`,
        (rank) => `A,B ${rank}\n x \n`,
      ),
  },
]

const cases = kinds.flatMap((kind) =>
  places.map((place) => ({ shape: kind.output.shape, where: place.name, kind, place })),
)
const itemsOf = ({ rowsOf }: Kind, count: number): readonly ItemOutcome[] =>
  Array.from({ length: count }, (_, rank) => outcomeOf(rank, rowsOf(rank)))

describe.each(cases)('the sink of $shape in $where', ({ kind, place }) => {
  it.each([0, 1, 2, 100])('stores %i items, and reports the files and bytes once', async (count) => {
    const here = place.open()
    const report = await sink(here, kind.output, itemsOf(kind, count))
    const expected = kind.files(count)
    expect(here.files()).toEqual(expected)
    const bytes = Object.values(expected).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    expect(report).toEqual({ files: Object.keys(expected).length, bytes })
  })

  it('writes the same bytes for any order of items, and when repeated', async () => {
    const [one, other] = [place.open(), place.open()]
    await sink(one, kind.output, itemsOf(kind, 30))
    await sink(other, kind.output, [...itemsOf(kind, 30)].reverse())
    expect(other.files()).toEqual(one.files())
    await sink(one, kind.output, itemsOf(kind, 30))
    expect(one.files()).toEqual(other.files())
  })

  it.each(['rate_limit', 'http_503', 'error', 'skipped'] as const)(
    'does not change the file of an item that ended as %s',
    async (status) => {
      const here = place.open()
      const context = contextOf(3)
      await sink(here, kind.output, itemsOf(kind, 3), context)
      const before = here.files()
      await sink(
        here,
        kind.output,
        [outcomeOf(0, [], status), outcomeOf(1, [], status), outcomeOf(2, [], status)],
        context,
      )
      expect(here.files()).toEqual(before)
    },
  )

  it('stores keys such as __proto__ without changing a prototype', async () => {
    if (kind.output.shape === 'candles-per-item' || kind.output.shape === 'text') return
    const here = place.open()
    const row: unknown = JSON.parse(
      `{"ISIN":"${isinOf(0)}","__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}`,
    )
    await sink(here, kind.output, [outcomeOf(0, [row])], contextOf(2))
    await sink(here, kind.output, [outcomeOf(1, [row])], contextOf(2))
    expect(Object.values(here.files()).join()).toContain('"__proto__":{"isAdmin":true}')
    expect('isAdmin' in {}).toBe(false)
  })
})

describe('the sink of array-per-item', () => {
  const output: Output = { shape: 'array-per-item', file: '{list}.json', emptyWhenLost: true }

  it('writes an empty array for an item that is empty', async () => {
    const here = inMemory()
    expect(await sink(here, { ...output, emptyWhenLost: false }, [outcomeOf(0, [])])).toEqual({
      files: 1,
      bytes: 3,
    })
    expect(here.files()).toEqual({ 'S0.json': '[]\n' })
  })

  it.each(places)(
    'in $name writes an empty array for a failed item if configured, unless it has a file',
    async ({ open }) => {
      const here = open()
      await sink(here, output, [outcomeOf(0, [{ a: 1 }])])
      const report = await sink(here, output, [outcomeOf(0, [], 'error'), outcomeOf(1, [], 'http_503')])
      expect(here.files()).toEqual({ 'S0.json': '[\n{"a":1}\n]\n', 'S1.json': '[]\n' })
      expect(report).toEqual({ files: 1, bytes: 3 })
    },
  )

  it('writes the selected rows of an item', async () => {
    const here = inMemory()
    await sink(here, { ...output, select: (rows) => rows.slice(1) }, [outcomeOf(0, [{ a: 1 }, { a: 2 }])])
    expect(here.files()).toEqual({ 'S0.json': '[\n{"a":2}\n]\n' })
  })
})

const output: Output = { shape: 'document-per-item', file: '{SYMBOL}.json', document: (rows) => ({ rows }) }
const items = (empty: number, all: number) =>
  Array.from({ length: all }, (_, rank) => outcomeOf(rank, rank < empty ? [] : [{ rank }]))

describe('items that have a file and answer nothing now', () => {
  const refused = async (
    earlier: number,
    empty: number,
    all: number,
    more = {},
  ): Promise<readonly string[]> => {
    const place = inMemory(
      new Map(Array.from({ length: earlier }, (_, rank) => [`S${rank}.json`, { text: 'earlier', asOf: 0 }])),
    )
    const refusals: string[] = []
    const context = {
      ...contextOf(all),
      refuse: (code: string, text: string) => void refusals.push(`${code}: ${text}`),
      ...more,
    }
    await sink(place, output, items(empty, all), context)
    for (let rank = 0; rank < Math.min(earlier, empty); rank += 1)
      expect(place.files()[`S${rank}.json`]).toBe('earlier')
    return refusals
  }

  it('are refused when they are many at once; their files stay', async () => {
    expect(await refused(60, 20, 60)).toEqual([
      'shrink: 20 of 60 items with a file answered nothing or much less: their records stay',
    ])
  })

  it.each([
    ['fewer than 20', 60, 19, 40],
    ['less than a third', 100, 20, 70],
    ['without a file', 10, 40, 60],
  ])('pass when they are %s', async (_, earlier, empty, all) => {
    expect(await refused(earlier, empty, all)).toEqual([])
  })

  it('pass when the rule is accepted', async () => {
    expect(await refused(60, 20, 60, { accepts: () => true })).toEqual([])
  })
})
