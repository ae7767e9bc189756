import { describe, expect, it } from 'vitest'
import { ALPHA, type Asked, arrayOf, BETA, type Collecting, collect, stockNamed, withFile } from './support.js'

const RESPONSE = 'master_data_response.json'
const MAP = 'master_isin_map.json'

const masterOf = (master: readonly object[], more: Partial<Collecting> = {}) =>
  collect({ stream: 'master-data', answer: () => 404, master, ...more })

const stock = (symbol: string, ISIN: string, Name: string, Sid: string, FnoFlag: number) => ({ Symbol: symbol, ISIN, Name, Sid, FnoFlag })

describe('master-data', () => {
  it('asks once, with the fields and conditions of the document and an Origin', async () => {
    const seen: unknown[] = []
    const watch = ({ path, body, headers }: Asked): void => void seen.push({ path, body, origin: headers.origin })
    await masterOf([ALPHA], { watch, settings: { exchange: 'bse' } })
    expect(seen).toEqual([
      {
        path: '/analytics/customscan/fetchdt',
        origin: 'http://web',
        body: {
          data: {
            sort: 'Mcap',
            sorder: 'desc',
            count: 5000,
            fields: [
              'Isin',
              'DispSym',
              'Mcap',
              'Pe',
              'DivYeild',
              'Revenue',
              'Year1RevenueGrowth',
              'NetProfitMargin',
              'YoYLastQtrlyProfitGrowth',
              'EBIDTAMargin',
              'volume',
              'PricePerchng1year',
              'Sym',
              'Sid',
              'FnoFlag',
            ],
            params: [
              { field: 'OgInst', op: '', val: 'ES' },
              { field: 'Exch', op: '', val: 'BSE' },
            ],
            pgno: 0,
          },
        },
      },
    ])
  })

  it('writes the rows as answered, and the map of exactly five fields in the order answered', async () => {
    const rows = [
      { Isin: 'INE000000009', Extra: { b: 1, a: null }, DispSym: 'Zeta', Mcap: null, Sym: 'ZETA', Sid: 17_534, FnoFlag: 1 },
      { Sym: 'ALPHA', Isin: 'INE000000001', DispSym: 'Alpha', Sid: '22' },
      { Sym: 'M&M', Isin: 'INE000000002', DispSym: 'M&M', Sid: 3, FnoFlag: null },
    ]
    const { text, report } = await masterOf(rows)
    expect(text(RESPONSE)).toBe(arrayOf(...rows))
    expect(text(MAP)).toBe(
      arrayOf(
        stock('ZETA', 'INE000000009', 'Zeta', '17534', 1),
        stock('ALPHA', 'INE000000001', 'Alpha', '22', 0),
        stock('M&M', 'INE000000002', 'M&M', '3', 0),
      ),
    )
    expect(report).toMatchObject({ outcome: 'complete', stocks: 3 })
  })

  it('leaves rows without a symbol or an ISIN out of the map, and counts them', async () => {
    const rows = [ALPHA, { Isin: 'INE000000002' }, { Sym: 'BETA' }, { Sym: '', Isin: 'INE000000003' }, { Sym: 'C', Isin: null }]
    const { text, report, script } = await masterOf(rows)
    expect(JSON.parse(text(RESPONSE) ?? '')).toHaveLength(5)
    expect(text(MAP)).toBe(arrayOf(stock('ALPHA', ALPHA.Isin, 'ALPHA Limited', '1001', 0)))
    expect(script.problems).toEqual([{ reason: expect.stringMatching(/\b4 rows/) }])
    expect(report).toMatchObject({ outcome: 'complete', stocks: 1 })
  })

  it.each([
    { what: 'is empty', rows: [] },
    { what: 'holds no stock', rows: [{ Sym: '', Isin: '' }] },
  ])('fails the run when the list $what, asks nothing else and leaves the earlier files alone', async ({ rows }) => {
    const { report, asked, text, script } = await collect({
      stream: 'master-data',
      only: ['master-data', 'fundamental-data', 'all-indices'],
      answer: () => ({ data: [] }),
      master: rows,
      files: withFile(MAP, 'the good one'),
    })
    expect(report).toMatchObject({ outcome: 'failed', error: expect.stringContaining('no stock') })
    expect(script.outcome).toBe('failed')
    expect(asked).toEqual([])
    expect(text(MAP)).toBe('the good one')
    expect(text(RESPONSE)).toBeUndefined()
  })

  it('stops the run when it has lost more than 30 % of its stocks, whatever rows it holds, and leaves the earlier files alone', async () => {
    const stocks = Array.from({ length: 10 }, (_, place) => stockNamed(`S${place}`, place))
    const files = (await masterOf(stocks)).files
    const before = [...files]
    const cut = [...stocks.slice(0, 6), ...stocks.slice(6).map(({ Sym }) => ({ Sym }))]
    const { report, asked } = await collect({
      stream: 'master-data',
      only: ['fundamental-data'],
      answer: () => ({ data: [] }),
      master: cut,
      files,
    })
    expect(report).toMatchObject({
      outcome: 'failed',
      error: expect.stringMatching(/master-data failed: shrink: 6 records, the earlier file holds 10/),
    })
    expect(asked).toEqual([])
    expect([...files].filter(([file]) => !file.startsWith('.scripstream'))).toEqual(
      before.filter(([file]) => !file.startsWith('.scripstream')),
    )
    expect((await masterOf(stocks.slice(0, 7), { files })).report).toMatchObject({ outcome: 'complete', stocks: 7 })
    expect((await masterOf(stocks.slice(0, 2), { files, accept: ['shrink'] })).report).toMatchObject({ outcome: 'complete', stocks: 2 })
  })

  it('is never narrowed by symbols: its files hold every stock', async () => {
    const { text, report } = await masterOf([ALPHA, BETA], { symbols: ['beta'] })
    expect(JSON.parse(text(MAP) ?? '')).toHaveLength(2)
    expect(report.stocks).toBe(1)
  })
})
