import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listTables } from '../../../src/engine/define-stream.js'
import { InternalError } from '../../../src/model/errors.js'
import { toQueryError } from '../../../src/storage/duckdb.js'
import { addNeeded, listViews } from '../../../src/tables/views/index.js'
import { streams } from '../../../streams/registry.js'
import { collected, duckdb, folderWith, objectsOf, rowsOf } from '../support.js'

const tables = listTables(streams)
const views = listViews(tables)

const MASTER = [{ Symbol: 'NEW', ISIN: 'INE009A01021', Name: 'Renamed', Sid: '1', FnoFlag: 1 }]

describe('the views', () => {
  it('have unique names, and describe each column', () => {
    expect(new Set([...tables, ...views].map(({ name }) => name)).size).toBe(tables.length + views.length)
    for (const view of views) {
      const names = view.columns.map(({ name }) => name)
      expect(new Set(names).size, view.name).toBe(names.length)
      expect(view.columns.filter(({ comment }) => comment.length < 5)).toEqual([])
    }
  })

  it('have an ISIN, a symbol and a day', () => {
    const identity = (name: string) =>
      name === 'candle_days' ? ['symbol', 'day'] : ['isin', 'symbol', 'day']
    for (const { name, columns } of views)
      expect(columns.slice(0, identity(name).length).map((column) => column.name)).toEqual(identity(name))
  })

  it('name the unit of rupees, ₹ crore and percent', () => {
    const units = [
      ['_cr', /₹ crore/],
      ['_pct', /percent|100/],
    ] as const
    const wrong = views.flatMap(({ name, columns }) =>
      columns.flatMap((column) =>
        units.flatMap(([end, text]) =>
          column.name.endsWith(end) && !text.test(column.comment) ? [`${name}.${column.name}`] : [],
        ),
      ),
    )
    expect(wrong).toEqual([])
  })

  it('need only tables, and views before them', () => {
    for (const [index, { needs }] of views.entries()) {
      const before = [...tables, ...views.slice(0, index)].map(({ name }) => name)
      expect(needs.filter((name) => !before.includes(name))).toEqual([])
    }
  })

  it('name what they read, and nothing more', () => {
    const all = [...tables, ...views].map(({ name }) => name)
    for (const { name, needs, sql } of views) {
      const own = [...sql.matchAll(/(\w+) AS \(/g)].map(([, common]) => common)
      const read = [...sql.matchAll(/\b(?:FROM|JOIN)\s+(\w+)/g)]
        .map(([, table = '']) => table)
        .filter((table) => all.includes(table) && !own.includes(table))
      expect([...new Set(read)].sort(), name).toEqual([...needs].sort())
    }
  })

  it('give way to a table of the same name, and are left out without their tables', () => {
    const own = { ...(tables[0] as (typeof tables)[0]), name: 'events' }
    expect(listViews([...tables, own]).map(({ name }) => name)).not.toContain('events')
    expect(
      listViews(tables.filter(({ name }) => name !== 'fundamentals')).map(({ name }) => name),
    ).not.toContain('screener')
    expect(
      addNeeded([{ name: 'quarters', shape: 'view', columns: [] }], tables).tables.map(({ name }) => name),
    ).toEqual(['fundamentals'])
  })
})

describe.skipIf(!duckdb)('the views of a run', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(20, 300))
  })
  afterAll(() => remove())

  it.each(views.map(({ name }) => name))('%s has rows and the documented columns', async (name) => {
    const types = await rowsOf(`describe ${name}`, out)
    const { columns = [] } = views.find((view) => view.name === name) ?? {}
    expect(types.map(([column, type]) => [column, type])).toEqual(
      columns.map(({ name: column, type }) => [column, type]),
    )
    // The first run of a folder replaces no candles.
    if (name !== 'rewritten')
      expect(Number((await rowsOf(`select count(*) from ${name}`, out))[0]?.[0])).toBeGreaterThan(0)
  })

  it.each(views.map(({ name }) => name))('%s answers with two bounds on day and on symbol', async (name) => {
    const count = (where: string) => `(select count(*) from ${name} where ${where})`
    const bounds = [
      ['day', "DATE '2026-01-05'", "DATE '2026-02-10'"],
      ['symbol', "'A'", "'N'"],
    ] as const
    const columns = bounds.flatMap(([column, from, to]) => [
      count(`${column} between ${from} and ${to}`),
      `${count(`${column} >= ${from}`)} - ${count(`${column} > ${to}`)}`,
    ])
    const [days, daysApart, symbols, symbolsApart] =
      (await rowsOf(`select ${columns.join(', ')}`, out))[0] ?? []
    expect([days, symbols]).toEqual([daysApart, symbolsApart])
  })

  it('a failure of DuckDB itself is not told as a wrong statement, and has no stack', () => {
    const error = toQueryError(new Error('INTERNAL Error: Failed to cast\n\nStack Trace:\n\n/x.so(+1)'))
    expect(error).toBeInstanceOf(InternalError)
    expect(String(error)).toMatch(
      /DuckDB failed, the statement is not wrong: INTERNAL Error: Failed to cast$/,
    )
  })

  it.each(views.map(({ name }) => name))('%s can be queried without any other output', async (name) => {
    const empty = folderWith({
      'master_isin_map.json': [
        { Symbol: 'INFY', ISIN: 'INE009A01021', Name: 'Infosys', Sid: '1', FnoFlag: 1 },
      ],
    })
    expect(await rowsOf(`select count(*) from ${name}`, empty)).toHaveLength(1)
  })

  it('have no infinite number', async () => {
    const lines = Array.from(
      { length: 30 },
      (_, index) => `${1_770_834_600 - (29 - index) * 86_400},0,0,0,${index % 2},0`,
    )
    const figures = {
      YEAR: '202512|202509|202506|202503|202412',
      SALES: '0|0|0|0|0',
      NET_PROFIT: '1|0|0|0|0',
      EPS: 'inf|nan|0|0|0',
    }
    const zeros = folderWith({
      '.scripstream/report.json': { run: 'a', asOf: '2026-02-12T14:30:00.000Z', scripts: {} },
      'master_isin_map.json': MASTER,
      'ohlcv_data/NEW.csv': `Timestamp,Open,High,Low,Close,Volume\n${lines.join('\n')}\n`,
      'fundamental_data.json': [
        { Symbol: 'NEW', ISIN: 'INE009A01021', incomeStat_cq: figures, CV: { PE: 'inf' } },
      ],
    })
    expect(await rowsOf('select count(eps_inr), count(*) from quarters', zeros)).toEqual([['3', '5']])
    expect(await rowsOf('select sessions, net_margin_pct from screener', zeros)).toEqual([['30', null]])
    for (const folder of [out, zeros])
      for (const { name, columns } of views) {
        const numbers = columns
          .filter(({ type }) => type === 'DOUBLE')
          .map((column) => `coalesce(bool_and(isfinite("${column.name}")), true)`)
        if (numbers.length > 0)
          expect(
            new Set((await rowsOf(`select ${numbers.join(', ')} from ${name}`, folder)).flat()),
            name,
          ).toEqual(new Set(['true']))
      }
  })

  it('leave the run day to the record of the run', async () => {
    expect(await rowsOf('select distinct day from screener', out)).toEqual([['2026-02-12']])
  })
})

/** NEW had another symbol. */
const FORMER_STOCKS = [
  { symbol: 'OLD', isin: 'INE009A01021', name: 'N', sid: '1', file: 'OLD', until: '2026-02-10' },
]

describe.skipIf(!duckdb)('single views', () => {
  it('candles of a former symbol are not those of another stock', async () => {
    const candles = `Timestamp,Open,High,Low,Close,Volume\n${Date.parse('2026-02-11T00:00:00+05:30') / 1000},5,5,5,5,1\n`
    const out = folderWith({
      '.scripstream/report.json': { run: 'a', asOf: '2026-02-12T14:30:00.000Z', scripts: {} },
      'master_isin_map.json': [{ Symbol: 'NEW', ISIN: 'INE009A01021', Name: 'N', Sid: '1', FnoFlag: 0 }],
      '.scripstream/former-stocks.json': FORMER_STOCKS,
      'ohlcv_data/NEW.csv': candles,
      'ohlcv_data/OLD.csv': candles,
    })
    expect(await rowsOf('select symbol, isin from candles_adjusted', out)).toEqual([['NEW', 'INE009A01021']])
    expect(await rowsOf("select stocks from breadth where level = 'market'", out)).toEqual([['1']])
  })

  it('documents of a renamed stock count once, although both symbols have a file of them', async () => {
    const filings = {
      code: 0,
      data: [
        {
          news_date: '2026-02-11 10:00:00',
          caption: 'a',
          descriptor: 'General',
          file_url: 'https://x.example/a.pdf',
        },
      ],
    }
    const news = (symbol: string) => ({
      Symbol: symbol,
      ISIN: 'INE009A01021',
      News: [{ PublishDate: 1_770_800_000_000, Title: 'b' }],
    })
    const out = folderWith({
      'master_isin_map.json': MASTER,
      '.scripstream/report.json': { run: 'a', asOf: '2026-02-12T14:30:00.000Z', scripts: {} },
      '.scripstream/former-stocks.json': FORMER_STOCKS,
      'company_filings/NEW_filings.json': filings,
      'company_filings/OLD_filings.json': filings,
      'market_news/NEW_news.json': news('NEW'),
      'market_news/OLD_news.json': news('OLD'),
    })
    expect(await objectsOf('select filings_7d, news_7d from screener', out)).toEqual([
      { filings_7d: 1, news_7d: 1 },
    ])
    expect(await rowsOf('select symbol, kind, title from events order by kind', out)).toEqual([
      ['NEW', 'filing', 'a'],
      ['NEW', 'news', 'b'],
    ])
    expect(
      await rowsOf('select copies from filings_unique union all select copies from news_unique', out),
    ).toEqual([['2'], ['2']])
  })

  it('symbols has a former symbol with the present one', async () => {
    const out = folderWith({
      'master_isin_map.json': MASTER,
      'market_news/OLD_news.json': {
        Symbol: 'OLD',
        ISIN: 'INE009A01021',
        News: [{ PublishDate: 1_770_000_000_000, Title: 'a' }],
      },
    })
    expect(await rowsOf('select symbol, symbol_now from symbols order by 1', out)).toEqual([
      ['NEW', 'NEW'],
      ['OLD', 'NEW'],
    ])
  })

  it('quarters and shareholding have typed rows whatever the case of the names', async () => {
    const figures = {
      YEAR: '202512|202509|202412',
      Sales: '1,960.5|10|980.25',
      NET_PROFIT: '-5|x|-2',
      EPS: 'inf|2|3',
    }
    const out = folderWith({
      'fundamental_data.json': [
        {
          Symbol: 'A',
          ISIN: 'INE009A01021',
          incomeStat_cq: figures,
          incomeStat_sq: { YEAR: '202512', SALES: '7' },
          sHp: { FII: '1.5|2' },
        },
      ],
    })
    expect(
      await rowsOf(
        "select day, quarter, sales_cr, net_profit_cr, sales_yoy_pct, net_profit_yoy_pct from quarters where basis = 'consolidated' order by place",
        out,
      ),
    ).toEqual([
      ['2025-12-31', 'Q3 FY26', '1960.5', '-5', '100', null],
      ['2025-09-30', 'Q2 FY26', '10', null, null, null],
      ['2024-12-31', 'Q3 FY25', '980.25', '-2', null, null],
    ])
    expect(await rowsOf("select sales_cr from quarters where basis = 'standalone'", out)).toEqual([['7']])
    expect(await rowsOf('select day, place, fii_pct from shareholding order by place', out)).toEqual([
      [null, '0', '1.5'],
      [null, '1', '2'],
    ])
  })

  it('what cannot be is as it was served, and nothing is derived from it', async () => {
    const out = folderWith({
      'master_isin_map.json': [{ Symbol: 'A', ISIN: 'INE009A01021', Name: 'One', Sid: '1', FnoFlag: 0 }],
      'fundamental_data.json': [
        {
          Symbol: 'A',
          ISIN: 'INE009A01021',
          incomeStat_cq: { YEAR: '209012|202512|202412', SALES: '900|-5|100', NET_PROFIT: '90|3|2' },
          sHp: { YEAR: '202512|202509|202506', PROMOTER: '165|50|40', FII: '10|9|8' },
        },
      ],
      '.scripstream/report.json': { run: 'r', asOf: '2026-02-12T14:30:00.000Z', scripts: {} },
    })
    const holders =
      'select promoter_pct, promoter_change_1q_pct, fii_change_1q_pct from shareholding order by place'
    expect(await rowsOf(holders, out)).toEqual([
      ['165', null, '1'],
      ['50', '10', '1'],
      ['40', null, null],
    ])
    const sales = "select sales_cr, sales_yoy_pct from quarters where quarter = 'Q3 FY26'"
    expect(await rowsOf(sales, out)).toEqual([['-5', null]])
    expect(await rowsOf('select quarter, net_profit_q0_cr from screener', out)).toEqual([['Q3 FY26', '3']])
  })

  it('filings_unique has a filing of both paths once', async () => {
    const filing = {
      news_date: '2026-02-11 19:28:12',
      caption: 'Results',
      descriptor: 'Financial Results',
      file_url: 'https://a.example/1.pdf',
    }
    const data = [{ ...filing, news_id: '7' }, filing, { ...filing, file_url: '' }]
    const out = folderWith({ 'company_filings/A_filings.json': { code: 0, data } })
    expect(await rowsOf('select url, news_id, copies from filings_unique order by copies', out)).toEqual([
      [null, null, '1'],
      ['https://a.example/1.pdf', '7', '2'],
    ])
  })

  it('deals_valued has values in crore, and the ISIN of a deal without one', async () => {
    const deal = {
      date: '2026-02-12 00:00:00',
      sym: 'NEW',
      exch: 'NSE',
      deal: 'BULK',
      bs: 'S',
      cname: 'X',
      qty: 1_000_000,
      avgprice: 150,
    }
    const out = folderWith({ 'master_isin_map.json': MASTER, 'bulk_block_deals.json': [deal] })
    expect(await objectsOf('select isin, day, value_cr, net_value_cr from deals_valued', out)).toEqual([
      { isin: 'INE009A01021', day: '2026-02-12', value_cr: 15, net_value_cr: -15 },
    ])
  })

  it('typed columns: dividends, price bands and the end of the quarter', async () => {
    const out = folderWith({
      'upcoming_corporate_actions.json': [
        { Sym: 'A', CorpAct: [{ ActType: 'DIVIDEND', ExDate: '2026-02-20', Note: '2.5' }] },
      ],
      'incremental_price_bands.json': [{ Symbol: 'A', Series: 'EQ', From: '10', To: 'No Band' }],
      'fundamental_data.json': [
        { Symbol: 'A', ISIN: 'INE009A01021', incomeStat_cq: { YEAR: '202602|202509' } },
      ],
    })
    expect(await rowsOf('select amount from corporate_actions', out)).toEqual([['2.5']])
    expect(await rowsOf('select from_percent, to_percent from band_changes', out)).toEqual([['10', null]])
    expect(await rowsOf('select quarter_end from fundamentals', out)).toEqual([['2026-02-28']])
  })
})
