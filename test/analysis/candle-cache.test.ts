import { existsSync, mkdirSync, readdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collected, duckdb, objectsOf, rowsOf } from './support.js'

describe.skipIf(!duckdb)('the copy of the candles', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(20, 300))
    // A candle twice on the last day, and one that is damaged.
    const file = join(out, 'ohlcv_data', 'TCS.csv')
    writeFileSync(file, '1770834600,1,2,0.5,1.5,10\n1770834600,2,3,1,2.5,20\nx,1,2,3,4,12.5\n', { flag: 'a' })
  }, 60_000)
  afterAll(() => remove())

  const copies = (): readonly string[] => {
    const folder = join(out, '.scripstream', 'cache')
    return existsSync(folder) ? readdirSync(folder) : []
  }

  it('is not written without a request, or for small files', async () => {
    await rowsOf('select count(*) from candles', out)
    await rowsOf('select count(*) from candles', out, 1e9)
    expect(copies()).toEqual([])
  })

  it('is not written by a statement that needs no candles', async () => {
    await rowsOf('from master', out, 0)
    expect(copies()).toEqual([])
  })

  it.each([
    ['candles', 'from candles'],
    ['candle_days', 'from candle_days order by all'],
    ['candles_adjusted', 'from candles_adjusted order by all'],
    ['breadth', 'select * from breadth order by all'],
    ['screener', 'from screener order by symbol'],
  ])('gives the same %s', async (_, sql) => {
    const plain = await objectsOf(sql, out)
    const [written, read] = [await objectsOf(sql, out, 0), await objectsOf(sql, out, 0)]
    expect(plain.length).toBeGreaterThan(10)
    // Sums of numbers depend on their order.
    const round = (rows: typeof plain) =>
      rows.map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([key, value]) => [key, typeof value === 'number' ? Number(value.toPrecision(9)) : value]),
        ),
      )
    expect(round(written)).toEqual(round(plain))
    expect(round(read)).toEqual(round(plain))
    expect(copies()).toEqual([expect.stringMatching(/^candles-\w+\.parquet$/)])
  })

  it('is replaced after a change of a file, even one that keeps the size', async () => {
    const [before] = copies()
    utimesSync(join(out, 'ohlcv_data', 'TCS.csv'), new Date(), new Date())
    await rowsOf('select count(*) from candles', out, 0)
    expect(copies()).toHaveLength(1)
    expect(copies()).not.toEqual([before])
  })

  it('is replaced after damage', async () => {
    const [path] = copies().map((name) => join(out, '.scripstream', 'cache', name))
    truncateSync(path as string, 1_000)
    expect(await objectsOf('select count(*) from candles', out, 0)).toEqual(await objectsOf('select count(*) from candles', out))
  })

  it('is only read if it is for the same files', async () => {
    const count = await rowsOf('select count(*) from candles', out, 0)
    writeFileSync(join(out, 'ohlcv_data', 'ADDED.csv'), 'Timestamp,Open,High,Low,Close,Volume\n1770834600,1,2,0.5,1.5,10\n')
    expect(Number((await rowsOf('select count(*) from candles', out, 0))[0]?.[0])).toBe(Number(count[0]?.[0]) + 1)
  })

  it('does not open other files to a statement', async () => {
    const path = join(out, '.scripstream', 'cache', copies()[0] as string)
    await expect(rowsOf(`from read_parquet('${path}')`, out, 0)).rejects.toThrow('not permitted')
    await expect(rowsOf(`from '${path}'`, out, 0)).rejects.toThrow('not a table')
  })

  it('is not needed: without a place for it the files are read', async () => {
    const folder = join(out, '.scripstream', 'cache')
    rmSync(folder, { recursive: true })
    writeFileSync(folder, '')
    expect(await rowsOf('select count(*) > 0 from candles', out, 0)).toEqual([['true']])
    rmSync(folder)
    mkdirSync(folder)
  })
})
