import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listTables } from '../../src/engine/define-stream.js'
import { UsageError } from '../../src/model/errors.js'
import { openDuckDb } from '../../src/storage/duckdb.js'
import { runQuery } from '../../src/tables/query.js'
import { checkStatement } from '../../src/tables/statement.js'
import { streams } from '../../streams/registry.js'
import { snapshotFolder } from '../support/folders.js'
import { duckdb, folderWith, rowsOf } from './support.js'

const outside = mkdtempSync(join(tmpdir(), 'scripstream-outside-'))
const secret = join(outside, 'secret.csv')
const out = folderWith({
  'master_isin_map.json': [{ Symbol: 'M&M', ISIN: 'INE101A01026', Name: 'Mahindra', Sid: '1', FnoFlag: 1 }],
  'ohlcv_data/M&M.csv': 'Timestamp,Open,High,Low,Close,Volume\n1093372200,1,2,0.5,1.5,10\n',
  'notes.csv': 'a\n1\n',
})

beforeAll(() => writeFileSync(secret, 'a\nsecret\n'))
afterAll(() => {
  for (const folder of [outside, out]) rmSync(folder, { recursive: true, force: true })
})

const inOut = (name: string): string => join(out, name)

const writing = [
  `COPY (SELECT 1) TO '${inOut('x.csv')}'`,
  `COPY master TO '${inOut('master_isin_map.json')}'`,
  `COPY candles TO '${inOut('ohlcv_data/M&M.csv')}'`,
  `COPY candles TO '${outside}' (FORMAT parquet, PARTITION_BY (symbol))`,
  `EXPLAIN ANALYZE COPY candles TO '${inOut('ohlcv_data/M&M.csv')}'`,
  `EXPLAIN ANALYZE COPY candles TO '${inOut('ohlcv_data/M&M.csv')}' (USE_TMP_FILE false)`,
  `EXPLAIN (ANALYZE, FORMAT json) COPY candles TO '${inOut('ohlcv_data/M&M.csv')}'`,
  `/* x */ explain -- y\n analyze copy candles to '${inOut('ohlcv_data/M&M.csv')}'`,
  `EXPORT DATABASE '${join(outside, 'db')}'`,
  `ATTACH '${join(outside, 'x.duckdb')}'`,
  `ATTACH ':memory:' AS other`,
  'DETACH memory',
  'CREATE TABLE t AS SELECT 1',
  'CREATE OR REPLACE VIEW master AS SELECT 1',
  'CREATE MACRO f() AS 1',
  'CREATE SECRET s (TYPE s3)',
  "INSERT INTO master VALUES ('a')",
  'UPDATE master SET symbol = 1',
  'DELETE FROM master',
  'TRUNCATE master',
  'DROP VIEW master',
  'ALTER VIEW master RENAME TO other',
  "COMMENT ON VIEW master IS 'x'",
  'MERGE INTO master USING candles ON true WHEN MATCHED THEN DELETE',
  'WITH gone AS (DELETE FROM master RETURNING *) FROM gone',
  'BEGIN',
  'CHECKPOINT',
  'VACUUM',
  'PREPARE p AS SELECT 1',
  'EXECUTE p',
  'SET threads = 1',
  "SET allowed_directories = ['/']",
  'SET enable_external_access = true',
  'RESET lock_configuration',
  'SET VARIABLE v = 1',
  'USE temp',
  'PRAGMA enable_profiling',
  "PRAGMA profiling_output = 'x'",
  'PRAGMA version',
  'CALL pragma_version()',
  `CALL enable_logging(storage = 'file', storage_path = '${outside}')`,
  `FROM enable_logging('QueryLog', storage = 'file', storage_path = '${outside}')`,
  `FROM enable_logging('QueryLog', storage_path = '${inOut('ohlcv_data/M&M.csv')}')`,
  'FROM enable_profiling()',
  'FROM force_checkpoint()',
  'INSTALL httpfs',
  'LOAD httpfs',
  `LOAD '${join(outside, 'x.duckdb_extension')}'`,
  'UPDATE EXTENSIONS',
  'SELECT 1; SELECT 2',
  'SELECT 1; DROP VIEW master',
  '',
  ' -- nothing',
]

/** What every refusal of a statement says: what to write instead, or where the parser stopped. */
const WRONG =
  /query is read-only; use one SELECT|query takes one statement|the statement is missing; write one|\(\) is not permitted: query|Parser Error/

/** The message of every refused file or function. */
const REFUSAL =
  /(\(\) is not permitted|is not a table): query reads only the tables of the folder; SHOW TABLES lists them$/

const elsewhere = [
  `FROM read_csv('${secret}')`,
  `FROM '${secret}'`,
  "FROM read_csv('/etc/passwd')",
  "FROM '/etc/passwd'",
  `FROM "${secret}"`,
  `FROM read_text('${secret}')`,
  `FROM read_blob('${secret}')`,
  `FROM READ_TEXT('${secret}')`,
  `FROM main.read_text('${secret}')`,
  `SELECT (SELECT content FROM read_text('${secret}'))`,
  `WITH a AS (FROM read_csv('${secret}')) FROM a`,
  `SELECT * FROM master WHERE EXISTS (FROM read_csv('${secret}'))`,
  `FROM master JOIN LATERAL (FROM read_csv('${secret}')) ON true`,
  `FROM master UNION ALL BY NAME FROM read_csv('${secret}')`,
  `FROM query('FROM read_csv(''${secret}'')')`,
  `FROM query_table('${secret}')`,
  `FROM json_execute_serialized_sql(json_serialize_sql('FROM master'))`,
  `FROM sniff_csv('${secret}')`,
  `FROM read_json('${secret}')`,
  `FROM read_parquet('${secret}')`,
  `FROM parquet_metadata('${secret}')`,
  `FROM read_duckdb('${secret}')`,
  `FROM glob('${outside}/*')`,
  `FROM glob('${out}/*')`,
  `FROM read_csv('${inOut('notes.csv')}')`,
  `FROM '${inOut('notes.csv')}'`,
  `FROM '${inOut('ohlcv_data')}/../../${outside.split('/').pop()}/secret.csv'`,
  `DESCRIBE FROM read_csv('${secret}')`,
  `SUMMARIZE FROM '${secret}'`,
  `DESCRIBE '${secret}'`,
  `EXPLAIN ANALYZE FROM read_csv('${secret}')`,
  `PIVOT (FROM read_csv('${secret}')) ON a IN ('secret') USING count(*)`,
  "FROM 'https://localhost/x.csv'",
  "FROM read_csv('s3://bucket/x.csv')",
  'FROM duckdb_secrets()',
  'FROM duckdb_logs()',
]

describe.skipIf(!duckdb)('query', () => {
  it.each(writing)('refuses %s', async (sql) => {
    const before = [snapshotFolder(out), snapshotFolder(outside)]
    await expect(rowsOf(sql, out)).rejects.toThrow(UsageError)
    expect([snapshotFolder(out), snapshotFolder(outside)]).toEqual(before)
  })

  it.each(elsewhere)('reaches nothing outside the folder by %s', async (sql) => {
    await expect(rowsOf(sql, out)).rejects.toThrow(REFUSAL)
  })

  it('knows no function that reads the environment', async () => {
    await expect(rowsOf("SELECT getenv('HOME')", out)).rejects.toThrow(
      /function with name getenv does not exist/i,
    )
  })

  it.each([
    ['SELECT symbol FROM master', [['M&M']]],
    ['FROM candles SELECT symbol, close', [['M&M', '1.5']]],
    ['select symbol from MAIN.Master;', [['M&M']]],
    ['VALUES (1), (2)', [['1'], ['2']]],
    ['WITH a AS (FROM master) SELECT symbol FROM a', [['M&M']]],
    ['SELECT count(*) FROM master, range(3)', [['3']]],
    ['SELECT unnest([1, 2])', [['1'], ['2']]],
    ['SHOW TABLES FROM memory.main', expect.arrayContaining([['candles']])],
    [
      'SELECT count(*) > 5 FROM duckdb_views() WHERE view_name IN (SELECT name FROM (SHOW TABLES))',
      [['true']],
    ],
    ["SELECT 'COPY x TO y; DROP TABLE z' AS text", [['COPY x TO y; DROP TABLE z']]],
  ])('permits %s', async (sql, rows) => {
    expect(await rowsOf(sql, out)).toEqual(rows)
  })

  it.each([
    'DESCRIBE candles',
    'SUMMARIZE candles',
    'EXPLAIN FROM candles',
    'EXPLAIN ANALYZE SELECT count(*) FROM candles',
    '/* a */ explain (format json) from master',
  ])('permits %s', async (sql) => {
    expect((await rowsOf(sql, out)).length).toBeGreaterThan(0)
  })

  it('is restricted to the files before the query, and cannot be unlocked', async () => {
    const settings = [
      'enable_external_access',
      'lock_configuration',
      'autoload_known_extensions',
      'autoinstall_known_extensions',
    ]
    const statement = `SELECT ${settings.map((name) => `current_setting('${name}')`).join(', ')}`
    expect(await rowsOf(statement, out)).toEqual([['false', 'true', 'false', 'false']])
  })

  it('changes neither the folder nor anything beside it', async () => {
    const before = snapshotFolder(out)
    await rowsOf(
      'SELECT symbol, sum(volume) FROM candles JOIN master USING (symbol) GROUP BY ALL ORDER BY ALL',
      out,
    )
    expect(snapshotFolder(out)).toEqual(before)
  })

  it('follows no link out of the folder, of a file or of a folder', async () => {
    const linked = folderWith({ 'ohlcv_data/A.csv': 'Timestamp,Open,High,Low,Close,Volume\n' })
    symlinkSync(secret, join(linked, 'ohlcv_data/B.csv'))
    await expect(rowsOf('FROM candles', linked)).rejects.toThrow(
      /B\.csv is a link that points outside the folder/,
    )
    mkdirSync(join(outside, 'indices'))
    writeFileSync(join(outside, 'indices/X.csv'), 'a')
    symlinkSync(join(outside, 'indices'), join(linked, 'ohlcv_data/indices'))
    await expect(rowsOf('FROM index_candles', linked)).rejects.toThrow(/points outside the folder/)
    expect(await rowsOf('SELECT count(*) FROM master', linked)).toEqual([['0']])
    rmSync(linked, { recursive: true })
  })

  it.each([
    ['selct 1', 'near "selct" (did you mean select?)'],
    ['select symbol form master', 'near "master" (did you mean from, not form?)'],
    ['select 1\nwher 2', 'near "2" (did you mean where, not wher?)'],
    ['select 1 +', /^Parser Error: [^(]*$/m],
  ])('names the keyword that %j means', async (sql, message) => {
    await expect(rowsOf(sql, out)).rejects.toThrow(message)
  })

  it('shows where a statement is wrong, with DuckDB’s message or the names that there are', async () => {
    await expect(rowsOf('SELECT clsoe\nFROM candles', out)).rejects.toThrow(
      /^unknown column: clsoe \(did you mean close\?\)\nLINE 1: SELECT clsoe\n +\^\ncolumns of candles: symbol, date, open,/,
    )
    await expect(rowsOf('SELECT 1 FRM x y', out)).rejects.toThrow(
      /^Parser Error: syntax error at or near "x" \(did you mean from, not FRM\?\)\nLINE 1: /,
    )
    await expect(rowsOf('FROM candels', out)).rejects.toThrow(
      /^unknown table: candels \(did you mean candles\?\)\nLINE 1: .*\n +\^\ntables: master, .*candles/,
    )
    await expect(rowsOf('SELECT c.zzzzz FROM candles c JOIN master m USING (symbol)', out)).rejects.toThrow(
      /^unknown column: zzzzz\nLINE 1: [\s\S]*\ncolumns of master: symbol, isin, .*\ncolumns of candles: /,
    )
    await expect(rowsOf('WITH t AS (SELECT 1 AS a) SELECT b FROM t', out)).rejects.toThrow(/^Binder Error: /)
    await expect(rowsOf('FROM master', join(out, 'gone'))).rejects.toThrow(/there is no folder .*gone/)
  })
})

describe.skipIf(!duckdb)('the check of a statement alone', () => {
  it.each([...writing])('refuses %s before the database does', async (sql) => {
    const { connection, close } = await openDuckDb()
    await expect(checkStatement(connection, sql, listTables(streams))).rejects.toThrow(WRONG)
    close()
  })

  it.each(elsewhere.filter((sql) => /FROM [\w.]+\(/.test(sql)))(
    'refuses the function in %s before the database does',
    async (sql) => {
      const { connection, close } = await openDuckDb()
      await expect(checkStatement(connection, sql, listTables(streams))).rejects.toThrow(REFUSAL)
      close()
    },
  )

  it('runs nothing', () => expect(existsSync(join(outside, 'db'))).toBe(false))
})

it.runIf(duckdb)(
  'a query that needs too much memory names its limit and the remedy, without settings that it may not change',
  async () => {
    const sql = 'SELECT list(a.range + b.range) FROM range(10_000) a, range(10_000) b'
    const work = runQuery(sql, {
      out,
      tables: listTables(streams),
      room: { threads: '1', memory_limit: '64MB' },
    }).then(({ result }) => result.getRows())
    await expect(work).rejects.toThrow(
      /^the query needs more memory than it may use \(61\.0 MiB\); select fewer days, stocks or columns$/,
    )
  },
)
