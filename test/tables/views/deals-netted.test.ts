import { describe, expect, it } from 'vitest'
import { readWholeList } from '../../../src/show/whole-lists.js'
import { candleFile, ISIN, marketWith, report, stock } from '../../show/support.js'
import { duckdb, objectsOf } from '../support.js'

const deal = (date: string, bs: string, cname: string, qty: number, more: object = {}) => ({
  sym: 'A',
  isin: ISIN,
  date,
  avgprice: 1000,
  bs,
  cname,
  deal: 'BULK',
  exch: 'NSE',
  qty,
  ...more,
})

const folder = () =>
  marketWith({
    '.scripstream/report.json': report({ 'all-ohlcv': ['success'], 'bulk-block-deals': ['success'] }),
    'master_isin_map.json': [stock('A'), stock('B', 'INE000000002')],
    'ohlcv_data/A.csv': candleFile([
      ['2026-02-11', 1000, 900_000],
      ['2026-02-12', 1000, 1_000_000],
    ]),
    'bulk_block_deals.json': [
      // A client that trades both ways counts with the difference, whatever the spaces and capitals.
      deal('2026-02-12', 'B', 'Big  Fund', 400_000),
      deal('2026-02-12', 'S', 'BIG FUND', 100_000),
      deal('2026-02-12', 'S', 'PROMOTER', 250_000),
      deal('2026-02-12', 'S', 'OTHER', 50_000),
      deal('2026-02-12', 'B', 'TRADER', 20_000),
      deal('2026-02-12', 'S', 'TRADER', 20_000),
      // Of the other exchange: not of the volume that the candles have.
      deal('2026-02-12', 'S', 'OTHER', 1_000_000, { exch: 'BSE' }),
      deal('2026-02-12', 'X', 'NOBODY', 1),
      // 30 days up to the day of the deal: the first of these is one too early.
      deal('2026-01-13', 'B', 'OTHER', 10_000),
      deal('2026-01-14', 'B', 'OTHER', 10_000, { sym: 'B', isin: 'INE000000002' }),
      deal('2026-02-11', 'S', 'LONE', 90_000, { exch: 'BSE' }),
      deal('2027-01-01', 'B', 'AHEAD', 10_000),
    ],
  })

describe.skipIf(!duckdb)('deals by stock and day', () => {
  it('say who sold to whom, what part of the volume it was, and what the largest client did in 30 days', async () => {
    const rows = await objectsOf(
      "from deals_netted where symbol = 'A' and day > '2026-02-01' order by day",
      folder().root,
    )
    expect(rows.slice(0, 2)).toMatchObject([
      {
        day: '2026-02-11',
        sellers: 'LONE 9.00',
        buyers: null,
        value_cr: 9,
        volume_pct: null,
        client: 'LONE',
        client_deals_30d: 1,
      },
      {
        day: '2026-02-12',
        sellers: 'OTHER 105.00 · PROMOTER 25.00',
        buyers: 'BIG FUND 30.00',
        flat_clients: 1,
        value_cr: 130,
        volume_pct: 42,
        client: 'OTHER',
        client_deals_30d: 3,
        client_net_30d_cr: -104,
      },
    ])
  })

  it('are a list, the newest first and none of days to come', async () => {
    const list = await readWholeList(folder(), 'netted')
    const [symbol, day] = ['symbol', 'day'].map((wanted) =>
      list?.columns.findIndex(({ name }) => name === wanted),
    )
    expect(list?.rows.map((row) => [row[symbol ?? -1], row[day ?? -1]])).toEqual([
      ['A', '2026-02-12'],
      ['A', '2026-02-11'],
      ['B', '2026-01-14'],
      ['A', '2026-01-13'],
    ])
  })
})
