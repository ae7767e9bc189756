import { describe, expect, it } from 'vitest'
import {
  ALPHA,
  arrayOf,
  BETA,
  type Collecting,
  collect,
  type SentRequest,
  stockNamed,
  withFile,
} from './support.js'

const RESPONSE = 'master_data_response.json'
const MAP = 'master_isin_map.json'

const masterOf = (master: readonly object[], more: Partial<Collecting> = {}) =>
  collect({ stream: 'master-data', answer: () => 404, master, ...more })

/** A list with its own total. */
const counted = (master: readonly object[], tot_rec: unknown, more: Partial<Collecting> = {}) =>
  masterOf(master, { tot_rec, ...more })

const stocksNamed = (count: number) =>
  Array.from({ length: count }, (_, place) => stockNamed(`S${place}`, place))
const outputsIn = (files: Collecting['files']) =>
  [...(files ?? [])].filter(([file]) => !file.startsWith('.scripstream'))

const stock = (symbol: string, ISIN: string, Name: string, Sid: string, FnoFlag: number) => ({
  Symbol: symbol,
  ISIN,
  Name,
  Sid,
  FnoFlag,
})

describe('master-data', () => {
  it('sends one request, with the fields and conditions of the document and an Origin', async () => {
    const seen: unknown[] = []
    const watch = ({ path, body, headers }: SentRequest): void =>
      void seen.push({ path, body, origin: headers.origin })
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
      {
        Isin: 'INE000000009',
        Extra: { b: 1, a: null },
        DispSym: 'Zeta',
        Mcap: null,
        Sym: 'ZETA',
        Sid: 17_534,
        FnoFlag: 1,
      },
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
    const rows = [
      ALPHA,
      { Isin: 'INE000000002' },
      { Sym: 'BETA' },
      { Sym: '', Isin: 'INE000000003' },
      { Sym: 'C', Isin: null },
    ]
    const { text, report, script } = await masterOf(rows)
    expect(JSON.parse(text(RESPONSE) ?? '')).toHaveLength(5)
    expect(text(MAP)).toBe(arrayOf(stock('ALPHA', ALPHA.Isin, 'ALPHA Limited', '1001', 0)))
    expect(script.problems).toEqual([{ reason: expect.stringMatching(/\b4 rows/) }])
    expect(report).toMatchObject({ outcome: 'complete', stocks: 1 })
  })

  it.each([
    { what: 'is empty', rows: [] },
    { what: 'holds no stock', rows: [{ Sym: '', Isin: '' }] },
  ])(
    'fails the run when the list $what, asks nothing else and leaves the earlier files alone',
    async ({ rows }) => {
      const { report, requests, text, script } = await collect({
        stream: 'master-data',
        only: ['master-data', 'fundamental-data', 'all-indices'],
        answer: () => ({ data: [] }),
        master: rows,
        files: withFile(MAP, 'the good one'),
      })
      expect(report).toMatchObject({ outcome: 'failed', error: expect.stringContaining('no stock') })
      expect(script.outcome).toBe('failed')
      expect(requests).toEqual([])
      expect(text(MAP)).toBe('the good one')
      expect(text(RESPONSE)).toBeUndefined()
    },
  )

  it('stops the run when more than 30 % of the stocks are missing, and keeps the stored files', async () => {
    const stocks = Array.from({ length: 10 }, (_, place) => stockNamed(`S${place}`, place))
    const files = (await masterOf(stocks)).files
    const before = [...files]
    const cut = [...stocks.slice(0, 6), ...stocks.slice(6).map(({ Sym }) => ({ Sym }))]
    const { report, requests } = await collect({
      stream: 'master-data',
      only: ['fundamental-data'],
      answer: () => ({ data: [] }),
      master: cut,
      files,
    })
    expect(report).toMatchObject({
      outcome: 'failed',
      error: expect.stringMatching(/master-data failed: shrink: 6 records, the stored file has 10/),
    })
    expect(requests).toEqual([])
    expect([...files].filter(([file]) => !file.startsWith('.scripstream'))).toEqual(
      before.filter(([file]) => !file.startsWith('.scripstream')),
    )
    expect((await masterOf(stocks.slice(0, 7), { files })).report).toMatchObject({
      outcome: 'complete',
      stocks: 7,
    })
    expect((await masterOf(stocks.slice(0, 2), { files, accept: ['shrink'] })).report).toMatchObject({
      outcome: 'complete',
      stocks: 2,
    })
  })

  it('stops the run when it holds fewer stocks than it says, and leaves the earlier files alone', async () => {
    const stocks = stocksNamed(60)
    const files = (await counted(stocks, 60)).files
    const before = outputsIn(files)
    const { report, script, requests } = await counted(stocks.slice(0, 45), 60, {
      files,
      only: ['fundamental-data'],
    })
    expect(report).toMatchObject({
      outcome: 'failed',
      error: 'master-data failed: count: the list has 45 rows but reports a total of 60',
    })
    expect(script.problems).toMatchObject([{ item: 'all', status: 'error', code: 'count' }])
    expect(requests).toEqual([])
    expect(outputsIn(files)).toEqual(before)

    const accepted = await counted(stocks.slice(0, 45), 60, { files, accept: ['count'] })
    expect(accepted.report).toMatchObject({ outcome: 'complete', stocks: 45 })
    expect(accepted.script.problems[0]?.reason).toBe(
      'accepted although rows are missing: the list has 45 rows but reports a total of 60',
    )
  })

  it.each([
    { what: 'as many stocks as it says', tot_rec: 60 },
    { what: 'as many stocks as it says in a text', tot_rec: '60' },
    { what: 'more', tot_rec: 59 },
    { what: 'stocks and no count', tot_rec: undefined },
    { what: 'stocks and no number for a count', tot_rec: 'many' },
    { what: 'stocks and a count that is null', tot_rec: null },
  ])('passes where it holds $what', async ({ tot_rec }) => {
    const { report, script } = await counted(stocksNamed(60), tot_rec)
    expect(report).toMatchObject({ outcome: 'complete', stocks: 60 })
    expect(script.problems).toEqual([])
  })

  it('refuses a count that is one more than its rows', async () => {
    expect((await counted(stocksNamed(60), '61')).report.outcome).toBe('failed')
  })

  describe('with as many stocks as one request can return', () => {
    it('warns that more may exist', async () => {
      const { report, script } = await counted(stocksNamed(5_000), undefined)
      expect(report).toMatchObject({ outcome: 'complete', stocks: 5_000 })
      expect(script.problems).toEqual([
        { reason: expect.stringMatching(/5,000 rows, the maximum of one request/) },
      ])
    })

    it('is stored, and counts as incomplete if its total is higher', async () => {
      const { report, script } = await counted(stocksNamed(5_000), 5_400)
      expect(report).toMatchObject({ outcome: 'partial', stocks: 5_000 })
      expect(script.problems).toEqual([
        { item: 'all', status: 'success', reason: expect.stringMatching(/^count: .*5,400.* no more$/) },
      ])
    })
  })

  describe('that lists stocks otherwise than the earlier one', () => {
    const noticesAfter = async (master: readonly object[], earlier: readonly object[] = [ALPHA, BETA]) => {
      const { files } = await masterOf(earlier)
      return (await masterOf(master, { files })).script.problems.map(({ reason }) => reason)
    }

    it('warns about a renamed stock', async () => {
      expect(await noticesAfter([{ ...ALPHA, Sym: 'OMEGA' }, BETA])).toEqual([
        expect.stringMatching(/^renamed: ALPHA is now OMEGA;/),
      ])
    })

    it('warns about a changed ISIN', async () => {
      const [reason] = await noticesAfter([{ ...ALPHA, Isin: 'INE000000099' }, BETA])
      expect(reason).toMatch(/^another ISIN: ALPHA has INE000000099 instead of INE000000001;/)
    })

    it('reports which file belongs to which stock if two share a symbol', async () => {
      const reasons = await noticesAfter([ALPHA, { ...BETA, Sym: 'ALPHA', Isin: 'INE000000099' }])
      expect(reasons).toContainEqual(
        expect.stringMatching(
          /^file names: ALPHA \(INE000000001\) is ALPHA~INE000000001, was ALPHA, ALPHA \(INE000000099\) is ALPHA~INE000000099;/,
        ),
      )
    })

    it('does not warn if nothing changed, or if the earlier list is missing or unreadable', async () => {
      expect(await noticesAfter([BETA, ALPHA])).toEqual([])
      for (const text of ['{"a":', '{}', '[null,7,{"Symbol":1}]'])
        expect((await masterOf([ALPHA], { files: withFile(MAP, text) })).script.problems).toEqual([])
    })
  })

  it('is never narrowed by symbols: its files hold every stock', async () => {
    const { text, report } = await masterOf([ALPHA, BETA], { symbols: ['beta'] })
    expect(JSON.parse(text(MAP) ?? '')).toHaveLength(2)
    expect(report.stocks).toBe(1)
  })
})

describe('a master list that differs too much from the stored one', () => {
  it.each(['Sym', 'Isin', 'Sid'] as const)(
    'stops the run when every %s is the one of the next stock, unless that is accepted',
    async (name) => {
      const stocks = stocksNamed(60)
      const files = (await masterOf(stocks)).files
      const before = outputsIn(files)
      const shifted = stocks.map((one, place) => ({
        ...one,
        [name]: stocks[(place + 1) % stocks.length]?.[name],
      }))
      const { report, script, requests } = await masterOf(shifted, { files, only: ['fundamental-data'] })
      expect(report).toMatchObject({
        outcome: 'failed',
        error: expect.stringMatching(/^master-data failed: identity: 60 of 60 stocks/),
      })
      expect(script.problems).toMatchObject([{ item: 'all', status: 'error', code: 'identity' }])
      expect(requests).toEqual([])
      expect(outputsIn(files)).toEqual(before)

      const accepted = await masterOf(shifted, { files, accept: ['identity'] })
      expect(accepted.report).toMatchObject({ outcome: 'complete', stocks: 60 })
      expect(accepted.script.problems[0]?.reason).toMatch(
        /^accepted although 60 of 60 stocks have another symbol, ISIN or Sid at once/,
      )
    },
  )

  it('stops the run when a quarter of the stocks left at once, unless that is accepted', async () => {
    const stocks = stocksNamed(60)
    const files = (await counted(stocks, 60)).files
    const before = outputsIn(files)
    const { report } = await counted(stocks.slice(0, 45), 45, { files })
    expect(report).toMatchObject({
      outcome: 'failed',
      error: 'master-data failed: shrink: 15 of 60 stocks are no longer listed',
    })
    expect(outputsIn(files)).toEqual(before)
    const accepted = await counted(stocks.slice(0, 45), 45, { files, accept: ['shrink'] })
    expect(accepted.report).toMatchObject({ outcome: 'complete', stocks: 45 })
  })
})
