import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listTables } from '../../src/engine/define-stream.js'
import type { TableColumn } from '../../src/model/row-schema.js'
import { EXTRA, type Table } from '../../src/model/table.js'
import { openDuckDb, quoteName, quoteText } from '../../src/storage/duckdb.js'
import { writeParquet } from '../../src/storage/parquet.js'
import { openFolder } from '../../src/storage/table-folder.js'
import { readTable } from '../../src/storage/table-rows.js'
import { buildSelect } from '../../src/storage/table-views.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { HISTORY } from '../support/recorded-run.js'
import { collected, duckdb } from '../tables/support.js'

const TABLES = HISTORY.tables.map(({ table }) => [table.name, table] as const)

/** Values that providers have sent or may send, in any field. */
const ODD: readonly unknown[] = [
  '',
  ' ',
  '-',
  'N/A',
  'null',
  'true',
  'NaN',
  'Infinity',
  '12',
  ' 12 ',
  '+12',
  '-0',
  '0012',
  '1,234',
  '12.7',
  '12.0',
  '1e3',
  '1E3',
  '.5',
  '5.',
  '0x10',
  '12 %',
  '9007199254740993',
  '99999999999999999999',
  '1e400',
  '1e-400',
  '2026-02-12',
  '2026-02-12 09:15',
  '2026-02-12 09:15:30',
  '2026-02-12T09:15:30',
  '2026-02-12T09:15:30.123Z',
  '2026-02-12T09:15:30+05:30',
  '2026-02-30',
  '2026-13-01',
  '12-02-2026',
  '20260212',
  '0001-01-01',
  '2026-02-12 25:00:00',
  '2026-2-1',
  'शेयर €',
  '😀',
  'a "quoted" text',
  "it's",
  'back\\slash',
  'line\nbreak',
  'tab\t',
  'a,b',
  '\u2028',
  '{"a":1}',
  '[1]',
  'NSE',
  'BUY',
  'B',
  'SM',
  null,
  true,
  false,
  0,
  -0,
  1,
  -1,
  12.7,
  0.1,
  1e21,
  1e-7,
  1.5e300,
  9007199254740991,
  -9007199254740992,
  1770867000000,
  1770867000,
  [],
  {},
  [1, 'a', null],
  { a: null },
  { a: { b: [1, { c: 'd' }] } },
  [[1], [2]],
  { b: 1, a: 2 },
  [null],
  { Value: '1.5' },
  [{ Value: 2 }],
]

const keysOf = ({ columns, lists, elsewhere = [] }: Table, of: 'row' | 'document'): readonly string[] => {
  const own = columns.flatMap(({ from }: TableColumn) =>
    'row' in from && of === 'row' ? from.row : 'document' in from && of === 'document' ? from.document : [],
  )
  const others = (of === 'document') === (lists !== undefined) ? elsewhere : []
  return [
    ...new Set([
      ...own.map((key) => key.replace(/^\$\.(\w+).*/, '$1')),
      ...others,
      'unknown',
      'Другое "поле"',
    ]),
  ]
}

/**
 * Records in each of which every field has another odd value; all fields see all values. Some fields are
 * missing.
 */
const createRecords = (keys: readonly string[], count = ODD.length): readonly object[] => {
  const records = Array.from({ length: count }, (_, number) =>
    Object.fromEntries(
      keys.flatMap((key, place) =>
        (number + place) % 11 === 10 && number % 2 ? [] : [[key, ODD[(number + place * 7) % ODD.length]]],
      ),
    ),
  )
  return [...records, ...records.slice(0, 5), {}]
}

const toCsv = (table: Table): string => {
  const quote = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  const cells = ODD.filter((value) => typeof value === 'string').map(quote)
  const header = keysOf(table, 'row').map((name) => name.replaceAll('"', ''))
  const lines = cells.map((_, number) =>
    header.map((_key, place) => cells[(number + place * 7) % cells.length]).join(','),
  )
  return `${[header.join(','), ...lines, ...lines.slice(0, 2), '"only one"', 'a,b', ','].join('\n')}\n`
}

const toContent = (table: Table): string => {
  const rows = createRecords(keysOf(table, 'row'))
  if (table.shape === 'csv') return toCsv(table)
  if (table.shape === 'document')
    return JSON.stringify(table.lists ? Object.fromEntries(table.lists.map((list) => [list, rows])) : rows[0])
  const { lists } = table
  if (lists === undefined) return JSON.stringify(rows)
  const documents = createRecords(keysOf(table, 'document'))
  const inner = [rows, rows[0], [], null, [rows[1], 'text', 7, null], 'text', undefined]
  return JSON.stringify(
    documents.map((document, number) => ({
      ...document,
      ...Object.fromEntries(lists.map((list) => [list, inner[number % inner.length]])),
    })),
  )
}

/**
 * Rows that only one of the two readers of a table has: the files as they are, and the Parquet that would be
 * recorded.
 */
const compare = async (root: string, table: Table) => {
  const rows = (await readTable(root, table)) ?? []
  const columns = [...table.columns, EXTRA]
  const file = join(temporaryFolder(), 'rows.parquet')
  writeFileSync(file, await writeParquet(columns, rows))
  const all = listTables(streams).find(({ name }) => name === table.name) as Table
  const names = columns.map(({ name, type }) =>
    type === 'JSON' ? `CAST(${quoteName(name)} AS VARCHAR) AS ${quoteName(name)}` : quoteName(name),
  )
  const [sql, recorded] = [await buildSelect(all, await openFolder(root)), `FROM ${quoteText(file)}`].map(
    (select) => `(SELECT ${names.join(', ')} FROM (${select}))`,
  )
  const { connection, close } = await openDuckDb()
  try {
    const read = async (statement: string) => (await connection.runAndReadAll(statement)).getRowObjectsJson()
    const both = [
      await read(`FROM ${sql} EXCEPT ALL FROM ${recorded} LIMIT 3`),
      await read(`FROM ${recorded} EXCEPT ALL FROM ${sql} LIMIT 3`),
    ]
    return { rows: rows.length, sql: both[0], recorded: both[1] }
  } finally {
    close()
  }
}

describe.runIf(duckdb)('a row of a list is the same in SQL and in its record', () => {
  let folder: Awaited<ReturnType<typeof collected>>
  beforeAll(async () => {
    folder = await collected()
  })
  afterAll(() => folder.remove())

  it.each(TABLES)('in a simulated market: %s', async (_, table) => {
    expect(await compare(folder.out, table)).toMatchObject({ sql: [], recorded: [] })
  })

  it.each(TABLES)('with odd values in all fields: %s', async (_, table) => {
    const root = temporaryFolder()
    for (const { path } of table.files) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), toContent(table))
    }
    const found = await compare(root, table)
    expect(found).toMatchObject({ sql: [], recorded: [] })
    expect(found.rows).toBeGreaterThan(10)
  })
})

describe.skipIf(!duckdb)('a file of recorded rows', () => {
  it('has the bounds of each column, by which readers skip groups of rows', async () => {
    const columns = [
      { name: 'shares', type: 'BIGINT' },
      { name: 'price', type: 'DOUBLE' },
      { name: 'day', type: 'DATE' },
      { name: 'at', type: 'TIMESTAMP' },
      { name: 'nested', type: 'JSON' },
    ] as const
    const rows = [9_007_199_254_740_993n, -3, 7].map((shares, place) => ({
      shares,
      price: place === 1 ? null : place - 0.5,
      day: `2026-02-1${place}`,
      at: `2026-02-1${place} 09:15:30`,
      nested: `{"id":${place}}`,
    }))
    const file = join(temporaryFolder(), 'rows.parquet')
    writeFileSync(file, writeParquet(columns, rows))
    const { connection, close } = await openDuckDb()
    const bounds = `SELECT path_in_schema, stats_min_value, stats_max_value, stats_null_count FROM parquet_metadata(${quoteText(file)})`
    expect((await connection.runAndReadAll(bounds)).getRows().map((row) => row.map(String))).toEqual([
      ['shares', '-3', '9007199254740993', '0'],
      ['price', '-0.5', '1.5', '1'],
      ['day', '2026-02-10', '2026-02-12', '0'],
      ['at', '2026-02-10 09:15:30', '2026-02-12 09:15:30', '0'],
      ['nested', '{"id":0}', '{"id":2}', '0'],
    ])
    close()
  })
})
