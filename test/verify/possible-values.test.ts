import { expect, it } from 'vitest'
import { listTables, type StreamDefinition } from '../../src/engine/define-stream.js'
import { dayToNumber } from '../../src/market/candle-file.js'
import type { Row } from '../../src/model/row.js'
import { findAgainstLists } from '../../src/verify/against-lists.js'
import { checkCompanyNames } from '../../src/verify/list-checks.js'
import { createValueCheck } from '../../src/verify/possible-values.js'
import { bulkBlockDeals } from '../../streams/bulk-block-deals.js'
import { circuitStocks } from '../../streams/circuit-stocks.js'
import { companyFilings } from '../../streams/company-filings.js'
import { corporateActions } from '../../streams/corporate-actions.js'
import { fundamentalData } from '../../streams/fundamental-data.js'
import { marketNews } from '../../streams/market-news.js'
import { masterData } from '../../streams/master-data.js'
import { newAnnouncements } from '../../streams/new-announcements.js'
import { surveillanceLists } from '../../streams/surveillance-lists.js'

const TODAY = '2026-02-12'
const DEAL = { sym: 'A', date: '2026-02-11 00:00:00', bs: 'B', qty: 10, avgprice: 5.5 }
const FIGURES = { YEAR: '202512|202509', SALES: '10|9' }
const action = (more: Row) => ({
  Sym: 'A',
  CorpAct: [{ ActType: 'DIVIDEND', ExDate: '2026-02-27', RecDate: 'NA', ...more }],
})

const findIn = (stream: StreamDefinition, record: Row, item?: string) => {
  const check = createValueCheck(listTables([stream]), TODAY)
  check.add(record, item)
  return check.finish('f').map(({ symbol, detail }) => `${symbol}: ${detail}`)
}

const CASES: readonly (readonly [stream: StreamDefinition, record: Row, found: readonly string[]])[] = [
  [bulkBlockDeals, DEAL, []],
  [bulkBlockDeals, { ...DEAL, bs: 'X' }, ['A: bs: "X" is none of those known']],
  [bulkBlockDeals, { ...DEAL, qty: 0 }, ['A: qty: 0 is below 1']],
  [bulkBlockDeals, { ...DEAL, avgprice: -5 }, ['A: avgprice: -5 is below 0.01']],
  [bulkBlockDeals, { ...DEAL, date: '2026-02-13 00:00:00' }, ['A: date: 2026-02-13 is after 2026-02-12']],
  [bulkBlockDeals, { ...DEAL, date: '2026-01-32' }, ['A: date: 2026-01-32 is no day']],
  [corporateActions, action({}), []],
  [corporateActions, action({ ExDate: '2026-13-45' }), ['A: ex_date: 2026-13-45 is no day']],
  [corporateActions, action({ RecDate: '31-02-2026' }), ['A: record_date: 31-02-2026 is no day']],
  [surveillanceLists, { Symbol: 'A', Stage: 'IBC - Receipt & GSM 0 (62)' }, []],
  [surveillanceLists, { Symbol: 'A', Stage: '' }, ['A: Stage: "" is none of those known']],
  [circuitStocks, { Symbol: 'A', LTP: 0 }, ['A: LTP: 0 is below 0.01']],
  [circuitStocks, { Symbol: 'A', LTP: null, Volume: null }, []],
  [masterData, { Sym: 'A', Mcap: -1, FnoFlag: 2 }, ['A: FnoFlag: 2 is above 1', 'A: Mcap: -1 is below 0']],
  [fundamentalData, { Symbol: 'A', incomeStat_cq: FIGURES, sHp: { PROMOTER: '65|', FII: '35|-' } }, []],
  [fundamentalData, { Symbol: 'A', sHp: { PROMOTER: '20|165' } }, ['A: PROMOTER of sHp: 165 is above 100']],
  [
    fundamentalData,
    { Symbol: 'A', incomeStat_sq: { SALES: '-5' } },
    ['A: SALES of incomeStat_sq: -5 is below 0'],
  ],
  [
    fundamentalData,
    { Symbol: 'A', incomeStat_cq: { YEAR: '202612|202512' } },
    ['A: YEAR of incomeStat_cq: 202612 is after 2026-02-12'],
  ],
  [
    fundamentalData,
    { Symbol: 'A', incomeStat_cy: { NET_PROFIT: '5000|5|4|-6|5|1' } },
    ['A: NET_PROFIT of incomeStat_cy: 5000 is 1,000 times the median of the four before'],
  ],
  [
    fundamentalData,
    { Symbol: 'A', incomeStat_cq: { SALES: '10|10', NET_PROFIT: '2|2' } },
    ['A: incomeStat_cq: SALES 10, NET_PROFIT 2 repeats the period before'],
  ],
  [fundamentalData, { Symbol: 'A', incomeStat_cq: { SALES: '0|0', NET_PROFIT: '-0.1|-0.1' } }, []],
  [fundamentalData, { Symbol: 'A', incomeStat_cq: { SALES: '10|10', NET_PROFIT: '2|3' } }, []],
  [fundamentalData, { Symbol: 'A', incomeStat_cy: { NET_PROFIT: '240|5|4|6|5' } }, []],
  [fundamentalData, { Symbol: 'A', incomeStat_cy: { SALES: '60|0.5|0.4|0.6|0.5' } }, []],
]

it.each(CASES.map((one) => [one[0].name, JSON.stringify(one[1]), one] as const))(
  '%s: %s',
  (_, _record, [stream, record, found]) => expect(findIn(stream, record)).toEqual(found),
)

const OF_THE_FUTURE: readonly (readonly [stream: StreamDefinition, document: Row])[] = [
  [companyFilings, { data: [{ news_date: '2026-02-12 23:59:00' }, { news_date: '2027-01-01 09:00:00' }] }],
  [marketNews, { News: [{ PublishDate: Date.parse('2027-01-01T00:00:00+05:30') }] }],
]

it.each(OF_THE_FUTURE.map((one) => [one[0].name, one] as const))(
  'a document of the future: %s',
  (_, [stream, document]) =>
    expect(findIn(stream, document, 'A')).toEqual([
      expect.stringMatching(/^A: (news_date|PublishDate): 2027-01-01 is after 2026-02-12$/),
    ]),
)

it('an announcement of the future, and many values of a file in one finding', () => {
  const check = createValueCheck(listTables([newAnnouncements]), TODAY)
  for (let place = 0; place < 11; place++)
    check.add({
      Symbol: `S${place}`,
      date: '2027-01-01 00:00:00',
      Announcements: [{ date: '2027-01-01 00:00:00' }],
    })
  const found = check.finish('f')
  expect(found.map(({ detail }) => detail)).toEqual([
    'date: 11 values like 2027-01-01 of S0, which is after 2026-02-12',
  ])
})

const candles = { day: [dayToNumber('2026-02-11')], high: [110], low: [100], volume: [1000] }
const against = (deal: Row, more: Partial<Parameters<typeof findAgainstLists>[0]> = {}) =>
  findAgainstLists({
    rows: new Map([['bulk_block_deals.json', [{ ...DEAL, avgprice: 105, ...deal }]]]),
    stocks: [{ symbol: 'A', recent: { candles } as never }],
    actions: new Map(),
    doubts: [],
    ...more,
  }).map(({ detail }) => detail)

it.each(
  [
    [{}, []],
    [{ avgprice: 160 }, []],
    [{ avgprice: 1050 }, ['a deal at ₹ 1,050.00; the prices of the day are ₹ 100.00 to ₹ 110.00']],
    [{ avgprice: 10.5 }, ['a deal at ₹ 10.50; the prices of the day are ₹ 100.00 to ₹ 110.00']],
    [{ qty: 20_000 }, ['a deal of 20,000 shares; the volume of the day is 1,000']],
    [{ qty: 5000, exch: 'BSE' }, []],
    [{ date: '2026-02-10', avgprice: 1050 }, []],
    [{ sym: 'B', avgprice: 1050 }, []],
  ].map(([deal, found]) => [JSON.stringify(deal), deal, found] as const),
)('a deal and the candle of its day: %s', (_, deal, found) => expect(against(deal as Row)).toEqual(found))

it('a deal before a split, which the candles are divided by unless it is ahead', () => {
  const split = { kind: 'split', day: dayToNumber('2026-02-12'), factors: [0.1] }
  const actions = new Map([['A', [split]]])
  const from = (day: string) => ({ actions, asOf: Date.parse(`${day}T20:00:00+05:30`) })
  expect(against({ avgprice: 1050 }, { actions })).toEqual([])
  expect(against({ avgprice: 1050 }, from('2026-02-12'))).toEqual([])
  expect(against({ avgprice: 1050 }, from('2026-02-11'))).toHaveLength(1)
})

it.each(
  [
    [{ symbol: 'A', day: '2026-02-05' }, []],
    [{ day: '2026-02-11' }, []],
    [{ day: '2026-02-10' }, [expect.any(String)]],
    [{}, [expect.any(String)]],
    [{ symbol: 'A', day: '2019-02-05' }, [expect.any(String)]],
    [{ symbol: 'B' }, [expect.any(String)]],
  ].map(([doubt, found]) => [JSON.stringify(doubt), doubt, found] as const),
)('a deal beside candles in doubt: %s', (_, doubt, found) => {
  const doubts = [{ check: 'volumes', severity: 'warning', detail: '', ...doubt } as const]
  expect(against({ avgprice: 1050 }, { doubts })).toEqual(found)
})

it('a stock in two lists that exclude each other', () => {
  const rows = new Map([
    ['nse_asm_list.json', [{ Symbol: 'A' }, { Symbol: 'B' }]],
    ['nse_gsm_list.json', [{ Symbol: 'A' }]],
  ])
  expect(findAgainstLists({ rows, stocks: [], actions: new Map(), doubts: [] })).toMatchObject([
    { symbol: 'A', file: 'nse_gsm_list.json', detail: expect.stringContaining('nse_asm_list.json, too') },
  ])
})

const holdings = (count: number, wrong: number) => {
  const check = createValueCheck(listTables([fundamentalData]), TODAY)
  for (let place = 0; place < count; place++)
    check.add({
      Symbol: `S${place}`,
      sHp: { YEAR: '202512|202509', PROMOTER: place < wrong ? '90|40' : '40.2|90', FII: '20', PUBLIC: '40' },
    })
  return check.finish('f').map(({ symbol, detail }) => `${symbol}: ${detail}`)
}

it.each([
  [10, 0, []],
  [10, 1, ['S0: sHp: 150.00 is the sum of its newest figures, not 100']],
  // Where many differ, the figures are of something else.
  [10, 3, []],
  [4, 1, []],
])('of %i tables of holdings, %i do not add up', (count, wrong, found) =>
  expect(holdings(count, wrong)).toEqual(found),
)

it.each([
  ['INE1', 'INE2', ['A, B have one name, One Ltd, and other issuers']],
  // Partly paid shares, or those with other voting rights.
  ['INE002A01018', 'INE002A01026', []],
])('names of %s and %s', (one, other, found) => {
  const master = [
    { Sym: 'A', Isin: one, DispSym: 'One Ltd' },
    { Sym: 'B', Isin: other, DispSym: 'ONE LTD' },
  ]
  const rows = new Map([['master_data_response.json', master]])
  expect(
    findAgainstLists({ rows, stocks: [], actions: new Map(), doubts: [] }).map(({ detail }) => detail),
  ).toEqual(found)
})

it.each([
  ['Tata Steel Limited', []],
  [
    'Infosys',
    [
      'A: its name was Tata Steel Ltd on 2026-02-11 and is Infosys on 2026-02-12; symbol and ISIN are the same',
    ],
  ],
])('a company that is %s on the next day', (name, found) => {
  const check = checkCompanyNames('f')
  check.addDay('2026-02-11', [{ Symbol: 'A', ISIN: 'I', Name: 'Tata Steel Ltd' }])
  check.addDay('2026-02-12', [{ Symbol: 'A', ISIN: 'I', Name: name }])
  expect(check.finish().map(({ symbol, detail }) => `${symbol}: ${detail}`)).toEqual(found)
})
