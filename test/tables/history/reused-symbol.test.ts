import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listTables } from '../../../src/engine/define-stream.js'
import { queryRows } from '../../../src/tables/query.js'
import { streams } from '../../../streams/registry.js'
import { HISTORY, recordRun } from '../../support/recorded-run.js'
import { duckdb, folderWith } from '../support.js'

const [OLD, NEW] = ['INE149K01016', 'INE0ZZZ01018']
const [BEFORE, AFTER] = ['2026-02-03', '2026-02-06']

const candles = (...rows: readonly (readonly [day: string, price: number])[]): string =>
  [
    'Timestamp,Open,High,Low,Close,Volume',
    ...rows.map(
      ([day, price]) =>
        `${Date.parse(`${day}T00:00:00+05:30`) / 1000},${price},${price},${price},${price},100`,
    ),
    '',
  ].join('\n')

const listed = (symbol: string, ISIN: string) => ({ Symbol: symbol, ISIN, Name: ISIN, Sid: ISIN, FnoFlag: 0 })

interface Later {
  readonly master: readonly object[]
  readonly former: readonly (readonly [symbol: string, isin: string])[]
  readonly candles: Readonly<Record<string, string>>
}

/** A and B on the first day, of which a run fetches the candles of A again; then A is another company. */
const handOver = async ({ master, former, candles: files }: Later): Promise<string> => {
  const root = folderWith({ 'master_isin_map.json': [listed('A', OLD), listed('B', 'INE222B01011')] })
  const rewritten = [{ item: 'A', reason: 'a split' }]
  await recordRun(root, {
    day: BEFORE,
    request: HISTORY,
    scripts: { 'all-ohlcv': { outcome: 'success', rewritten } },
  })
  writeFileSync(join(root, 'master_isin_map.json'), JSON.stringify(master))
  writeFileSync(
    join(root, '.scripstream', 'former-stocks.json'),
    JSON.stringify(
      former.map(([symbol, isin]) => ({ symbol, isin, name: isin, sid: isin, file: symbol, until: BEFORE })),
    ),
  )
  mkdirSync(join(root, 'ohlcv_data'))
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(root, 'ohlcv_data', `${name}.csv`), text)
  await recordRun(root, { day: AFTER, request: HISTORY })
  return root
}

const CANDLES =
  'select symbol, isin, list(close order by day) AS closes, count(known_since) AS known from candles_known group by all order by 1'
const ask = (out: string, asOf?: string, sql = CANDLES) =>
  queryRows(sql, { out, tables: listTables(streams), lakeFrom: false, ...(asOf && { asOf }) })

describe.skipIf(!duckdb)('the candles of a symbol that another company got', () => {
  const later: Later = {
    master: [listed('A', NEW)],
    former: [['A', OLD]],
    candles: {
      A: candles(['2026-02-02', 1000], ['2026-02-03', 1001], ['2026-02-04', 1002]),
      [`A~${OLD}`]: candles(['2026-02-02', 5], ['2026-02-03', 6]),
    },
  }

  it('are those of its company as of a day before, and known since a run fetched them again', async () => {
    const out = await handOver(later)
    const old = { isin: OLD, closes: [5, 6], known: 2 }
    expect(await ask(out)).toMatchObject([
      { symbol: 'A', isin: NEW, closes: [1000, 1001, 1002], known: 0 },
      { symbol: `A~${OLD}`, ...old },
    ])
    expect(await ask(out, BEFORE)).toMatchObject([
      { symbol: 'A', ...old },
      { symbol: `A~${NEW}`, isin: NEW, closes: [1000, 1001], known: 0 },
    ])
    expect(await ask(out, undefined, 'select isin, symbol from rewritten')).toEqual([
      { isin: OLD, symbol: 'A' },
    ])
    const since = 'select isin, prices_known_since from screener'
    expect(await ask(out, undefined, since)).toEqual([{ isin: NEW, prices_known_since: null }])
    expect(await ask(out, BEFORE, `${since} where symbol = 'A'`)).toEqual([
      { isin: OLD, prices_known_since: '2026-02-03 19:30:00' },
    ])
  })

  it('are those of its company as of a day before two companies exchanged their symbols', async () => {
    const other = 'INE222B01011'
    const out = await handOver({
      master: [listed('A', other), listed('B', OLD)],
      former: [
        ['A', OLD],
        ['B', other],
      ],
      candles: { A: candles(['2026-02-02', 1000]), B: candles(['2026-02-02', 5]) },
    })
    expect(await ask(out)).toMatchObject([
      { symbol: 'A', isin: other, closes: [1000], known: 0 },
      { symbol: 'B', isin: OLD, closes: [5], known: 1 },
    ])
    expect(await ask(out, BEFORE)).toMatchObject([
      { symbol: 'A', isin: OLD, closes: [5], known: 1 },
      { symbol: 'B', isin: other, closes: [1000], known: 0 },
    ])
  })
})
