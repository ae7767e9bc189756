import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listTables } from '../../src/engine/define-stream.js'
import { wholeLake } from '../../src/tables/lake/whole-lake.js'
import { runQuery } from '../../src/tables/query.js'
import { listViews } from '../../src/tables/views/index.js'
import { streams } from '../../streams/registry.js'
import { openPlain } from './history/known-answers.js'
import { collected, duckdb, objectsOf, rowsOf } from './support.js'

/** The file of the oldest DuckDB, which no package brings: npm install --no-save duckdb-oldest@npm:@duckdb/node-api@1.4.4-r.1 */
const oldest = ((): string | undefined => {
  try {
    return createRequire(import.meta.url).resolve('duckdb-oldest')
  } catch {
    process.stderr.write('skipped: views.sql in the oldest DuckDB: duckdb-oldest is not installed\n')
    return undefined
  }
})()

describe.skipIf(!duckdb)('the lake, for a query', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(20, 300))
    // A candle twice on the last day, and one that is damaged.
    const file = join(out, 'ohlcv_data', 'TCS.csv')
    writeFileSync(file, '1770834600,1,2,0.5,1.5,10\n1770834600,2,3,1,2.5,20\nx,1,2,3,4,12.5\n', { flag: 'a' })
  })
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
          Object.entries(row).map(([key, value]) => [
            key,
            typeof value === 'number' ? Number(value.toPrecision(9)) : value,
          ]),
        ),
      )
    expect(round(written)).toEqual(round(plain))
    expect(round(read)).toEqual(round(plain))
    expect(readdirSync(lake('candles'))).toEqual(['candles.parquet'])
  })

  it('is replaced after a change of a file, even one that keeps size and time, and only where it changed', async () => {
    const file = join(out, 'ohlcv_data', 'TCS.csv')
    utimesSync(file, 1_770_900_000, 1_770_900_000)
    await rowsOf('from screener', out, 0)
    const before = { candles: inode('candles'), screener: inode('screener'), deals: inode('deals') }
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('1770834600,1,2,0.5,1.5,10', '1770834600,9,9,9.5,9.5,10'),
    )
    utimesSync(file, 1_770_900_000, 1_770_900_000)
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

  it('has rows of the screener only for the same files, run and former symbols', async () => {
    const price = async () =>
      (await objectsOf("select close_inr from (from screener) where symbol = 'TCS'", out, 0))[0]?.close_inr
    writeFileSync(join(out, 'ohlcv_data', 'TCS.csv'), '1770921000,3,3,3,3,20\n', { flag: 'a' })
    expect(await price()).toBe(3)
    const [before, former] = [inode('screener'), join(out, '.scripstream', 'former-stocks.json')]
    expect([await price(), inode('screener')]).toEqual([3, before])
    writeFileSync(former, '[{ "symbol": "TATACS", "isin": "INE467B01029", "until": "2026-02-01" }]')
    expect([await price(), inode('screener') === before]).toEqual([3, false])
    const report = join(out, '.scripstream', 'report.json')
    writeFileSync(report, readFileSync(report, 'utf8').replace(/"asOf": ?"2026-02-1\d/, '"asOf":"2026-02-10'))
    const [day] = await rowsOf("select day from (from screener) where symbol = 'TCS'", out, 0)
    expect(day).toEqual(['2026-02-10'])
  })

  it('is only read if it is for the same files', async () => {
    const count = await rowsOf('select count(*) from candles', out, 0)
    writeFileSync(
      join(out, 'ohlcv_data', 'ADDED.csv'),
      'Timestamp,Open,High,Low,Close,Volume\n1770834600,1,2,0.5,1.5,10\n',
    )
    expect(Number((await rowsOf('select count(*) from candles', out, 0))[0]?.[0])).toBe(
      Number(count[0]?.[0]) + 1,
    )
  })

  it('does not open other files to a statement', async () => {
    await expect(
      rowsOf(`from read_parquet('${lake('candles', 'candles.parquet')}')`, out, 0),
    ).rejects.toThrow('not permitted')
    await expect(rowsOf(`from '${lake('candles', 'candles.parquet')}'`, out, 0)).rejects.toThrow(
      'not a table',
    )
  })

  it('is read for one stock, but not written', async () => {
    await rowsOf('from screener', out, 0)
    const tables = listTables(streams)
    const ask = async (sql: string) => {
      const { result, close } = await runQuery(sql, { out, tables, lakeFrom: 0, symbol: 'TCS' })
      try {
        return await result.getRows()
      } finally {
        close()
      }
    }
    const [expected] = await rowsOf(
      "select close_inr, filings_7d from (from screener) where symbol = 'TCS'",
      out,
    )
    const sql = "select close_inr, filings_7d from screener where symbol = 'TCS'"
    expect((await ask(sql)).map((row) => row.map(String))).toEqual([expected])
    rmSync(lake(), { recursive: true })
    expect((await ask(sql)).map((row) => row.map(String))).toEqual([expected])
    expect(copies()).toEqual([])
  })

  it('is not needed: without a place for it the files are read', async () => {
    rmSync(lake(), { recursive: true, force: true })
    writeFileSync(lake(), '')
    expect(await rowsOf('select count(*) > 0 from candles', out, 0)).toEqual([['true']])
    rmSync(lake())
  })
})

describe.skipIf(!duckdb)('the whole lake', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(8, 60))
  })
  afterAll(() => remove())
  const write = () => lastValueFrom(wholeLake({ streams }).write(out).pipe(toArray()))
  const inodes = () =>
    Object.fromEntries(names.map((name) => [name, statSync(join(out, 'lake', name, `${name}.parquet`)).ino]))
  const tables = listTables(streams)
  const names = [...tables, ...listViews(tables)].map(({ name }) => name)

  it('has every table and view of a query, sorted by symbol and day, for DuckDB alone', async () => {
    const loaded = await write()
    expect(loaded.map(({ table }) => table)).toEqual(names)
    const lake = await openPlain(out, 'lake')
    for (const name of names) {
      const rows = await rowsOf(`select * from ${name} order by all`, out)
      const read = await lake.ask(`select * from ${name} order by all`)
      // Sums of numbers depend on their order.
      const isSame = (one: string, other = '') =>
        one === other || Math.abs(Number(one) / Number(other) - 1) < 1e-9
      const differences = rows.filter(
        (row, place) => !row.every((value, index) => isSame(String(value), read[place]?.[index])),
      )
      expect(differences, name).toEqual([])
      expect(rows, name).toHaveLength(loaded.find(({ table }) => table === name)?.rows ?? -1)
    }
    const file = "read_parquet('candles_adjusted/candles_adjusted.parquet', file_row_number = true)"
    const unsorted = `select count(*) from (select (symbol, day) < lag((symbol, day)) over (order by file_row_number) as is_less from ${file}) where is_less`
    expect(await lake.ask(unsorted)).toEqual([['0']])
    lake.close()
  })

  it('has JSON as text, which each reader reads alike, and a query as JSON', async () => {
    await write()
    const schemas = `select distinct converted_type from parquet_schema('${join(out, 'lake/*/*.parquet')}') where name = 'extra'`
    const lake = await openPlain(out, 'lake')
    const columns = await lake.ask(schemas)
    lake.close()
    expect(columns).toEqual([['UTF8']])
    expect(await rowsOf('select typeof(extra) from indicators limit 1', out, 0)).toEqual([['JSON']])
  })

  it.skipIf(!oldest)(
    'has a views.sql for the oldest DuckDB that it names (1.4, as duckdb-oldest)',
    async () => {
      await write()
      const sql = readFileSync(join(out, 'lake/views.sql'), 'utf8')
      expect(sql).toContain('for DuckDB 1.4 or newer')
      // Two versions in one process are one engine.
      const script = `(async () => {
      const { DuckDBInstance } = require(${JSON.stringify(oldest)})
      const connection = await (await DuckDBInstance.create(':memory:')).connect()
      await connection.run(require('fs').readFileSync('views.sql', 'utf8'))
      for (const name of ${JSON.stringify(names)}) await connection.run('select * from ' + name)
      console.log((await connection.runAndReadAll('select version()')).getRows()[0][0])
    })()`
      const ended = spawnSync(process.execPath, ['-e', script], { cwd: join(out, 'lake'), encoding: 'utf8' })
      expect([ended.stdout, ended.stderr]).toEqual([expect.stringMatching(/^v1\.4\./), ''])
    },
  )

  it('of some tables has a views.sql that DuckDB reads, with these', async () => {
    const some = mkdtempSync(join(tmpdir(), 'scripstream-some-'))
    cpSync(out, some, { recursive: true })
    rmSync(join(some, 'lake'), { recursive: true })
    const loaded = await lastValueFrom(
      wholeLake({ streams, tables: ['master', 'screener', 'surveillance'] })
        .write(some)
        .pipe(toArray()),
    )
    expect(loaded.map(({ table }) => table)).toEqual(['master', 'surveillance', 'screener'])
    // Each one was written now.
    for (const { table, ms } of loaded) expect(ms, table).toBeGreaterThan(0)
    const lake = await openPlain(some, 'lake')
    expect(await lake.ask('select count(*) from screener')).toEqual([['8']])
    expect(
      await lake.ask(
        "select view_name from duckdb_views() where not internal and schema_name = 'main' order by 1",
      ),
    ).toEqual([['master'], ['screener'], ['surveillance']])
    lake.close()
    rmSync(some, { recursive: true })
  })

  it('is written again only where outputs have changed, and without what a kill has left', async () => {
    const before = inodes()
    await write()
    expect(inodes()).toEqual(before)
    writeFileSync(join(out, 'bulk_block_deals.json'), '[]')
    const [left, written] = ['0', '1'].map((digit) =>
      join(out, 'lake', `.deals.parquet.${digit}1234567-0123-0123-0123-0123456789ab.tmp`),
    )
    for (const path of [left, written]) writeFileSync(path as string, 'half')
    utimesSync(left as string, 0, 0)
    await write()
    const changed = names.filter((name) => inodes()[name] !== before[name])
    expect(changed).toEqual(expect.arrayContaining(['deals', 'deals_valued', 'events', 'screener']))
    expect(changed).not.toEqual(expect.arrayContaining(['candles']))
    // Another process may be writing the newer one.
    expect([left, written].map((path) => existsSync(path as string))).toEqual([false, true])
  })

  it('without a report has the collected tables, says what is missing and why, and names only what is there', async () => {
    const some = mkdtempSync(join(tmpdir(), 'scripstream-no-report-'))
    cpSync(out, some, { recursive: true })
    const text = () =>
      ['README.md', 'views.sql'].map((name) => readFileSync(join(some, 'lake', name), 'utf8')).join('')
    expect(text()).toContain("SET VARIABLE as_of = DATE '2026-02-12'")
    rmSync(join(some, '.scripstream/report.json'))
    const loaded = await lastValueFrom(wholeLake({ streams }).write(some).pipe(toArray()))
    const missing = loaded.filter((one) => one.missing !== undefined)
    expect(missing.map(({ table }) => table)).toEqual(listViews(tables).map(({ name }) => name))
    expect(missing[0]?.missing).toBe('the folder has no report of a run')
    const named = [...text().matchAll(/'(\w+\/\w+\.parquet)'/g)].map(([, file]) => String(file))
    expect(new Set(named).size).toBeGreaterThan(10)
    expect(named.filter((file) => !existsSync(join(some, 'lake', file)))).toEqual([])
    rmSync(some, { recursive: true })
  })

  it('stays as it is if an output is damaged, and says which', async () => {
    const before = inodes()
    writeFileSync(join(out, 'bulk_block_deals.json'), '[{"sym":"A"},{"s')
    await expect(write()).rejects.toThrow(/bulk_block_deals/)
    expect(inodes()).toEqual(before)
  })
})
