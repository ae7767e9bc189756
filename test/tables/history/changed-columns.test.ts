import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listTables } from '../../../src/engine/define-stream.js'
import type { RecordedTable } from '../../../src/model/history.js'
import type { TableColumn } from '../../../src/model/row-schema.js'
import { diff } from '../../../src/tables/changes/diff.js'
import { runQuery } from '../../../src/tables/query.js'
import { verifyHistory } from '../../../src/verify/history-checks.js'
import { streams } from '../../../streams/registry.js'
import { temporaryFolder } from '../../support/folders.js'
import { recordRun, tablesOf } from '../../support/recorded-run.js'
import { duckdb } from '../support.js'
import { openPlain } from './known-answers.js'

const tables = listTables(streams)
const [FILE, MASTER] = ['bulk_block_deals.json', 'master_isin_map.json']
const deal = (qty: unknown, cname = 'a fund') => ({
  date: '2026-02-09 00:00:00',
  sym: 'S1',
  exch: 'NSE',
  deal: 'BULK',
  bs: 'B',
  cname,
  qty,
  avgprice: 1.5,
  more: { a: 1 },
})

/** The table of deals as an earlier version may have had it. */
const former = (change: (column: TableColumn) => readonly TableColumn[]): readonly RecordedTable[] =>
  tablesOf(FILE).map((one) => ({
    ...one,
    table: { ...one.table, columns: one.table.columns.flatMap(change) },
  }))

const store = (root: string, ...deals: readonly object[]): void =>
  writeFileSync(join(root, FILE), JSON.stringify(deals))

const ask = async (sql: string, root: string, asOf?: string) => {
  const { result, close, warnings } = await runQuery(sql, { out: root, tables, asOf })
  try {
    expect(warnings).toEqual([])
    return (await result.getRows()).map((row) => row.map((value) => (value === null ? null : String(value))))
  } finally {
    close()
  }
}

const COLUMNS = 'symbol, side, quantity, price, client, extra'
const OLD = '2026-02-09'
const [NEW, NEXT] = ['2026-02-10', '2026-02-11']

/** A day recorded with other columns, and two with those of now. */
const recordAll = async (earlier: readonly RecordedTable[]): Promise<string> => {
  const root = temporaryFolder()
  writeFileSync(join(root, MASTER), JSON.stringify([{ Symbol: 'S1', ISIN: 'INE000000001' }]))
  store(root, deal(10))
  await recordRun(root, { day: OLD, request: { tables: [...earlier, ...tablesOf(MASTER)] } })
  for (const day of [NEW, NEXT]) await recordRun(root, { day, request: { tables: tablesOf(FILE, MASTER) } })
  return root
}

describe.runIf(duckdb)('a record of an earlier version', () => {
  const now = ['S1', 'B', '10', '1.5', 'a fund', '{"more":{"a":1}}']

  it.each<readonly [string, (column: TableColumn) => readonly TableColumn[], (string | null)[]]>([
    [
      'without a column, whose values its `extra` has',
      (column) => (['side', 'quantity', 'client'].includes(column.name) ? [] : [column]),
      now,
    ],
    [
      'with a column of another name',
      (column) => [column.name === 'client' ? { ...column, name: 'buyer' } : column],
      (now as (string | null)[]).with(4, null),
    ],
    [
      'with a number as text',
      (column) => [column.name === 'quantity' ? { ...column, type: 'VARCHAR' } : column],
      now,
    ],
    [
      'with a text as number',
      (column) => [column.name === 'symbol' ? { ...column, type: 'BIGINT' } : column],
      now,
    ],
    [
      'with a whole number as another one',
      (column) => [column.name === 'quantity' ? { ...column, type: 'DOUBLE' } : column],
      now,
    ],
    [
      'with a day as text',
      (column) => [column.name === 'date' ? { ...column, type: 'VARCHAR' } : column],
      now,
    ],
    [
      'with a column that is gone',
      (column) => [column, ...(column.name === 'side' ? [{ ...column, name: 'gone' }] : [])],
      now,
    ],
    ['without any of the columns', () => [], now],
  ])('can be read: %s', async (_, change, expected) => {
    const root = await recordAll(former(change))
    expect(await ask(`select ${COLUMNS} from deals`, root, OLD)).toEqual([expected])
    expect(await ask(`select ${COLUMNS} from deals`, root, NEW)).toEqual([now])
    expect(await ask(`select date, day, ${COLUMNS} from history.deals order by day`, root)).toEqual([
      [OLD, OLD, ...expected],
      [OLD, NEW, ...now],
      [OLD, NEXT, ...now],
    ])
    expect(await ask('select count(*) from first_seen', root)).toEqual([['1']])
    const found = await verifyHistory(root, { sessions: [], streams, exchange: 'NSE', isDeep: true })
    expect(found.findings.filter(({ severity }) => severity === 'error')).toEqual([])
    const { changes } = await diff(root, { exchange: 'NSE', streams, since: OLD, until: NEW })
    expect(changes).toEqual(expected[4] === null ? [expect.objectContaining({ section: 'deals' })] : [])
    const plain = await openPlain(root)
    expect(await plain.ask('select count(*) from deals', OLD)).toEqual([['1']])
    expect(await plain.ask(`select ${COLUMNS} from deals`, NEW)).toEqual([now])
    expect(await plain.ask('select count(*) from history.deals')).toEqual([['3']])
    plain.close()
  })
})

describe.runIf(duckdb)('a stock that was renamed', () => {
  it('counts once as of a day before it had its present symbol', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'ohlcv_data'))
    const name = (symbol: string): void => {
      writeFileSync(join(root, MASTER), JSON.stringify([{ Symbol: symbol, ISIN: 'INE000000001' }]))
      const candles = [OLD, NEW].map((day) => `${Date.parse(`${day}T00:00:00+05:30`) / 1_000},1,1,1,1,1\n`)
      writeFileSync(
        join(root, `ohlcv_data/${symbol}.csv`),
        `Timestamp,Open,High,Low,Close,Volume\n${candles.join('')}`,
      )
    }
    for (const [day, symbol] of [
      [OLD, 'OLD'],
      [NEW, 'NEW'],
    ] as const) {
      name(symbol)
      await recordRun(root, { day, request: { tables: tablesOf(MASTER) } })
    }
    const counts = 'select symbol, isin, count(*) from candles_adjusted group by all'
    expect(await ask(counts, root, OLD)).toEqual([['OLD', 'INE000000001', '1']])
    // Only the recorded master lists name the former symbol.
    expect(await ask(counts, root)).toEqual([['NEW', 'INE000000001', '2']])
  })

  it('is warned of if the document of former stocks, which names it, cannot be read', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, '.scripstream'))
    writeFileSync(join(root, MASTER), JSON.stringify([{ Symbol: 'NEW', ISIN: 'INE000000001' }]))
    writeFileSync(join(root, '.scripstream/former-stocks.json'), '[{"symbol":"OLD","is')
    const { warnings, close } = await runQuery('from candles_adjusted', { out: root, tables })
    close()
    expect(warnings).toEqual([expect.stringContaining('.scripstream/former-stocks.json cannot be read')])
  })
})
