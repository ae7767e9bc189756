import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { collect, joinLines, readLines } from '../../../src/storage/history/compression.js'
import { decodeChanges, encodeRows, joinBlocks } from '../../../src/storage/history/row-codec.js'
import { type Rows, readTexts, storeRows } from '../../../src/storage/history/rows.js'
import { splitValues } from '../../../src/storage/history/split-values.js'
import { temporaryFolder } from '../../support/folders.js'

const toText = (lines: AsyncIterable<readonly string[]>): Promise<Buffer> => collect(joinLines(lines))

/** Opens the rows of a text, and closes them after use. */
const withRows = async <T>(path: string, text: Buffer, use: (rows: Rows) => Promise<T>): Promise<T> => {
  const rows = await storeRows(path, [text])
  return use(rows).finally(rows.close)
}

const encode = (text: Buffer, base: Rows): Promise<Buffer> => toText(encodeRows(readLines([text]), base))

const decode = async (difference: Buffer, base: Rows): Promise<Rows> =>
  base.change(await joinBlocks(decodeChanges(readLines([difference]))))

const textOf = (rows: Rows): string => readTexts(rows).join('\n')

const json = fc.jsonValue()
const symbol = fc.constantFrom('A', 'B', 'C', 'D', 'E')
const cell = fc.oneof({ weight: 4, arbitrary: fc.constantFrom<unknown>(null, 1, 2.5, '', 'x', 'a,b]:"{', '₹') }, json)
const key = fc.oneof({ weight: 6, arbitrary: fc.constantFrom('ISIN', 'Ltp', '__proto__', '1', '', ':') }, fc.string())
const record = fc.tuple(symbol, fc.array(fc.tuple(key, cell))).map(([name, cells]) => Object.fromEntries([['Symbol', name], ...cells]))
const line = fc.oneof(
  { weight: 9, arbitrary: record.map((row) => `${JSON.stringify(row)},`) },
  json.map((value) => JSON.stringify(value)),
  fc.string(),
)
const lines = fc.array(line, { maxLength: 30 })

/** Later versions of a list: lines gone, twice, elsewhere, new, and with another value. */
const versions = fc
  .tuple(lines, fc.array(fc.array(fc.tuple(fc.nat(40), line, fc.nat(9)), { maxLength: 40 }), { maxLength: 4 }))
  .map(([first, edits]) => {
    const all = [first]
    for (const picks of edits)
      all.push(
        picks.map(([at, other, kind]) => {
          const earlier = all.at(-1)?.[at]
          return earlier === undefined || kind === 0
            ? other
            : kind < 4
              ? earlier.replace(/\d|"/, (found) => (found === '"' ? '"z' : '7'))
              : earlier
        }),
      )
    return all.map((version) => Buffer.from(version.join('\n')))
  })

describe('rows as the difference from others', () => {
  it('are the same text again, whatever it is, also after several differences', async () => {
    const folder = temporaryFolder()
    let files = 0
    await fc.assert(
      fc.asyncProperty(versions, ([first = Buffer.alloc(0), ...later]) =>
        withRows(join(folder, String(files++)), first, async (base) => {
          let rows = base
          expect(textOf(rows)).toBe(first.toString('latin1'))
          for (const text of later) {
            rows = await decode(await encode(text, rows), rows)
            expect(textOf(rows)).toBe(text.toString('latin1'))
          }
        }),
      ),
      { numRuns: 200 },
    )
  })

  const market = (count: number, priceOf = (rank: number) => rank, noteOf = (_: number) => 'long '.repeat(20)) =>
    Array.from({ length: count }, (_, rank) => JSON.stringify({ Symbol: `S${rank}`, Ltp: priceOf(rank), Note: { text: noteOf(rank) } }))
  const toArray = (rows: readonly string[]): Buffer => Buffer.from(`[\n${rows.join(',\n')}\n]\n`)
  const encodeFrom = (before: readonly string[], now: readonly string[]): Promise<string> =>
    withRows(join(temporaryFolder(), 'base'), toArray(before), async (base) => (await encode(toArray(now), base)).toString())

  it('have no row if nothing has changed', async () => {
    expect(await encodeFrom(market(200), market(200))).toBe('{"runs":[0,0,203],"changed":[],"columns":[],"lines":0}')
  })

  it('have only what has changed: a price, the order, a stock that is gone, and one that is new', async () => {
    const before = market(200)
    const changed = JSON.stringify({ Symbol: 'S100', Ltp: -1, Note: { text: 'long '.repeat(20) } })
    const added = JSON.stringify({ Symbol: 'NEW', Ltp: 1 })
    const now = [added, ...before.slice(0, 7), ...before.slice(8, 100), changed, before[102] ?? '', before[101] ?? '', ...before.slice(103)]
    const [header, ...values] = (await encodeFrom(before, now)).split('\n')
    expect(values).toEqual(['-1', `${added},`])
    expect(JSON.parse(header ?? '')).toEqual({
      runs: [0, 0, 1, 1, 0, 7, 0, 1, 93, 0, 1, 1, 0, -2, 1, 0, 1, 99],
      changed: [100],
      columns: [[3, 0]],
      lines: 2,
    })
  })

  it('have one value if the last row is another one, which has no comma', async () => {
    const before = market(5)
    const [header, ...values] = (await encodeFrom(before, before.toReversed())).split('\n')
    expect(values).toEqual(['}},', '}}'])
    expect(JSON.parse(header ?? '')).toMatchObject({ lines: 2 })
  })

  it('have the values of a column together', async () => {
    const now = market(
      3,
      (rank) => rank + 10,
      (rank) => `note ${rank}`,
    )
    expect((await encodeFrom(market(3), now)).split('\n').slice(1)).toEqual(['10', '11', '12', '"note 0"', '"note 1"', '"note 2"'])
  })

  it('are found by as few of their first values as tell them apart', async () => {
    const deals = (client: string) =>
      ['A', 'B'].flatMap((name) => [1, 2].map((day) => JSON.stringify({ Exchange: 'NSE', name, day, client })))
    expect((await encodeFrom(deals('x'), deals('y').toReversed())).split('\n').slice(1)).toEqual(['"y"', '"y"', '"y"', '"y"', '},', '}'])
  })

  it('may be many, and longer than any that is split into values', async () => {
    const long = 'x"1":2,'.repeat(200_000)
    const [before, now] = [
      [...market(20_000), long, '{}'],
      [long, ...market(20_000, (rank) => rank % 7), '{}'],
    ]
    await withRows(join(temporaryFolder(), 'base'), toArray(before), async (base) => {
      const difference = await encode(toArray(now), base)
      expect(textOf(await decode(difference, base))).toBe(toArray(now).toString())
      expect(difference.length).toBeLessThan(200_000)
    })
  })
})

describe('the values of a row', () => {
  it.each([
    ['{"a":1,"b":"x","c":[true,null,-2.5e3],"d":{"e":""}},', ['1', '"x"', 'true', 'null', '-2.5e3', '""']],
    ['{"a":"b\\"c:\\\\","":"],["}', ['"b\\"c:\\\\"', '"],["']],
    ['TCS,Tata Consultancy,20,1', ['20', '1']],
    ['', []],
  ])('of %s', (row, values) => {
    expect(splitValues(row).filter((_, place) => place % 2 === 1)).toEqual(values)
    expect(splitValues(row).join('')).toBe(row)
  })
})

describe('the lines of a text', () => {
  it('are the same text again, wherever it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 9 })), async (parts) => {
        const chunks = parts.map((part) => Buffer.from(part.map((byte) => (byte % 3 === 0 ? 10 : byte))))
        expect(await toText(readLines(chunks))).toEqual(Buffer.concat(chunks))
      }),
    )
  })

  it('take linear time, also if one has many chunks: each chunk is scanned once', async () => {
    const split = vi.spyOn(String.prototype, 'split')
    try {
      const chunks = Array<Buffer>(200).fill(Buffer.alloc(100, 'x'))
      for await (const lines of readLines(chunks)) expect(lines.map(({ length }) => length)).toEqual([20_000])
      const scanned = split.mock.contexts.map(String).filter((text) => /^x+$/.test(text))
      expect(scanned.map(({ length }) => length)).toEqual(chunks.map(({ length }) => length))
    } finally {
      split.mockRestore()
    }
  })
})
