import { describe, expect, it } from 'vitest'
import { duckdb, folderWith, objectsOf } from '../support.js'

const [OLD, NEW] = ['INE149K01016', 'INE0ZZZ01018']

const toLine = (day: string, price: number): string =>
  `${Date.parse(`${day}T00:00:00+05:30`) / 1000},${price},${price},${price},${price},100`
const candles = (...lines: readonly string[]): string =>
  `Timestamp,Open,High,Low,Close,Volume\n${lines.join('\n')}\n`
const deal = (date: string, more: object = {}) => ({
  sym: 'A',
  date,
  qty: 1,
  avgprice: 1,
  bs: 'B',
  cname: 'X',
  deal: 'BULK',
  exch: 'NSE',
  ...more,
})

const formerly = (symbol: string, isin: string, name: string, until: string) => ({
  symbol,
  isin,
  name,
  sid: isin,
  file: symbol,
  until,
})

/** A has been another company since 4 February. */
const REUSED = {
  '.scripstream/report.json': { run: 'a', asOf: '2026-02-06T14:30:00.000Z', scripts: {} },
  '.scripstream/former-stocks.json': [formerly('A', OLD, 'Old', '2026-02-03')],
  'master_isin_map.json': [{ Symbol: 'A', ISIN: NEW, Name: 'New', Sid: '9', FnoFlag: 0 }],
  'history_corporate_actions.json': [
    {
      Sym: 'A',
      CorpAct: ['2026-02-03', '2026-02-05'].map((day) => ({
        ActType: 'SPLIT',
        ExDate: day,
        RecDate: day,
        Note: '1:10',
      })),
    },
  ],
  'bulk_block_deals.json': [deal('2026-02-03 00:00:00'), deal('2026-02-05 00:00:00')],
  'nse_equity_list.csv': `SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING, PAID UP VALUE, MARKET LOT, ISIN NUMBER, FACE VALUE\nA,Old,EQ,05-JAN-2010,1,1,${OLD},1\n`,
  'ohlcv_data/A.csv': candles(
    toLine('2026-02-04', 1000),
    toLine('2026-02-05', 100),
    toLine('2026-02-06', 101),
  ),
  [`ohlcv_data/A~${OLD}.csv`]: candles(toLine('2026-02-02', 50), toLine('2026-02-03', 5)),
  'market_news/A_news.json': {
    Symbol: 'A',
    ISIN: NEW,
    News: [{ Title: 'n', PublishDate: 1_770_200_000_000 }],
  },
  [`market_news/A~${OLD}_news.json`]: {
    Symbol: 'A',
    ISIN: OLD,
    News: [{ Title: 'n', PublishDate: 1_770_200_000_000 }],
  },
  [`company_filings/A~${OLD}_filings.json`]: {
    code: 0,
    data: [{ news_id: '1', isin: OLD, caption: 'f', news_date: '2026-02-02 10:00:00' }],
  },
}

describe.skipIf(!duckdb)('a symbol of two companies, one after the other', () => {
  const out = folderWith(REUSED)
  const [a, b] = [
    { symbol: 'A', isin: NEW },
    { symbol: `A~${OLD}`, isin: OLD },
  ]

  it('has the candles of each under its ISIN, without the splits of the other', async () => {
    expect(
      await objectsOf(
        'select symbol, isin, list(close order by day) AS closes from candles_adjusted group by all order by 1',
        out,
      ),
    ).toEqual([
      { ...a, closes: [100, 100, 101] },
      { ...b, closes: [5, 5] },
    ])
    expect(
      await objectsOf('select symbol, isin, count(*) AS n from adjustments group by all order by 1', out),
    ).toEqual([
      { ...a, n: 1 },
      { ...b, n: 1 },
    ])
  })

  it('has the deals, actions, news and filings of each', async () => {
    expect(await objectsOf('select symbol, isin, day from deals_valued order by 1', out)).toEqual([
      { ...a, day: '2026-02-05' },
      { ...b, day: '2026-02-03' },
    ])
    const counts = 'select symbol, isin, kind, count(*) AS n from events group by all order by 1, 3'
    expect(await objectsOf(counts, out)).toEqual([
      ...['corporate action', 'deal', 'news'].map((kind) => ({ ...a, kind, n: 1 })),
      ...['corporate action', 'deal', 'filing', 'news'].map((kind) => ({ ...b, kind, n: 1 })),
    ])
    const seen = "select symbol, isin, kind from first_seen where kind <> 'deal' order by 1, 3"
    expect(await objectsOf(seen, out)).toEqual([
      { ...a, kind: 'news' },
      { ...b, kind: 'filing' },
      { ...b, kind: 'news' },
    ])
  })

  it('has the deals of each by their ISIN, whatever their day', async () => {
    const deals = [
      deal('2026-02-05 00:00:00', { isin: 'INE149K01008' }),
      deal('2026-02-03 00:00:00', { isin: NEW }),
    ]
    const named = folderWith({ ...REUSED, 'bulk_block_deals.json': deals })
    expect(await objectsOf('select symbol, isin, day from deals_valued order by 1', named)).toEqual([
      { ...a, day: '2026-02-03' },
      { ...b, day: '2026-02-05' },
    ])
  })

  it('has the actions of each by the name in the list, and by the days of the document of former stocks', async () => {
    const rename = (file: keyof typeof REUSED, more: object) =>
      (REUSED[file] as readonly object[]).map((row) => ({ ...row, ...more }))
    const named = (name: string) =>
      folderWith({
        ...REUSED,
        'history_corporate_actions.json': rename('history_corporate_actions.json', { DispSym: name }),
        '.scripstream/former-stocks.json': [formerly('A', OLD, 'Old', '2026-02-05')],
      })
    const counts =
      "select symbol, count(*) AS n from events where kind = 'corporate action' group by all order by 1"
    expect(await objectsOf(counts, named('New'))).toEqual([{ symbol: 'A', n: 2 }])
    for (const name of ['Old', ''])
      expect(await objectsOf(counts, named(name))).toEqual([{ symbol: b.symbol, n: 2 }])
  })

  it('has an action without an ex-date by its record date', async () => {
    const CorpAct = [{ ActType: 'BONUS', ExDate: '', RecDate: '2026-02-03', Note: '1:1' }]
    const dated = folderWith({ ...REUSED, 'history_corporate_actions.json': [{ Sym: 'A', CorpAct }] })
    expect(await objectsOf('select symbol, isin, day from adjustments', dated)).toEqual([
      { ...b, day: '2026-02-03' },
    ])
  })

  it('has the actions of two companies that exchanged their symbols under those of now', async () => {
    const [one, two] = ['INE111A01011', 'INE222A01011']
    const swapped = folderWith({
      ...REUSED,
      'master_isin_map.json': [
        ['A', two],
        ['B', one],
      ].map(([symbol, isin]) => ({ Symbol: symbol, ISIN: isin, Name: isin, Sid: isin, FnoFlag: 0 })),
      'ohlcv_data/B.csv': REUSED['ohlcv_data/A.csv'],
      '.scripstream/former-stocks.json': [
        formerly('A', one, one, '2026-02-03'),
        formerly('B', two, two, '2026-02-03'),
      ],
    })
    const list = "select day, symbol, isin from events where kind = 'corporate action' order by day"
    expect(await objectsOf(list, swapped)).toEqual([
      { day: '2026-02-03', symbol: 'B', isin: one },
      { day: '2026-02-05', symbol: 'A', isin: two },
    ])
    expect(await objectsOf(list.replace('corporate action', 'deal'), swapped)).toEqual([
      { day: '2026-02-03', symbol: 'B', isin: one },
      { day: '2026-02-05', symbol: 'A', isin: two },
    ])
  })

  it('has the actions and deals of a stock with a new ISIN, and then a new symbol, under its present ISIN', async () => {
    const [was, now] = [OLD, 'INE149K01024']
    const renamed = folderWith({
      ...REUSED,
      'master_isin_map.json': [{ Symbol: 'B', ISIN: now, Name: 'Old', Sid: '9', FnoFlag: 0 }],
      '.scripstream/former-stocks.json': [
        formerly('A', was, 'Old', '2026-02-03'),
        formerly('A', now, 'Old', '2026-02-04'),
      ],
    })
    for (const rows of ["events where kind = 'corporate action'", 'adjustments'])
      expect(await objectsOf(`select distinct symbol, isin from ${rows}`, renamed), rows).toEqual([
        { symbol: 'B', isin: now },
      ])
    expect(await objectsOf('select distinct isin from deals_valued', renamed)).toEqual([{ isin: now }])
    expect(await objectsOf("from symbol_isins where symbol = 'A'", renamed)).toEqual([
      { symbol: 'A', isin: now, symbol_now: 'B', day: '2026-02-06' },
    ])
  })

  it('has the same rows without the document of former stocks: the files say whose they were', async () => {
    const { '.scripstream/former-stocks.json': _, ...files } = REUSED
    const lost = folderWith(files)
    for (const rows of [
      'adjustments',
      'candles_adjusted',
      'deals_valued',
      'events',
      'lifetimes',
      'symbol_isins',
    ])
      expect(await objectsOf(`from ${rows} order by all`, lost), rows).toEqual(
        await objectsOf(`from ${rows} order by all`, out),
      )
  })

  it.each([
    [{ DispSym: 'Old' }, { DispSym: 'New' }],
    [{ Isin: OLD }, { Isin: NEW }],
    [{ Isin: 'INE149K01008' }, { Isin: NEW, DispSym: 'Old' }],
  ])('has the same action of one day for each, if the rows are of %j and %j', async (one, other) => {
    const CorpAct = [{ ActType: 'DIVIDEND', ExDate: '2026-02-03', RecDate: '2026-02-03', Note: '5' }]
    const both = folderWith({
      ...REUSED,
      'history_corporate_actions.json': [one, other].map((named) => ({ Sym: 'A', ...named, CorpAct })),
    })
    expect(await objectsOf('select symbol, isin from actions_unique order by 1', both)).toEqual([a, b])
  })

  it('has the rows of each day, if one of them has had it twice', async () => {
    const third = 'INE0YYY01014'
    const days = ['2026-02-02', '2026-02-03', '2026-02-05', '2026-02-06']
    const CorpAct = days.map((day) => ({ ActType: 'DIVIDEND', ExDate: day, RecDate: day, Note: '1' }))
    const files = {
      ...REUSED,
      'history_corporate_actions.json': [{ Sym: 'A', CorpAct }],
      'bulk_block_deals.json': days.map((day) => deal(`${day} 00:00:00`)),
      [`ohlcv_data/A~${NEW}.csv`]: candles(toLine('2026-02-03', 7)),
    }
    const former = [formerly('A', OLD, 'Old', '2026-02-02'), formerly('A', NEW, 'New', '2026-02-03')]
    const again = formerly('A', OLD, 'Old', '2026-02-05')
    const listed = (isin: string, Name: string) => [{ Symbol: 'A', ISIN: isin, Name, Sid: isin, FnoFlag: 0 }]
    const owners = async (master: readonly object[], ...more: readonly object[]) => {
      const out = folderWith({
        ...files,
        'master_isin_map.json': master,
        '.scripstream/former-stocks.json': [...former, ...more],
      })
      const read = async (rows: string) =>
        (await objectsOf(`select isin from ${rows} order by day`, out)).map(({ isin }) => isin)
      return [await read('actions_unique'), await read('deals_valued')]
    }
    // A third company has it now; the first has it again; the first left with it.
    const lost = [OLD, NEW, OLD, third]
    expect(await owners(listed(third, 'Third'), again)).toEqual([lost, lost])
    const back = [OLD, NEW, OLD, OLD]
    expect(await owners(listed(OLD, 'Old'))).toEqual([back, back])
    expect(await owners([], again)).toEqual([back, back])
  })

  it('has a lifetime of each', async () => {
    const columns = 'symbol, isin, is_now, listed_on, first_day, last_day, delisted_on'
    expect(await objectsOf(`select ${columns} from lifetimes order by 1`, out)).toEqual([
      { ...a, is_now: 1, listed_on: null, first_day: '2026-02-04', last_day: null, delisted_on: null },
      {
        ...b,
        is_now: 0,
        listed_on: '2010-01-05',
        first_day: '2010-01-05',
        last_day: '2026-02-03',
        delisted_on: '2026-02-03',
      },
    ])
  })

  it('has the filings from before a split under the present ISIN', async () => {
    const now = 'INE149K01024'
    const split = folderWith({
      'nse_equity_list.csv': REUSED['nse_equity_list.csv'],
      'ohlcv_data/A.csv': REUSED['ohlcv_data/A.csv'],
      'master_isin_map.json': [{ Symbol: 'A', ISIN: now, Name: 'A', Sid: '1', FnoFlag: 0 }],
      'company_filings/A_filings.json': {
        code: 0,
        data: [OLD, now].map((isin) => ({
          news_id: isin,
          isin,
          caption: isin,
          news_date: '2026-02-02 10:00:00',
        })),
      },
      'market_news/A_news.json': {
        Symbol: 'A',
        ISIN: OLD,
        News: [{ Title: 'n', PublishDate: 1_770_200_000_000 }],
      },
    })
    for (const view of ['filings_unique', 'news_unique', 'first_seen'])
      expect(await objectsOf(`select distinct isin from ${view}`, split)).toEqual([{ isin: now }])
    // The exchange's list has the earlier ISIN for a while: the stock has not left.
    const lives = 'select isin, symbol, is_now, delisted_on from lifetimes order by all'
    expect(await objectsOf(lives, split)).toEqual([{ ...a, isin: now, is_now: 1, delisted_on: null }])
  })
})

describe.skipIf(!duckdb)("the exchange's row of a listed stock", () => {
  it('is its own series if it has no shares of the usual ones, and never a warrant', async () => {
    const traded = (SYMBOL: string, SERIES: string, CLOSE_PRICE: string) => ({
      SYMBOL,
      SERIES,
      DATE1: '06-Feb-2026',
      CLOSE_PRICE,
      TTL_TRD_QNTY: '100',
      DELIV_QTY: '80',
      DELIV_PER: '80',
    })
    const symbols = ['PP', 'EQUITY', 'WARRANT']
    const out = folderWith({
      '.scripstream/report.json': { run: 'a', asOf: '2026-02-06T14:30:00.000Z', scripts: {} },
      'master_isin_map.json': symbols.map((symbol, place) => ({
        Symbol: symbol,
        ISIN: `INE00${place}A01018`,
        Name: symbol,
        Sid: String(place),
        FnoFlag: 0,
      })),
      ...Object.fromEntries(
        symbols.map((symbol) => [`ohlcv_data/${symbol}.csv`, candles(toLine('2026-02-06', 5))]),
      ),
      'exchange_daily/2026-02-06.json': [
        traded('PP', 'E1', '5'),
        traded('EQUITY', 'E1', '3'),
        traded('EQUITY', 'BE', '5'),
        traded('WARRANT', 'W1', '1'),
      ],
    })
    const columns = 'symbol, exchange_close, delivery_pct, confirmed_by'
    expect(await objectsOf(`select ${columns} from candles_daily order by 1`, out)).toEqual([
      { symbol: 'EQUITY', exchange_close: 5, delivery_pct: 80, confirmed_by: 'exchange' },
      { symbol: 'PP', exchange_close: 5, delivery_pct: 80, confirmed_by: 'exchange' },
      { symbol: 'WARRANT', exchange_close: null, delivery_pct: null, confirmed_by: null },
    ])
  })
})
