import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SampleMarket } from '../../src/model/market.js'
import { isRow, type Row, readText } from '../../src/model/row.js'
import {
  addDays,
  type Day,
  formatCompactDmy,
  formatDashedDmy,
  toDay,
  toInstant,
} from '../../src/model/trading-day.js'
import { createTimeline } from '../../src/simulator/market.js'
import { streams } from '../../streams/registry.js'

const STOCKS = 120
const ANCHOR = toInstant('2026-01-05', '20:30')

const endpoints = new Map(
  streams.flatMap((stream) => stream.endpoints).map((endpoint) => [endpoint.name, endpoint]),
)
/** The simulated answer of an endpoint. */
const answer = (market: SampleMarket, name: string, input: unknown = {}): unknown =>
  endpoints.get(name)?.sample?.(input, market)
const rowsOf = (document: unknown): readonly Row[] => {
  const data = isRow(document) ? document.data : undefined
  return (Array.isArray(data) ? data : [data]).filter(isRow)
}
const csvOf = (text: unknown): readonly (readonly string[])[] =>
  String(text ?? '')
    .split(/\r?\n/)
    .filter((line) => line !== '')
    .map((line) => line.split(',').map((cell) => cell.trim()))
const dailyFile = (market: SampleMarket, name: string, day: Day) =>
  csvOf(answer(market, name, { date: formatCompactDmy(day) }))
const figures = (table: unknown, key: string): readonly number[] =>
  readText((table as Row | undefined)?.[key])
    .split('|')
    .map(Number)
const sumOf = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0)

interface Evening {
  readonly market: SampleMarket
  /** The last session, and the one before. */
  readonly day: Day
  readonly before: Day
  readonly later: (days: number) => SampleMarket
}

/** Any evening of a year in any market: with events, or without. */
const evening = fc.record({
  seed: fc.nat(10_000),
  place: fc.integer({ min: 10, max: 330 }),
  events: fc.boolean(),
})

const createEvening = ({
  seed,
  place,
  events,
}: {
  readonly seed: number
  readonly place: number
  readonly events: boolean
}): Evening => {
  const marketAt = createTimeline({
    seed,
    stocks: STOCKS,
    asOf: ANCHOR,
    exchange: 'NSE',
    candleDays: 600,
    indices: 40,
    events,
  })
  const later = (days: number) => marketAt(toInstant(addDays('2026-01-01', place + days), '20:30'))
  const market = later(0)
  const [before = '', day = ''] = market.tradingDays('2025-12-01', toDay(market.asOf)).slice(-2)
  return { market, day, before, later }
}

const holds = (property: (given: Evening) => void, numRuns = 12) =>
  fc.assert(
    fc.property(evening, (given) => property(createEvening(given))),
    { numRuns, endOnFailure: true },
  )

const candlesOf = ({ candles, asOf }: SampleMarket, sid: unknown, days = 40) =>
  candles(readText(sid), asOf / 1_000 - days * 86_400, asOf / 1_000)
const lastClose = (market: SampleMarket, sid: unknown): number => candlesOf(market, sid).c.at(-1) ?? 0

describe('the simulated market agrees with itself on any evening:', () => {
  it('each deal is within the range of its day, and of a part of its volume', () => {
    holds(({ market, day }) => {
      const dates = { startdate: formatDashedDmy(addDays(day, -9)), enddate: formatDashedDmy(day) }
      const deals = rowsOf(answer(market, 'deal', { data: { ...dates, pageno: 1, pagecount: 50 } }))
      expect(deals.length).toBeGreaterThan(20)
      for (const { date, sym, avgprice, qty } of deals) {
        const on = readText(date).slice(0, 10)
        const stock = market.stocksOn(on).find((one) => one.Symbol === sym)
        const { h, l, v } = market.tradesOn(stock?.Sid ?? '', on)
        expect(Number(avgprice)).toBeGreaterThanOrEqual(l[0] ?? Number.NaN)
        expect(Number(avgprice)).toBeLessThanOrEqual(h[0] ?? Number.NaN)
        expect(Number(qty)).toBeLessThanOrEqual(v[0] ?? 0)
      }
    })
  })

  it('a stock is at a circuit limit if its close has moved by its band, and only then', () => {
    holds(({ market, day, before }) => {
      const bands = new Map(dailyFile(market, 'sec_list', day).map(([symbol, , , band]) => [symbol, band]))
      const lists = (['UpperCircuitBreak', 'LowerCircuitBreak'] as const).map((field) =>
        rowsOf(answer(market, 'circuit', { data: { params: [{ field: `LiveData.${field}` }] } })),
      )
      for (const stock of market.stocks) {
        const [was = 0, now = 0] = [before, day].map((on) =>
          Math.round((market.tradesOn(stock.Sid, on).c[0] ?? 0) * 100),
        )
        const isUneven =
          was === 0 || lastClose(market, stock.Sid) * 100 !== now || Math.abs(now / was - 1) > 0.3
        if (
          isUneven ||
          stock.split !== undefined ||
          stock.events?.some(({ kind }) => kind === 'split' || kind === 'bonus')
        )
          continue
        const band = Number(bands.get(stock.Symbol))
        const limits = [Math.floor((was * (100 + band)) / 100), Math.ceil((was * (100 - band)) / 100)]
        lists.forEach((rows, side) => {
          const row = rows.find(({ Sym }) => Sym === stock.Symbol)
          expect([stock.Symbol, row !== undefined]).toEqual([
            stock.Symbol,
            now === limits[side] && now !== was,
          ])
          if (row !== undefined)
            expect(row).toMatchObject({ Ltp: now / 100, PPerchange: (now / was - 1) * 100 })
        })
      }
    })
  })

  it('no price of a session is beyond the band', () => {
    holds(({ market, day, before }) => {
      const bands = dailyFile(market, 'sec_list', day).slice(1)
      for (const [symbol, , , band = ''] of bands) {
        const stock = market.stocks.find((one) => one.Symbol === symbol)
        const [was = Number.NaN] = market.tradesOn(stock?.Sid ?? '', before).c
        const { h, l } = market.tradesOn(stock?.Sid ?? '', day)
        const isSplit = stock?.split?.on === day || stock?.events?.some((event) => event.day === day)
        if (Number.isNaN(was) || h[0] === undefined || isSplit) continue
        const percent = band === 'No Band' ? 15 : Number(band)
        expect([symbol, h[0] > was * (1 + percent / 100) + 0.01]).toEqual([symbol, false])
        expect([symbol, (l[0] ?? 0) < was * (1 - percent / 100) - 0.01]).toEqual([symbol, false])
      }
    })
  })

  it('the list of changed bands has what the lists of both days have', () => {
    holds(({ market, day, before }) => {
      const bandsOf = (on: Day) =>
        new Map(dailyFile(market, 'sec_list', on).map(([symbol, , , band]) => [symbol, band]))
      const [was, now] = [bandsOf(before), bandsOf(day)]
      const listed = dailyFile(market, 'eq_band_changes', day).slice(1)
      const changed = [...now].filter(([symbol, band]) => was.has(symbol) && was.get(symbol) !== band)
      expect(listed.map(([, symbol, , , from, to]) => [symbol, from, to])).toEqual(
        changed.map(([symbol, to]) => [symbol, was.get(symbol), to]),
      )
    })
  })

  it('no stock is under both kinds of surveillance, and both lists have some', () => {
    holds(({ market }) => {
      const { id, asmTabId, gsmTabId } = market.sheet
      const [asm, gsm] = [asmTabId, gsmTabId].map((tabId) => {
        const text = readText(answer(market, 'sheet', { sheetId: id, tabId }))
        const { table } = JSON.parse(/\{.*\}/.exec(text)?.[0] ?? '') as {
          readonly table: { readonly rows: readonly Row[] }
        }
        return table.rows.slice(1).flatMap(({ c }) => readText((c as readonly Row[])[1]?.v) || [])
      })
      expect(asm?.length).toBeGreaterThan(3)
      expect(gsm?.length).toBeGreaterThan(3)
      expect(asm?.filter((symbol) => gsm?.includes(symbol))).toEqual([])
    })
  })

  it('India VIX is between 9 and 40', () => {
    holds(({ market }) => {
      const vix = market.indices.find(({ Sym }) => Sym === 'INDIA VIX')
      const { h, l } = candlesOf(market, vix?.Sid, 20_000)
      expect(h.length).toBeGreaterThan(20)
      expect(Math.min(...l)).toBeGreaterThanOrEqual(9)
      expect(Math.max(...h)).toBeLessThanOrEqual(40)
    })
  })

  it('an index moves as the value of its members, and its last value is its last close', () => {
    holds(({ market, later }) => {
      for (const { Sid, Ltp, Pchange } of rowsOf(answer(market, 'indices'))) {
        const [before, now] = candlesOf(market, Sid).c.slice(-2)
        expect(Ltp).toBe(now)
        if (Pchange !== null) expect(Pchange).toBe((now ?? 0) - (before ?? 0))
      }
      const worth = new Map(rowsOf(answer(market, 'master')).map(({ Isin, Mcap }) => [Isin, Number(Mcap)]))
      const nifty = candlesOf(market, market.indices.find(({ Sym }) => Sym === 'NIFTY')?.Sid)
      const [members = [], earlier] = [0, -20].map((days) =>
        csvOf(answer(later(days), 'index_members', { list: 'nifty50' })).slice(1),
      )
      expect(members.length).toBe(12)
      if (JSON.stringify(members) !== JSON.stringify(earlier)) return
      const series = members.flatMap(([, , , , isin]) => {
        const stock = market.stockByIsin(isin ?? '')
        const { Time, c } = candlesOf(market, stock?.Sid)
        // A split is a change of the number of shares; the index had a member only while it was listed.
        const isPlain =
          stock?.split === undefined && stock?.events === undefined && Time.length === nifty.Time.length
        return stock && isPlain ? [{ shares: (worth.get(stock.ISIN) ?? 0) / (c.at(-1) ?? 1), closes: c }] : []
      })
      if (series.length < members.length) return
      const value = (at: number) => sumOf(series.map(({ shares, closes }) => shares * (closes.at(at) ?? 0)))
      for (let at = -10; at < -1; at++)
        expect((nifty.c.at(at + 1) ?? 0) / (nifty.c.at(at) ?? 0)).toBeCloseTo(value(at + 1) / value(at), 4)
    }, 30)
  })

  it('quarters add up to years and to twelve months; sales and profit grow each at its own rate', () => {
    holds(({ market }) => {
      const growth = new Map(
        rowsOf(answer(market, 'master')).map((row) => [row.Isin, row.YoYLastQtrlyProfitGrowth]),
      )
      let [years, own, all] = [0, 0, 0]
      for (const { ISIN: isin } of market.stocks)
        for (const { incomeStat_cq, incomeStat_cy, TTM_cy } of rowsOf(
          answer(market, 'fundamental', { data: { isin } }),
        )) {
          const quarters = readText((incomeStat_cq as Row).YEAR).split('|')
          const names = readText((incomeStat_cy as Row).YEAR).split('|')
          for (const key of ['SALES', 'NET_PROFIT', 'EPS', 'EBITDA', 'REVENUE']) {
            expect(figures(incomeStat_cq, key)).toHaveLength(quarters.length)
            expect(figures(incomeStat_cy, key)).toHaveLength(names.length)
            names.forEach((name, place) => {
              const at = quarters.indexOf(name)
              if (at < 0 || quarters.length < at + 4) return
              years += 1
              expect(sumOf(figures(incomeStat_cq, key).slice(at, at + 4))).toBeCloseTo(
                figures(incomeStat_cy, key)[place] ?? 0,
                1,
              )
            })
          }
          const [sales, profits] = [figures(incomeStat_cq, 'SALES'), figures(incomeStat_cq, 'NET_PROFIT')]
          expect(sumOf(sales.slice(0, 4))).toBeCloseTo(Number((TTM_cy as Row).SALES), 1)
          const [ofSales = 0, ofProfit = 0] = [sales, profits].map(
            ([now = 0, , , , before = 0]) => (now / before - 1) * 100,
          )
          all += 1
          if (Math.abs(ofSales - ofProfit) > 1) own += 1
          const told = growth.get(isin)
          if (told !== null) expect(Number(told)).toBeCloseTo(ofProfit, 1)
        }
      expect(years).toBeGreaterThan(all)
      expect(own).toBeGreaterThan(all * 0.8)
    })
  })

  it('the figures of the list of stocks, the results and the indicators are those of the candles', () => {
    holds(({ market, day }) => {
      const yearAgo = market.asOf / 1_000 - 365 * 86_400
      for (const { Sid, Isin, Pe, volume, PricePerchng1year } of rowsOf(answer(market, 'master'))) {
        const { c, v, Time } = candlesOf(market, Sid)
        const [{ TTM_cy } = {}] = rowsOf(answer(market, 'fundamental', { data: { isin: Isin } }))
        if (volume !== null) expect(volume).toBe(v.at(-1))
        if (Pe !== null && TTM_cy) {
          // After a split, the price of the list is rounded once more: a paisa is much for small earnings.
          const eps = Number((TTM_cy as Row).EPS)
          expect(Math.abs(Number(Pe) - (c.at(-1) ?? 0) / eps)).toBeLessThan(0.05 + 0.02 / eps)
        }
        const old = market.candles(readText(Sid), 0, yearAgo)
        if (
          PricePerchng1year !== null &&
          toDay((old.Time.at(-1) ?? 0) * 1_000) > addDays(toDay(yearAgo * 1_000), -7)
        )
          expect(Number(PricePerchng1year)).toBeCloseTo(((c.at(-1) ?? 0) / (old.c.at(-1) ?? 0) - 1) * 100, 1)
        const [{ SMA } = {}] = rowsOf(answer(market, 'indicator', { security_id: readText(Sid) }))
        for (const { Indicator, Value } of ((SMA as readonly Row[] | undefined) ?? []).slice(0, 3)) {
          const days = Number.parseInt(readText(Indicator), 10)
          if (c.length >= days) expect(Number(Value)).toBeCloseTo(sumOf(c.slice(-days)) / days, 1)
        }
        expect(Time.length).toBeGreaterThan(0)
      }
      for (const [symbol, series, , , , , , , close, , volume] of dailyFile(
        market,
        'sec_bhavdata_full',
        day,
      ).slice(1)) {
        const stock = market.stocksOn(day).find((one) => one.Symbol === symbol)
        if (stock === undefined || !['EQ', 'BE', 'SM'].includes(series ?? '')) continue
        const trades = market.tradesOn(stock.Sid, day)
        expect([Number(close), Number(volume)]).toEqual([trades.c[0], trades.v[0]])
      }
    }, 6)
  })

  it('well-known names have the sizes and prices of such companies', () => {
    holds(({ market }) => {
      const master = rowsOf(answer(market, 'master'))
      const bySymbol = new Map(master.map((row) => [row.Sym, row]))
      const close = (symbol: string) => lastClose(market, bySymbol.get(symbol)?.Sid)
      // None of these has a planned split in all markets; a split leaves the market cap as it is.
      const isPlain = (symbol: string) =>
        market.stocks.some((stock) => stock.Symbol === symbol && !stock.split && !stock.events)
      if (bySymbol.has('RELIANCE')) expect(master.slice(0, 6).map(({ Sym }) => Sym)).toContain('RELIANCE')
      for (const [symbol, low, high] of [
        ['RELIANCE', 350, 3_500],
        ['MARUTI', 4_000, 32_000],
        ['TATASTEEL', 60, 900],
        ['3MINDIA', 10_000, 80_000],
      ] as const) {
        if (!isPlain(symbol)) continue
        expect(close(symbol)).toBeGreaterThan(low)
        expect(close(symbol)).toBeLessThan(high)
      }
      const small = Number(bySymbol.get('20MICRONS')?.Mcap ?? 0)
      expect(small * 20).toBeLessThan(Number(bySymbol.get('TCS')?.Mcap ?? Number.POSITIVE_INFINITY))
      for (const stock of market.stocks.filter(({ events, split }) => !events && !split)) {
        const { c, v } = candlesOf(market, stock.Sid)
        const traded = ((c.at(-1) ?? 0) * (v.at(-1) ?? 0)) / 1e7 / Number(bySymbol.get(stock.Symbol)?.Mcap)
        expect(traded).toBeLessThan(0.05)
        expect(traded).toBeGreaterThan(0)
      }
    })
  })
})

/** The documents of a kind in all answers about stocks. */
const documentsOf = (market: SampleMarket, kind: string, isins: readonly string[]): readonly string[] =>
  isins.flatMap((isin) => {
    const of = kind === 'news' ? { stock_list: [isin], limit: 50 } : { data: { isin } }
    const document = answer(market, kind, of) as Row
    const rows = kind === 'news' ? ((document.data as Row).latest_news as readonly Row[]) : rowsOf(document)
    return rows.map((row) => `${isin} ${JSON.stringify(row)}`)
  })

describe('the simulated documents', () => {
  it.each(['company_filings', 'lodr', 'news', 'announcements'])(
    'stay from one day to the next, and new ones come slowly: %s',
    (kind) => {
      holds(({ market, later }) => {
        const isins = market.stocks.filter(({ events }) => events === undefined).map(({ ISIN }) => ISIN)
        const [now, next, week] = [market, later(1), later(7)].map((at) => documentsOf(at, kind, isins)) as [
          string[],
          string[],
          string[],
        ]
        const known = new Set(now)
        const stayed = next.filter((document) => known.has(document)).length
        // The oldest ones leave the newest hundred or fifty, and those of a month.
        expect(stayed).toBeGreaterThan(now.length * 0.9)
        expect(next.length - stayed).toBeLessThan(now.length * 0.1 + 5)
        expect(week.filter((document) => !known.has(document)).length).toBeGreaterThan(0)
      }, 8)
    },
  )

  it('have texts of their own', () => {
    holds(({ market }) => {
      const isins = market.stocks.map(({ ISIN }) => ISIN)
      const texts = isins.flatMap((isin) => {
        const { latest_news } = (
          answer(market, 'news', { stock_list: [isin], limit: 50 }) as {
            data: { latest_news: readonly Row[] }
          }
        ).data
        return latest_news.map(({ news_object }) => readText((news_object as Row).text))
      })
      const bodies = isins.flatMap((isin) => rowsOf(answer(market, 'company_filings', { data: { isin } })))
      expect(new Set(texts).size).toBeGreaterThan(texts.length * 0.98)
      expect(new Set(bodies.map(({ news_body }) => news_body)).size).toBeGreaterThan(bodies.length * 0.9)
      expect(new Set(bodies.map(({ descriptor }) => descriptor)).size).toBeGreaterThan(12)
    }, 8)
  })
})
