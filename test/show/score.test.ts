import { describe, expect, it } from 'vitest'
import { readToday } from '../../src/show/market.js'
import { describeScore } from '../../src/show/score.js'
import { readWholeList } from '../../src/show/whole-lists.js'
import { duckdb } from '../tables/support.js'
import { candleFile, marketWith, report, stock } from './support.js'

const isinOf = (symbol: string): string => `INE00000000${'ABCDE'.indexOf(symbol)}`
const results = { news_date: '2026-02-12 12:00:00', caption: 'x', descriptor: 'Financial Results' }
const figures = (symbol: string, year: string, sales: string, profit: string) => ({
  Symbol: symbol,
  ISIN: isinOf(symbol),
  incomeStat_cq: { YEAR: year, SALES: sales, NET_PROFIT: profit },
})
const QUARTERS = '202512|202509|202506|202503|202412'

const market = () =>
  marketWith({
    '.scripstream/report.json': report({ 'all-ohlcv': ['success'] }),
    'master_isin_map.json': [...'ABCDE'].map((symbol) => stock(symbol, isinOf(symbol))),
    'master_data_response.json': [{ Sym: 'E', Isin: isinOf('E'), Mcap: 9e5 }],
    ...Object.fromEntries(
      [...'ABCDE'].map((symbol) => [
        `ohlcv_data/${symbol}.csv`,
        candleFile([
          ['2026-02-11', 100],
          ['2026-02-12', symbol === 'A' ? 104 : 102],
        ]),
      ]),
    ),
    ...Object.fromEntries(
      [...'ABC'].map((symbol) => [`company_filings/${symbol}_filings.json`, { data: [results] }]),
    ),
    // The provider still has the quarter before of the third stock.
    'fundamental_data.json': [
      figures('A', QUARTERS, '12|1|1|1|10', '1|1|1|1|2'),
      figures('B', QUARTERS, '9|1|1|1|10', '3|1|1|1|-2'),
      figures('C', '202509|202506|202503|202412|202409', '12|1|1|1|10', '3|1|1|1|2'),
    ],
    'upcoming_corporate_actions.json': [
      { Sym: 'A', CorpAct: [{ ActType: 'QUARTERLY RESULTS', ExDate: '2026-02-12', Note: '' }] },
      { Sym: 'D', CorpAct: [{ ActType: 'QUARTERLY RESULTS', ExDate: '2026-02-19', Note: '' }] },
      {
        Sym: 'E',
        CorpAct: [
          { ActType: 'QUARTERLY RESULTS', ExDate: '2026-02-20', Note: '' },
          { ActType: 'BONUS', ExDate: '2026-02-13', Note: '1:10' },
        ],
      },
      { Sym: 'D', CorpAct: [{ ActType: 'DIVIDEND', ExDate: '2026-02-13', Note: '2.5' }] },
      { Sym: 'ELSEWHERE', CorpAct: [{ ActType: 'BONUS', ExDate: '2026-02-13', Note: '1:1' }] },
    ],
  })

describe.skipIf(!duckdb)('the results of the last days', () => {
  it('are counted: reported, due within a week and not yet there', async () => {
    const { results: panel } = await readToday(market())
    expect(panel.sum).toBe(
      '3 stocks reported · 1 due within seven days · sales grew at 1 of 2 · profit at 0 of 1 · median price +2.0 %',
    )
    expect(panel.total).toBe(3)
    expect((await readWholeList(market(), 'scoreboard'))?.rows.map((row) => row.slice(0, 3))).toEqual([
      [null, '3', '1'],
    ])
  })

  it('and the ex-dates are of stocks of the folder, the largest first, each with its terms', async () => {
    const { actions } = await readToday(market())
    expect(actions.rows).toMatchObject([
      { symbol: 'E', day: '2026-02-13', action: 'bonus', terms: '1:10' },
      { symbol: 'D', day: '2026-02-13', action: 'dividend', amount: 2.5 },
    ])
    expect(actions.total).toBe(2)
    const list = await readWholeList(market(), 'actions')
    expect(list?.rows.map(([symbol]) => symbol)).not.toContain('ELSEWHERE')
  })
})

it('says in words what is known of results', () => {
  expect(describeScore({})).toBe('')
  expect(describeScore({ reported: 1, due: 12 })).toBe('1 stock reported · 12 due within seven days')
  const known = { salesKnown: 380, salesGrew: 210, profitKnown: 379, profitGrew: 190, dayReturnPct: -0.44 }
  expect(describeScore({ reported: 498, due: 0, ...known })).toBe(
    '498 stocks reported · 0 due within seven days · sales grew at 210 of 380 · profit at 190 of 379 · median price -0.4 %',
  )
})
