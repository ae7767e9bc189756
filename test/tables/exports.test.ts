import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { StorageError, UsageError } from '../../src/model/errors.js'
import { openDuckDb } from '../../src/storage/duckdb.js'
import { selectTables } from '../../src/tables/export/define-export.js'
import { duckdb } from '../../src/tables/export/duckdb.js'
import type { Export } from '../../src/tables/export/export.js'
import { postgres } from '../../src/tables/export/postgres.js'
import { streams } from '../../streams/registry.js'
import { runReport } from '../cli/support.js'
import { askAsOf } from './history/known-answers.js'
import { collectTenDays } from './history/ten-days.js'
import { hasServer, run, SERVER, SKIPPED } from './postgres-server.js'
import { folderWith, duckdb as isThere } from './support.js'

const HEADER = 'Timestamp,Open,High,Low,Close,Volume\n'
const DAY = 1_093_372_200
const URL = `${SERVER}/test`
const SCHEMA = `exports_test_${process.pid}`

const folder = (changes: Parameters<typeof folderWith>[0] = {}): string =>
  folderWith({
    'master_isin_map.json': [
      {
        Symbol: 'INFY',
        ISIN: 'INE009A01021',
        Name: 'Tab\tand \\ "line"\n',
        Sid: '1594',
        FnoFlag: 1,
        More: [1],
      },
    ],
    'ohlcv_data/INFY.csv': `${HEADER}${DAY},1,2,0.5,1.5,10\n${DAY + 86_400},2,3,1,2.5,20\n${DAY},9,9,9,9,90\nnever,1,1,1,1,1\n`,
    'ohlcv_data/TCS.csv': `${HEADER}${DAY},5,5,5,5,50\n`,
    ...changes,
  })

const loaded = async (sink: Export, out: string) => {
  const all = await lastValueFrom(sink.write(out).pipe(toArray()))
  return Object.fromEntries(all.map(({ table, rows, leftOut }) => [table, [rows, leftOut]]))
}

const CANDLES = [
  ['INFY', '2004-08-25', '9', '90'],
  ['INFY', '2004-08-26', '2.5', '20'],
  ['TCS', '2004-08-25', '5', '50'],
]

const queryDuckdb = async (
  sql: string,
  before: readonly string[] = [],
): Promise<readonly (readonly string[])[]> => {
  const { connection, close } = await openDuckDb()
  try {
    for (const statement of before) await connection.run(statement)
    return (await connection.runAndReadAll(sql)).getRows().map((row) => row.map(String))
  } finally {
    close()
  }
}

const inFile = (path: string, sql: string) =>
  queryDuckdb(sql, [`ATTACH '${path}' AS db (READ_ONLY)`, 'USE db'])

describe.skipIf(!isThere)('an export to DuckDB', () => {
  it('exports each candle once, the last one of the file, and the same when repeated', async () => {
    const out = folder()
    const path = join(out, 'market.duckdb')
    for (const _ of ['once', 'again']) {
      expect(await loaded(duckdb(path, { streams }), out)).toMatchObject({ master: [1, 0], candles: [3, 2] })
      expect(await inFile(path, 'SELECT symbol, date, close, volume FROM candles ORDER BY ALL')).toEqual(
        CANDLES,
      )
    }
    expect(
      await inFile(path, 'SELECT typeof(date), typeof(close), typeof(volume) FROM candles LIMIT 1'),
    ).toEqual([['DATE', 'DOUBLE', 'BIGINT']])
    expect(
      await inFile(
        path,
        "SELECT comment FROM duckdb_columns() WHERE table_name = 'candles' AND column_name = 'date'",
      ),
    ).toEqual([['trading day in India']])
  })

  it('keeps the old content if a file is unreadable, and foreign tables always', async () => {
    const out = folder()
    const path = join(out, 'market.duckdb')
    await loaded(duckdb(path, { streams }), out)
    await queryDuckdb('SELECT 1', [`ATTACH '${path}' AS db`, 'CREATE TABLE db.mine AS SELECT 42 AS x'])
    writeFileSync(join(out, 'ohlcv_data/TCS.csv'), `${HEADER}${DAY},7,7,7,7,70\n`)
    writeFileSync(join(out, 'bulk_block_deals.json'), '[{"sym":"A"},{"s')
    writeFileSync(join(out, 'master_isin_map.json'), '[]')
    await expect(loaded(duckdb(path, { streams }), out)).rejects.toThrow(/bulk_block_deals/)
    expect(await inFile(path, 'SELECT symbol FROM master')).toEqual([['INFY']])
    expect(await inFile(path, 'SELECT symbol, date, close, volume FROM candles ORDER BY ALL')).toEqual(
      CANDLES,
    )
    rmSync(join(out, 'bulk_block_deals.json'))
    await loaded(duckdb(path, { streams }), out)
    expect(
      await inFile(path, "SELECT x, (SELECT volume FROM candles WHERE symbol = 'TCS') FROM mine"),
    ).toEqual([['42', '70']])
  })

  it('gets the same rows from the fast and the tolerant reader of candle files', async () => {
    const sound = `${DAY},1,2,0.5,1.5,10\n${DAY + 86_400},2,,1,2.5,12.7\n`
    const place = (name: string) => join(out, `${name}.duckdb`)
    const out = folder({ 'ohlcv_data/INFY.csv': HEADER + sound })
    await loaded(duckdb(place('fast'), { streams }), out)
    writeFileSync(join(out, 'ohlcv_data/WIDE.csv'), `${HEADER}${DAY},1,2,3,4,5,6\n${DAY + 86_400},1\n`)
    await loaded(duckdb(place('any'), { streams }), out)
    const sql = "FROM candles WHERE symbol <> 'WIDE' ORDER BY ALL"
    const rows = await inFile(place('fast'), sql)
    expect(rows).toHaveLength(3)
    expect(rows[1]).toEqual(['INFY', '2004-08-26', '2', 'null', '1', '2.5', '13', 'null'])
    expect(await inFile(place('any'), sql)).toEqual(rows)
    expect(await inFile(place('any'), "SELECT count(*) FROM candles WHERE symbol = 'WIDE'")).toEqual([['2']])
  })

  it('keeps a table without files and reports it as skipped', async () => {
    const out = folder()
    const path = join(out, 'market.duckdb')
    await loaded(duckdb(path, { streams }), out)
    rmSync(join(out, 'ohlcv_data'), { recursive: true })
    const all = await lastValueFrom(duckdb(path, { streams }).write(out).pipe(toArray()))
    expect(all.filter(({ isSkipped }) => !isSkipped).map(({ table }) => table)).toEqual([
      'master',
      'symbols',
      'symbol_isins',
      'lifetimes',
      'screener',
    ])
    expect(await inFile(path, 'SELECT symbol, date, close, volume FROM candles ORDER BY ALL')).toEqual(
      CANDLES,
    )
    await expect(loaded(duckdb(path, { streams }), folderWith({}))).rejects.toThrow(/has no outputs to load/)
  })

  it('rejects a file that is not a DuckDB database', async () => {
    const out = folder({ 'x.duckdb': 'notes '.repeat(1_000) })
    await expect(loaded(duckdb(join(out, 'x.duckdb'), { streams }), out)).rejects.toThrow(UsageError)
  })
})

describe.skipIf(!isThere)('an export as of a day', () => {
  it('has the tables as they stood, with the day, and comments with units and time zone', async () => {
    const out = await collectTenDays()
    const path = join(out, 'market.duckdb')
    const asOf = '2026-02-04'
    await loaded(duckdb(path, { streams, asOf, tables: ['master', 'surveillance', 'filings'] }), out)
    const sql = 'SELECT isin, symbol FROM master ORDER BY isin'
    expect(await inFile(path, sql)).toEqual((await askAsOf(sql, out, asOf)).rows)
    expect(await inFile(path, 'SELECT DISTINCT as_of FROM master')).toEqual([[asOf]])
    expect(await inFile(path, 'SELECT table_name FROM duckdb_tables() ORDER BY 1')).toEqual([
      ['master'],
      ['surveillance'],
    ])
    const comment = (table: string, column: string) =>
      inFile(
        path,
        `SELECT comment FROM duckdb_columns() WHERE table_name = '${table}' AND column_name = '${column}'`,
      )
    await loaded(duckdb(path, { streams, tables: ['announcements', 'screener'] }), await written())
    expect((await comment('announcements', 'announced_at'))[0]?.[0]).toContain('India')
    expect((await comment('screener', 'market_cap_cr'))[0]?.[0]).toContain('₹ crore')
    expect(() => selectTables(streams, ['screenr'])).toThrow('unknown table screenr (did you mean screener?)')
  })
  const written = async () =>
    folder({
      'all_company_announcements.json': [
        { Symbol: 'INFY', ISIN: 'INE009A01021', Date: '2026-02-02 10:00:00' },
      ],
    })
})

describe.skipIf(!isThere || !hasServer)(`an export to PostgreSQL${SKIPPED}`, () => {
  const select = (sql: string) => run('test', sql)
  afterAll(() => select(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`))

  it('exports all rows with types and comments, and the same when repeated', async () => {
    const out = folder()
    const sink = postgres(URL, { schema: SCHEMA, streams })
    const candles = `SELECT symbol, date::text AS date, close::text, volume::text FROM ${SCHEMA}.candles ORDER BY 1, 2`
    for (const _ of ['once', 'again']) {
      expect(await loaded(sink, out)).toMatchObject({ master: [1, 0], candles: [3, 2] })
      expect((await select(candles)).map((row) => Object.values(row))).toEqual(CANDLES)
      expect(await select(`SELECT name, extra->'More' AS more FROM ${SCHEMA}.master`)).toEqual([
        { name: 'Tab\tand \\ "line"\n', more: [1] },
      ])
    }
    expect(
      await select(
        `SELECT pg_typeof(date)::text AS type, obj_description('${SCHEMA}.candles'::regclass) AS said FROM ${SCHEMA}.candles LIMIT 1`,
      ),
    ).toEqual([{ type: 'date', said: expect.stringMatching(/daily candles/) }])
    expect(await select(`SELECT obj_description('${SCHEMA}'::regnamespace) AS said`)).toEqual([
      { said: expect.stringMatching(/\n.*AT TIME ZONE 'Asia\/Kolkata'/) },
    ])
    rmSync(join(out, 'ohlcv_data/TCS.csv'))
    await loaded(sink, out)
    await loaded(sink, out)
    expect((await select(candles)).map((row) => Object.values(row))).toEqual(CANDLES.slice(0, 2))
    rmSync(join(out, 'ohlcv_data'), { recursive: true })
    await loaded(sink, out)
    expect((await select(candles)).map((row) => Object.values(row))).toEqual(CANDLES.slice(0, 2))
  })

  it('writes only rows that differ, with the day of the outputs, and restores an emptied table', async () => {
    const out = folder({
      'bulk_block_deals.json': ['A', 'A', 'B'].map((sym) => ({ sym })),
      '.scripstream/report.json': runReport(),
    })
    const schema = `${SCHEMA}_rows`
    onTestFinished(() => select(`DROP SCHEMA IF EXISTS ${schema} CASCADE`).then(() => undefined))
    const load = () =>
      loaded(postgres(URL, { schema, streams, tables: ['deals', 'candles', 'screener'] }), out)
    const rows = async (table: string) =>
      await select(`SELECT symbol, xmin::text AS written FROM ${schema}.${table} ORDER BY 1, 2`)
    await load()
    const [deals, candles, screener] = [await rows('deals'), await rows('candles'), await rows('screener')]
    writeFileSync(join(out, 'bulk_block_deals.json'), JSON.stringify(['A', 'C', 'B'].map((sym) => ({ sym }))))
    expect(await load()).toMatchObject({ deals: [3, 0], candles: [3, 2], screener: [1, 0] })
    expect(await rows('deals')).toEqual([deals[0], deals[2], { symbol: 'C', written: expect.anything() }])
    expect([await rows('candles'), await rows('screener')]).toEqual([candles, screener])
    await select(`DELETE FROM ${schema}.candles WHERE symbol = 'TCS'`)
    await load()
    expect((await rows('candles')).map(({ symbol }) => symbol)).toEqual(candles.map(({ symbol }) => symbol))
  })

  it('leaves all tables unchanged if one of them fails', async () => {
    const schema = `${SCHEMA}_whole`
    onTestFinished(() => select(`DROP SCHEMA IF EXISTS ${schema} CASCADE`).then(() => undefined))
    const out = folder()
    const sink = postgres(URL, { schema, streams })
    await loaded(sink, out)
    writeFileSync(join(out, 'master_isin_map.json'), '[]')
    writeFileSync(join(out, 'bulk_block_deals.json'), '[{')
    await expect(loaded(sink, out)).rejects.toThrow(/bulk_block_deals/)
    expect(await select(`SELECT symbol FROM ${schema}.master`)).toEqual([{ symbol: 'INFY' }])
    const countTables = `SELECT count(*)::int AS tables FROM information_schema.tables WHERE table_schema = '${schema}' AND table_name = 'deals'`
    expect(await select(countTables)).toEqual([{ tables: 0 }])
  })

  it('accepts any schema name', async () => {
    const schema = `${SCHEMA} "x"; --`
    onTestFinished(() =>
      select(`DROP SCHEMA IF EXISTS "${schema.replaceAll('"', '""')}" CASCADE`).then(() => undefined),
    )
    await loaded(postgres(URL, { schema, streams }), folder())
    const names = `SELECT table_name FROM information_schema.tables WHERE table_schema = '${schema}' AND table_name LIKE 'm%'`
    expect(await select(names)).toEqual([{ table_name: 'master' }])
  })
})

describe.skipIf(!isThere)('the password of an address', () => {
  it('never appears in an error or a name', async () => {
    const sink = postgres('postgres://me:hunter2secret@127.0.0.1:1/x', { streams })
    expect(sink.name).not.toContain('hunter2')
    const failure = await loaded(sink, folder()).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(StorageError)
    expect(String(failure)).not.toContain('hunter2')
    expect(String(failure)).toMatch(
      /127\.0\.0\.1:1\/x cannot be written: .*refuses connections; the earlier data stays; correct this and export again/,
    )
  })
})
