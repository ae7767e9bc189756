import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collected, duckdb, objectsOf, rowsOf } from './support.js'

describe.skipIf(!duckdb)('the lake, for a query', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(20, 300))
    // A candle twice on the last day, and one that is damaged.
    const file = join(out, 'ohlcv_data', 'TCS.csv')
    writeFileSync(file, '1770834600,1,2,0.5,1.5,10\n1770834600,2,3,1,2.5,20\nx,1,2,3,4,12.5\n', { flag: 'a' })
  }, 60_000)
  afterAll(() => remove())

  const lake = (...names: readonly string[]): string => join(out, 'lake', ...names)
  const copies = (): readonly string[] => (existsSync(lake()) ? readdirSync(lake()).sort() : [])
  const inode = (table: string): number => statSync(lake(table, `${table}.parquet`)).ino

  it('is not written without a request, or for small files', async () => {
    await rowsOf('select count(*) from candles', out)
    await rowsOf('select count(*) from candles', out, 1e9)
    expect(copies()).toEqual([])
  })

  it('is not written by a statement that lists tables', async () => {
    await rowsOf('show tables', out, 0)
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
    expect(readdirSync(lake('candles'))).toEqual(['candles.parquet'])
  })

  it('is replaced after a change of a file, even one that keeps size and time, and only where it changed', async () => {
    const before = { candles: inode('candles'), screener: inode('screener'), deals: inode('deals') }
    const file = join(out, 'ohlcv_data', 'TCS.csv')
    const { atime, mtime } = statSync(file)
    writeFileSync(file, readFileSync(file, 'utf8').replace('1770834600,1,2,0.5,1.5,10', '1770834600,9,9,9.5,9.5,10'))
    utimesSync(file, atime, mtime)
    await rowsOf('from screener', out, 0)
    expect(inode('candles')).not.toBe(before.candles)
    expect(inode('screener')).not.toBe(before.screener)
    expect(inode('deals')).toBe(before.deals)
  })

  it.each(['candles', 'screener'])('is replaced after damage of %s', async (table) => {
    truncateSync(lake(table, `${table}.parquet`), 1_000)
    const sql = `select count(*) from (from ${table})`
    expect(await objectsOf(sql, out, 0)).toEqual(await objectsOf(sql, out))
    expect(statSync(lake('candles', 'candles.parquet')).size).toBeGreaterThan(1_000)
  })

  it('has rows of the screener only for the same files, run and history', async () => {
    const price = async () => (await objectsOf("select close_inr from (from screener) where symbol = 'TCS'", out, 0))[0]?.close_inr
    writeFileSync(join(out, 'ohlcv_data', 'TCS.csv'), '1770921000,3,3,3,3,20\n', { flag: 'a' })
    expect(await price()).toBe(3)
    const report = join(out, '.scripstream', 'report.json')
    writeFileSync(report, readFileSync(report, 'utf8').replace(/"asOf": ?"2026-02-1\d/, '"asOf":"2026-02-10'))
    const [day] = await rowsOf("select day from (from screener) where symbol = 'TCS'", out, 0)
    expect(day).toEqual(['2026-02-10'])
  })

  it('is only read if it is for the same files', async () => {
    const count = await rowsOf('select count(*) from candles', out, 0)
    writeFileSync(join(out, 'ohlcv_data', 'ADDED.csv'), 'Timestamp,Open,High,Low,Close,Volume\n1770834600,1,2,0.5,1.5,10\n')
    expect(Number((await rowsOf('select count(*) from candles', out, 0))[0]?.[0])).toBe(Number(count[0]?.[0]) + 1)
  })

  it('does not open other files to a statement', async () => {
    await expect(rowsOf(`from read_parquet('${lake('candles', 'candles.parquet')}')`, out, 0)).rejects.toThrow('not permitted')
    await expect(rowsOf(`from '${lake('candles', 'candles.parquet')}'`, out, 0)).rejects.toThrow('not a table')
  })

  it('is not needed: without a place for it the files are read', async () => {
    rmSync(lake(), { recursive: true })
    writeFileSync(lake(), '')
    expect(await rowsOf('select count(*) > 0 from candles', out, 0)).toEqual([['true']])
    rmSync(lake())
  })
})
