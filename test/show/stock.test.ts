import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCandles, readIndex, readIndexChart, readStock } from '../../src/show/stock.js'
import { collected, duckdb, objectsOf } from '../tables/support.js'
import { candleFile, candleLine, ISIN, marketWith, openFolder, report, stock } from './support.js'

const HOSTILE = '<img src=x onerror=alert(1)>'
const REVERSED = '\u202egnp.exe'

describe.skipIf(!duckdb)('a stock', () => {
  const files = {
    'master_isin_map.json': [stock('A', ISIN, HOSTILE)],
    'ohlcv_data/A.csv': candleFile([
      ['2026-02-11', 100],
      ['2026-02-12', 110],
    ]),
  }

  it('has its price, its lists and its events with their marks, newest first', async () => {
    const folder = marketWith({
      ...files,
      '.scripstream/report.json': report({ 'all-ohlcv': ['success'] }),
      'nse_asm_list.json': [{ Symbol: 'A', ISIN, Name: '', Stage: 'LTASM - I (13)' }],
      'complete_price_bands.json': [{ Symbol: 'A', Series: 'EQ', Band: '20' }],
      'incremental_price_bands.json': [{ Symbol: 'A', Series: 'EQ', From: '10', To: '20' }],
      'upper_circuit_stocks.json': [{ Symbol: 'A', LTP: 110 }],
      'nse_equity_list.csv': `SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING, PAID UP VALUE, MARKET LOT, ISIN NUMBER, FACE VALUE\nA,A,EQ,06-OCT-2008,5,1,${ISIN},5\n`,
      'upcoming_corporate_actions.json': [
        { Sym: 'A', CorpAct: { ActType: 'DIVIDEND', ExDate: '2026-02-20', Note: '2.5' } },
      ],
      'bulk_block_deals.json': [
        {
          date: '2026-02-10 00:00:00',
          sym: 'A',
          bs: 'S',
          qty: 150_000,
          avgprice: 200,
          cname: 'X',
          deal: 'BULK',
        },
      ],
      'all_company_announcements.json': [
        { Symbol: 'A', ISIN, events: 'E', date: '2026-02-09 10:00:00', type: 'T' },
      ],
      'company_filings/A_filings.json': {
        data: [
          {
            news_date: '2026-02-11 17:38:21',
            caption: 'F',
            descriptor: 'General',
            file_url: 'https://x.example/a.pdf',
          },
          {
            news_date: '2026-02-11 17:38:21',
            caption: 'F',
            descriptor: 'General',
            file_url: 'https://x.example/a.pdf',
            news_id: '7',
          },
        ],
      },
      'market_news/A_news.json': {
        Symbol: 'A',
        ISIN,
        News: [{ Title: 'खबर 🙂', Sentiment: 'Negative', PublishDate: 1_770_896_400_000 }],
      },
    })
    const answer = await readStock(folder, 'A')
    expect(answer?.price).toMatchObject({ day: '2026-02-12', close: 110 })
    // Listed in 2008, with candles of two days.
    expect(answer?.price).not.toHaveProperty('high52')
    expect(answer?.price?.changePct).toBeCloseTo(10, 9)
    expect(answer?.facts).toMatchObject({
      band: '20 %',
      bandChange: 'from 10 % to 20 %',
      circuit: 'upper',
      series: 'EQ',
      faceValue: 5,
    })
    expect(answer?.facts.surveillance).toEqual(['ASM: LTASM - I (13)'])
    expect(answer?.events.rows.map(({ day, mark, title }) => [day, mark, title])).toEqual([
      ['2026-02-20', 'D', 'Dividend'],
      ['2026-02-12', 'N', 'खबर 🙂'],
      ['2026-02-11', 'F', 'F'],
      ['2026-02-10', 'B', 'X sold 150,000 at ₹ 200.00'],
      ['2026-02-09', 'A', 'E'],
    ])
    expect(answer?.events.rows[3]).toMatchObject({ valueCr: -3 })
  })

  it('has the terms of its actions: rupees a share, or a ratio', async () => {
    const actions = [
      ['DIVIDEND', '2.5'],
      ['BUYBACK', '300'],
      ['BONUS', '1:2'],
      ['QUARTERLY RESULT ANNOUNCEMENT', 'NA'],
    ].map(([ActType, Note], index) => ({ ActType, ExDate: `2026-02-2${4 - index}`, Note }))
    const answer = await readStock(
      marketWith({ ...files, 'upcoming_corporate_actions.json': [{ Sym: 'A', CorpAct: actions }] }),
      'A',
    )
    expect(answer?.events.rows.map(({ detail }) => detail)).toEqual([
      '₹ 2.50 a share',
      '₹ 300.00 a share',
      '1:2',
      undefined,
    ])
  })

  it('keeps hostile texts as they are, and drops addresses that are not of the web', async () => {
    const filing = {
      news_date: '2026-02-11 17:38:21',
      caption: REVERSED,
      descriptor: HOSTILE,
      file_url: 'javascript:alert(1)',
    }
    const answer = await readStock(
      marketWith({ ...files, 'company_filings/A_filings.json': { data: [filing, null, 7] } }),
      'A',
    )
    expect(answer?.name).toBe(HOSTILE)
    expect(answer?.events.rows).toEqual([
      { day: '2026-02-11', time: '17:38', kind: 'filing', mark: 'F', title: REVERSED, detail: HOSTILE },
    ])
  })

  it('is found by its symbol only: no path leads out of the folder', async () => {
    const folder = marketWith({ ...files, 'secret.csv': candleFile([['2026-02-12', 7]]) })
    for (const name of [
      '../secret',
      '..%2fsecret',
      'secret',
      '/etc/passwd',
      'A/../A',
      '',
      '__proto__',
      'constructor',
    ]) {
      expect(await readStock(folder, name), name).toBeUndefined()
      expect(await readCandles(folder, name, {}), name).toBeUndefined()
      expect(await readIndex(folder, name), name).toBeUndefined()
    }
  })

  it('with a hostile symbol has the file of its safe name', async () => {
    const folder = marketWith({
      ...files,
      'master_isin_map.json': [stock('../A')],
      [`ohlcv_data/__A~${ISIN}.csv`]: candleFile([['2026-02-12', 5]]),
    })
    expect((await readStock(folder, '../A'))?.price).toMatchObject({ close: 5 })
    mkdirSync(join(folder.root, 'ohlcv_data/x'), { recursive: true })
    writeFileSync(join(folder.root, 'A.csv'), candleFile([['2026-02-12', 9]]))
    expect((await readCandles(folder, '../A', {}))?.close).toEqual([5])
  })

  it('is found by the symbol that it had earlier', async () => {
    const folder = marketWith({
      ...files,
      '.scripstream/former-stocks.json': [{ symbol: 'OLD', isin: ISIN, file: 'OLD', until: '2026-02-01' }],
    })
    expect(await readStock(folder, 'old')).toMatchObject({ symbol: 'A', oldSymbol: 'OLD' })
    expect((await readCandles(folder, 'OLD', {}))?.close).toEqual([100, 110])
  })

  it('says which files are damaged and which streams failed, instead of showing nothing', async () => {
    const folder = marketWith({
      ...files,
      'company_filings/A_filings.json': '{"data":[{"news_',
      'fundamental_data.json': '[\n{"Symbol":"A","ISIN":"INE009A01021","sHp":{"FII":',
      '.scripstream/report.json': report({
        ...Object.fromEntries(
          ['company-filings', 'corporate-actions', 'bulk-block-deals', 'new-announcements'].map(
            (name) => [name, ['success']] as const,
          ),
        ),
        'market-news': ['failed', { error: 'news is down' }],
      }),
    })
    const answer = await readStock(folder, 'A')
    expect(answer?.events.about.map(({ problem }) => problem)).toEqual([
      'company_filings/A_filings.json is damaged; move it away and run again',
      'market-news failed in the last run: news is down; what is shown is older',
    ])
    expect(answer?.quarters).toMatchObject({
      rows: [],
      about: { problem: 'fundamental_data.json is damaged; move it away and run again' },
    })
  })

  it('names what verify finds in its candles, and what was accepted', async () => {
    const spoiled = `${files['ohlcv_data/A.csv']}${candleLine('2026-02-13', [5, 4, 6, 5])}${candleLine('2026-02-16', [300, 306, 294, 300])}`
    const accepted = {
      check: 'impossible-candles',
      severity: 'error',
      symbol: 'A',
      day: '2026-02-13',
      file: 'ohlcv_data/A.csv',
      detail: '',
    }
    const all = { ...files, 'ohlcv_data/A.csv': spoiled }
    const names = async (folder = marketWith(all)) =>
      (await readStock(folder, 'A'))?.findings.rows.map(({ check, isAccepted }) => [check, isAccepted])
    expect(await names()).toContainEqual(['impossible-candles', false])
    const withAccepted = {
      ...all,
      '.scripstream/accepted-findings.json': [{ ...accepted, accepted: '2026-02-14' }],
    }
    expect(await names(marketWith(withAccepted))).toContainEqual(['impossible-candles', true])
    expect(await names(marketWith({ ...all, '.scripstream/accepted-findings.json': '[{' }))).toContainEqual([
      'impossible-candles',
      false,
    ])
  })

  it('says which file the checks could not read', async () => {
    const folder = marketWith({ ...files, '.scripstream/accepted-findings.json': '[{' })
    mkdirSync(join(folder.root, 'history_corporate_actions.json'))
    expect((await readStock(folder, 'A'))?.findings.problems).toEqual([
      expect.stringMatching(/history_corporate_actions.json/),
      expect.stringMatching(/accepted-findings.json is damaged: it is not valid JSON/),
    ])
  })
})

describe.skipIf(!duckdb)('an index', () => {
  it('has its candles, its price and its impossible days', async () => {
    const folder = marketWith({
      'master_isin_map.json': [stock('A')],
      'all_indices_list.json': [
        { Sym: 'NIFTY', DispSym: 'Nifty 50', Sid: 13, Exch: 'IDX', Seg: 'I', Inst: 'IDX' },
      ],
      'ohlcv_data/indices/NIFTY.csv': candleFile([
        ['2026-02-11', 25_000],
        ['2026-02-12', 25_250],
      ]),
    })
    expect(await readIndex(folder, 'NIFTY')).toMatchObject({
      name: 'Nifty 50',
      price: { close: 25_250, day: '2026-02-12' },
      findings: { rows: [] },
    })
    expect((await readIndexChart(folder, 'NIFTY', {}))?.days).toEqual(['2026-02-11', '2026-02-12'])
  })
})

const captured = process.env.SCRIPSTREAM_CAPTURED

describe.skipIf(!duckdb)('every figure of every stock', () => {
  let market: Awaited<ReturnType<typeof collected>>
  beforeAll(async () => {
    market = captured === undefined ? await collected(12, 300) : { out: captured, remove: () => undefined }
  })
  afterAll(() => market.remove())

  it('is on the page what the views have', async () => {
    const { out } = market
    const folder = openFolder(out)
    const screener = await objectsOf('from screener', out)
    const quarters = await objectsOf(
      'from quarters qualify basis = min(basis) over (partition by isin) order by place',
      out,
    )
    const holders = await objectsOf('from shareholding order by place', out)
    const events = await objectsOf(
      "select isin, kind, count(*) as n from events where kind <> 'price band' group by all",
      out,
    )
    expect(screener.length).toBeGreaterThan(10)
    for (const row of screener) {
      const { price, facts, ...answer } = (await readStock(folder, String(row.symbol))) ?? fail(row.symbol)
      const of = (rows: typeof screener) => rows.filter(({ isin }) => isin === row.isin)
      const day = price?.returns ?? {}
      const pairs: Record<string, readonly [shown: unknown, view: unknown]> = {
        day: [price?.day, row.price_day],
        close: [price?.close, row.close_inr],
        change: [price?.changePct, row.change_pct],
        volume: [price?.volume, row.volume],
        rvol: [price?.volumeTimes, row.rvol],
        high: [price?.high52, row.high_52w_inr],
        low: [price?.low52, row.low_52w_inr],
        ...Object.fromEntries(
          ['1w', '1m', '3m', '6m', '1y'].map((name) => [
            name,
            [day[name.toUpperCase()], row[`return_${name}_pct`]],
          ]),
        ),
        sector: [facts.sector, row.sector],
        listed: [facts.listedOn, row.listed_on],
        face: [facts.faceValue, row.face_value_inr],
        cap: [facts.marketCapCr, row.market_cap_cr],
        pe: [facts.pe, row.pe],
        roe: [facts.roePct, row.roe_pct],
        band: [facts.band, row.band],
        fno: [facts.hasDerivatives, row.fno === 1],
        circuit: [facts.circuit, row.circuit],
        surveillance: [
          facts.surveillance.map((text) => text.slice(5)).join(),
          [row.asm_stage, row.gsm_stage].filter(Boolean).join(),
        ],
        sales: [
          answer.quarters.rows.map(({ salesCr }) => salesCr ?? null).join(),
          of(quarters)
            .map(({ sales_cr }) => sales_cr)
            .join(),
        ],
        growth: [
          answer.quarters.rows.map(({ salesGrowthPct }) => salesGrowthPct).join(),
          of(quarters)
            .map(({ sales_yoy_pct }) => sales_yoy_pct)
            .join(),
        ],
        holders: [
          answer.shareholding.rows.map(({ promoterPct }) => promoterPct).join(),
          of(holders)
            .map(({ promoter_pct }) => promoter_pct)
            .join(),
        ],
        events: [answer.events.rows.length, of(events).reduce((sum, { n }) => sum + Number(n), 0)],
      }
      for (const [name, [shown, view]] of Object.entries(pairs))
        expect(shown ?? null, `${row.symbol} ${name}`).toEqual(view)
    }
  })
})

const fail = (symbol: unknown): never => {
  throw new Error(`${symbol} is unknown`)
}
