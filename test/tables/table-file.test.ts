import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StorageError, UsageError } from '../../src/model/errors.js'
import { openDuckDb } from '../../src/storage/duckdb.js'
import { tableFile } from '../../src/tables/export/table-file.js'
import { streams } from '../../streams/registry.js'
import { collected, duckdb, folderWith, objectsOf } from './support.js'

describe('the file of a table', () => {
  it('is named after a table or view', () => {
    expect(tableFile('/srv/screener.csv', { streams }).name).toBe('/srv/screener.csv')
    expect(() => tableFile('screenr.csv', { streams })).toThrow(
      'unknown table screenr (did you mean screener?)',
    )
    expect(() => tableFile('x/.csv', { streams })).toThrow(UsageError)
  })
})

describe.skipIf(!duckdb)('a file of the screener', () => {
  const target = folderWith({})
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(12, 60))
  })
  afterAll(() => remove())
  const write = (name: string, folder = out) =>
    lastValueFrom(tableFile(join(target, name), { streams }).write(folder))
  const read = (name: string): string => readFileSync(join(target, name), 'utf8')

  it('has the rows of the query in each format', async () => {
    const expected = await objectsOf('from screener order by symbol, day', out)
    for (const format of ['json', 'csv', 'parquet'])
      expect(await write(`deep/screener.${format}`)).toMatchObject({
        table: 'screener',
        rows: 12,
        leftOut: 0,
        isSkipped: false,
      })
    expect(JSON.parse(read('deep/screener.json'))).toEqual(
      expected.map((row) => ({ ...row, as_of: '2026-02-12' })),
    )
    const rows = parse(read('deep/screener.csv'), { columns: true }) as readonly Record<string, string>[]
    expect(rows.map(({ isin, close_inr }) => [isin, Number(close_inr)])).toEqual(
      expected.map(({ isin, close_inr }) => [isin, close_inr]),
    )
    const { connection, close } = await openDuckDb()
    const stored = await connection.runAndReadAll(
      `SELECT isin, close_inr FROM '${join(target, 'deep/screener.parquet')}'`,
    )
    close()
    expect(stored.getRows()).toEqual(expected.map(({ isin, close_inr }) => [isin, close_inr]))
    expect(readdirSync(join(target, 'deep')).sort()).toEqual([
      'screener.csv',
      'screener.json',
      'screener.parquet',
    ])
  })

  it('can be of a table of the files', async () => {
    await write('deals.json')
    expect(JSON.parse(read('deals.json'))).toHaveLength((await objectsOf('from deals', out)).length)
  })

  it('has no formulas in CSV', async () => {
    const deal = {
      date: '2026-02-12',
      sym: 'A',
      exch: '-',
      deal: '-5',
      bs: 'B',
      cname: '=cmd()',
      qty: 1,
      avgprice: 1,
    }
    await write('deals.csv', folderWith({ 'bulk_block_deals.json': [deal] }))
    expect(parse(read('deals.csv'), { columns: true })).toMatchObject([
      { client: "'=cmd()", exchange: '-', kind: '-5' },
    ])
  })

  it('stays after a failure', async () => {
    writeFileSync(join(target, 'master.csv'), 'before')
    await expect(write('master.csv', folderWith({ 'master_isin_map.json': '{"a"' }))).rejects.toThrow()
    await expect(write('master.csv', folderWith({}))).rejects.toThrow(UsageError)
    expect(read('master.csv')).toBe('before')
    mkdirSync(join(target, 'screener.csv', 'x'), { recursive: true })
    await expect(write('screener.csv')).rejects.toThrow(StorageError)
    expect(existsSync(join(target, 'screener.csv', 'x'))).toBe(true)
    expect(readdirSync(target).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })
})
