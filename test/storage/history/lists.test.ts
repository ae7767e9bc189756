import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeLists } from '../../../src/storage/history/lists.js'
import {
  type History,
  openHistory,
  type RecordedList,
  type StoredRecord,
  writeRecord,
} from '../../../src/storage/history/record.js'
import { readParquet, readParquetGroups } from '../../../src/storage/parquet.js'
import { type TableRow, toColumnValues, type Value } from '../../../src/storage/table-rows.js'
import { temporaryFolder } from '../../support/folders.js'
import { createRowText, readRecordedList } from '../../support/history.js'
import { createTable, toHistoryFolder } from './support.js'

const TABLE = createTable('rows', 'rows.json', {
  symbol: ['Symbol'],
  text: ['Text'],
  nested: ['Nested', 'JSON'],
  price: ['Price', 'DOUBLE'],
  volume: ['Volume', 'BIGINT'],
  day: ['Day', 'DATE'],
  at: ['At', 'TIMESTAMP'],
})

/** Rows that are read at once. */
const PIECE = 4_096

/** Records a version of the list on a day. */
const recordRows = async (
  history: History,
  day: string,
  rows: readonly TableRow[],
  table = TABLE,
): Promise<History> => {
  const knownAt = `${day}T14:30:00.000Z`
  const recorded = { table, stream: 'rows', isPerItem: false, changesDaily: false, followsAsOf: true }
  const encoded = await encodeLists(history, {
    tables: [recorded],
    day,
    knownAt,
    warn: (text) => expect.fail(text),
    read: async function* ([list]) {
      for (let from = 0; from < rows.length; from += PIECE) {
        const values = toColumnValues(table, rows.slice(from, from + PIECE))
        for (const [at, column] of list?.[1].entries() ?? []) column.push(...(values[at] ?? []))
        yield
      }
    },
  })
  return writeRecord(history, {
    ...encoded,
    facts: { day, knownAt, timing: 'final', isConfirmed: true, run: 'r' },
  })
}

const sortRows = (rows: readonly TableRow[] = []): readonly string[] => rows.map(createRowText(TABLE)).sort()

/** Where a record has its list. */
const describeFiles = ({ lists: { rows } }: StoredRecord): string =>
  [
    rows?.whole.name.startsWith('bases/') ? 'base' : `own ${rows?.whole.name.split('/')[2]}`,
    ...(rows?.changes ? [` and ${rows.changes.name.split('/')[2]}`] : []),
  ].join('')

const recordDays = async (versions: Readonly<Record<string, readonly TableRow[]>>): Promise<History> => {
  let history = await openHistory(temporaryFolder())
  for (const [day, rows] of Object.entries(versions)) history = await recordRows(history, day, rows)
  return history
}

const rowOf = (symbol: string, values: Partial<TableRow> = {}): TableRow => ({
  symbol,
  text: null,
  nested: null,
  price: null,
  volume: null,
  day: null,
  at: null,
  extra: null,
  ...(values as TableRow),
})

const rowsOf = (count: number, values: Partial<TableRow> = {}): TableRow[] =>
  Array.from({ length: count }, (_, at) => rowOf(`S${at}`, values))

/** Texts that formats like to lose. */
const TEXTS = [
  '',
  ' ',
  '\u0000',
  'null',
  '\\ud83d',
  '\ufffd',
  '\ufeff',
  '"',
  "'",
  '\r\n',
  '🙂',
  'é',
  'e\u0301',
  '़',
  '\u2028',
  'x'.repeat(5_000),
]

const orNull = (values: fc.Arbitrary<Value>): fc.Arbitrary<Value> => fc.option(values, { nil: null, freq: 4 })

const toDay = (date: Date): string => date.toISOString().slice(0, 10)
const date = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
const text = fc.oneof(fc.constantFrom(...TEXTS), fc.string({ unit: 'binary' }))

const row: fc.Arbitrary<TableRow> = fc.record({
  symbol: fc.constantFrom('A', 'B', 'C', null),
  text: orNull(text),
  nested: orNull(fc.json()),
  price: orNull(fc.double({ noNaN: true, noDefaultInfinity: true })),
  volume: orNull(
    fc.oneof(fc.maxSafeInteger(), fc.constantFrom(9_223_372_036_854_775_807n, -9_007_199_254_740_993n)),
  ),
  day: orNull(date.map(toDay)),
  at: orNull(date.map((one) => one.toISOString().slice(0, 19).replace('T', ' '))),
  extra: orNull(fc.json()),
})

/** A list and what may become of it: rows leave, change, come twice, and are in another order. */
const versions = fc.array(row, { maxLength: 12 }).chain((first) =>
  fc.tuple(
    fc.constant(first),
    ...[1, 2].map(() =>
      fc
        .tuple(fc.subarray(first), fc.subarray(first), fc.array(row, { maxLength: 3 }))
        .chain(([some, twice, added]) =>
          fc.shuffledSubarray([...some, ...twice, ...added], {
            minLength: some.length + twice.length + added.length,
          }),
        ),
    ),
  ),
)

describe('a recorded list', () => {
  it('has the rows of each day again, whatever is in them', async () => {
    await fc.assert(
      fc.asyncProperty(versions, async (lists) => {
        const history = await recordDays(
          Object.fromEntries(lists.map((rows, at) => [`2026-02-${10 + at}`, rows])),
        )
        for (const [at, rows] of lists.entries())
          expect(sortRows(await readRecordedList(history.root, TABLE.name, `2026-02-${10 + at}`))).toEqual(
            sortRows(rows),
          )
      }),
      { numRuns: 40, examples: [[[[], [], []]], [[TEXTS.map((one) => rowOf('A', { text: one })), [], []]]] },
    )
  })

  it('has the changes of its base, if at most half of the rows differ', async () => {
    const base = rowsOf(10, { price: 1 })
    const changed = (count: number) => base.map((one, at) => (at < count ? { ...one, price: 2 } : one))
    const { records, root } = await recordDays({
      '2026-02-09': base,
      '2026-02-10': base.toReversed(),
      '2026-02-11': changed(5),
      '2026-02-12': changed(6),
      '2026-02-13': [...changed(6).slice(1), rowOf('new')],
    })
    expect(records.map(describeFiles)).toEqual([
      'own rows.parquet',
      'base',
      'base and rows.changes.parquet',
      // The base of the next days.
      'own rows.parquet',
      'base and rows.changes.parquet',
    ])
    for (const [day, rows] of Object.entries({
      '2026-02-10': base,
      '2026-02-11': changed(5),
      '2026-02-12': changed(6),
    }))
      expect(sortRows(await readRecordedList(root, 'rows', day))).toEqual(sortRows(rows))
  })

  it.each([
    ['nothing that names its rows', undefined, 'added'],
    ['a key', ['Id'], 'changed'],
  ])('of a table with %s has as changed rows only those that are about the same', async (_, key, change) => {
    const table = {
      ...createTable('rows', 'rows.json', { Id: ['Id', 'BIGINT'], Value: ['Value', 'BIGINT'] }),
      ...(key ? { key } : {}),
    }
    const base = Array.from(
      { length: 10 },
      (_, at): TableRow => ({ Id: at, Value: 9_007_199_254_740_993n, extra: null }),
    )
    let history = await openHistory(temporaryFolder())
    for (const [day, rows] of [
      ['2026-02-09', base] as const,
      ['2026-02-10', base.with(3, { Id: 3, Value: 0, extra: null })] as const,
    ])
      history = await recordRows(history, day, rows, table)
    const changes = history.records[1]?.lists.rows?.changes?.name ?? ''
    const rows = await readParquet(readFileSync(join(toHistoryFolder(history.root), changes)))
    expect(rows.map((row) => row._change)).toEqual(change === 'changed' ? ['changed'] : ['added', 'removed'])
  })

  it('of many rows is written and compared in groups', async () => {
    const base = rowsOf(40_000, { price: 1 })
    const places = [3, 16_384, 39_999]
    const later = base.map((one, at) => (places.includes(at) ? { ...one, price: 2 } : one)).slice(1)
    const { records, root } = await recordDays({ '2026-02-09': base, '2026-02-10': [...later, rowOf('new')] })
    const { whole, changes } = records[1]?.lists.rows ?? {}
    const bytes = readFileSync(join(toHistoryFolder(root), whole?.name ?? ''))
    const groups: number[] = []
    for await (const { from } of readParquetGroups(bytes)) groups.push(from)
    expect(groups).toEqual([0, 16_384, 32_768])
    const found = await readParquet(readFileSync(join(toHistoryFolder(root), changes?.name ?? '')))
    expect(found.map(({ symbol, _change, _base_row }) => [symbol, _change, _base_row])).toEqual([
      ...places.map((place) => [`S${place}`, 'changed', place]),
      ['new', 'added', null],
      ['S0', 'removed', 0],
    ])
    expect(sortRows(await readRecordedList(root, 'rows', '2026-02-10'))).toEqual(
      sortRows([...later, rowOf('new')]),
    )
  })

  it('is stored whole if the first 16,384 rows of its base are gone, whatever follows', async () => {
    const base = rowsOf(40_000, { price: 1 })
    const later = (count: number) => base.map((one, at) => (at < count ? { ...one, price: 2 } : one))
    const { records, root } = await recordDays({
      '2026-02-09': base,
      '2026-02-10': later(16_384),
      '2026-02-11': later(12_000),
    })
    expect(records.map(describeFiles)).toEqual([
      'own rows.parquet',
      'own rows.parquet',
      'base and rows.changes.parquet',
    ])
    expect(sortRows(await readRecordedList(root, 'rows', '2026-02-10'))).toEqual(sortRows(later(16_384)))
  })

  it('is the same as its base, also if the record of that one does not say so', async () => {
    const rows = rowsOf(10)
    const written = await recordDays({ '2026-02-09': rows })
    const [first] = written.records as [StoredRecord]
    const list = { ...(first.lists.rows as RecordedList), content: 'another' }
    const history = await recordRows(
      { ...written, records: [{ ...first, lists: { rows: list } }] },
      '2026-02-10',
      rows,
    )
    expect(history.records.map(describeFiles)).toEqual(['own rows.parquet', 'base'])
  })

  it('that changes as a whole each day is stored whole, without a base', async () => {
    const { records, root } = await recordDays(
      Object.fromEntries(
        [9, 10, 11].map((day) => [`2026-02-${String(day).padStart(2, '0')}`, rowsOf(10, { price: day })]),
      ),
    )
    expect(records.map(describeFiles)).toEqual(['own rows.parquet', 'own rows.parquet', 'own rows.parquet'])
    expect(readdirSync(join(toHistoryFolder(root), 'bases'))).toEqual([])
  })

  it('is stored whole on the first day of each quarter', async () => {
    const rows = rowsOf(10)
    const { records } = await recordDays({
      '2026-03-30': rows,
      '2026-03-31': rows,
      '2026-04-01': rows,
      '2026-06-30': rows,
      '2026-07-01': rows,
    })
    expect(records.map(describeFiles)).toEqual([
      'own rows.parquet',
      'base',
      'own rows.parquet',
      'base',
      'own rows.parquet',
    ])
  })

  it.each(['2026-03-31', '2026-04-01'])(
    'of a late record of %s is no change of a later base',
    async (day) => {
      const rows = rowsOf(10)
      const { records } = await recordDays({ '2026-04-02': rows, [day]: rows })
      expect(records.map(describeFiles)).toEqual(['own rows.parquet', 'own rows.parquet'])
    },
  )

  it('is read from its base if its own file is damaged, and the other way round', async () => {
    const rows = rowsOf(10)
    const later = [...rows.slice(1), rowOf('new')]
    const { records, root } = await recordDays({ '2026-02-09': rows, '2026-02-10': later })
    const paths = records.map(({ lists }) => join(toHistoryFolder(root), String(lists.rows?.whole.name)))
    for (const path of paths) {
      const bytes = readFileSync(path)
      writeFileSync(path, bytes.subarray(1))
      expect(sortRows(await readRecordedList(root, 'rows', '2026-02-09'))).toEqual(sortRows(rows))
      expect(sortRows(await readRecordedList(root, 'rows', '2026-02-10'))).toEqual(sortRows(later))
      writeFileSync(path, bytes)
    }
    for (const path of paths) writeFileSync(path, 'x')
    await expect(readRecordedList(root, 'rows', '2026-02-09')).rejects.toThrow('is damaged')
    await expect(readRecordedList(root, 'rows', '2026-02-10')).rejects.toThrow('is damaged')
  })
})
