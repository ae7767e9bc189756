import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { beforeAll, describe, expect, it } from 'vitest'
import { listTables } from '../../src/engine/define-stream.js'
import type { AnyEndpoint } from '../../src/http/endpoint.js'
import type { SampleMarket } from '../../src/model/market.js'
import type { Row } from '../../src/model/row.js'
import { addDays, type Day, isWeekday, toInstant } from '../../src/model/trading-day.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { readRunDay } from '../../src/tables/variables.js'
import type { Deal } from '../../streams/bulk-block-deals.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { createQuickCollector } from '../support/limits.js'
import { duckdb, objectsOf } from './support.js'

const FIRST: Day = '2026-01-21'
const DAYS = Array.from({ length: 14 }, (_, place) => addDays(FIRST, place))
/** A Monday without a session, which no setting names, and a Sunday with that of the budget. */
const [HOLIDAY, SUNDAY] = ['2026-01-26', '2026-02-01']
/** On the evening of this Thursday all deals fail, and the candles of all stocks but two. */
const FAILING: Day = '2026-01-29'
const STOCKS = 6

const isSession = (day: Day): boolean => day === SUNDAY || (isWeekday(day) && day !== HOLIDAY)
const findNewest = (day: Day): Day => (isSession(day) ? day : findNewest(addDays(day, -1)))

/** What a folder shows, read at once. */
const FACTS = {
  candles: 'SELECT symbol, max(day) AS day FROM candle_days GROUP BY symbol ORDER BY symbol',
  sessions: `SELECT day, kind, stocks FROM sessions WHERE day >= '${FIRST}' ORDER BY day`,
  screener:
    'SELECT isin, day, deals_7d, deals_bought_7d_cr AS bought, deals_sold_7d_cr AS sold FROM screener ORDER BY isin',
}

const readFacts = async (out: string): Promise<Record<keyof typeof FACTS, readonly Row[]>> => {
  const lists = Object.entries(FACTS).map(
    ([name, sql]) => `(SELECT CAST(to_json(list(one)) AS VARCHAR) FROM (${sql}) AS one) AS ${name}`,
  )
  const [row = {}] = await objectsOf(`SELECT ${lists.join(', ')}`, out)
  return Object.fromEntries(
    Object.entries(row).map(([name, text]) => [name, JSON.parse(String(text))]),
  ) as never
}

describe.runIf(duckdb)('a fortnight with a session on a Sunday and a holiday that nobody named', () => {
  const out = temporaryFolder()
  const evenings: (Awaited<ReturnType<typeof readFacts>> & {
    readonly day: Day
    readonly runDay: Day | undefined
    readonly deals: readonly Deal[]
  })[] = []
  let late: readonly string[] = []
  beforeAll(async () => {
    let now = toInstant(FIRST, '20:30')
    // Without indices a run cannot see the session of the Sunday; all of them would take most of the time.
    const endpoints = streams
      .flatMap((stream): readonly AnyEndpoint[] => stream.endpoints)
      .map(({ sample, ...endpoint }) => ({
        ...endpoint,
        sample: (input: unknown, market: SampleMarket) =>
          sample?.(input, { ...market, indices: market.indices.slice(0, 5) }),
      }))
    const provider = await serveSimulator({ endpoints, stocks: STOCKS, candleDays: 20, asOf: () => now })
    const collector = createQuickCollector({ settings: { ...provider.settings, out }, clock: () => now })
    const missing = provider.market.stocks.slice(2)
    late = missing.map(({ Symbol: symbol }) => symbol)
    const faults = [
      { on: 'deal', mode: 'status', status: 400 },
      { on: 'ohlcv', mode: 'status', status: 400, items: missing.map(({ Sid }) => Sid) },
    ] as const
    for (const day of DAYS) {
      now = toInstant(day, '20:30')
      provider.control({ faults: day === FAILING ? faults : [] })
      await lastValueFrom(collector.run({ only: ['all-ohlcv', 'bulk-block-deals', 'indices-ohlcv'] }))
      evenings.push({
        ...(await readFacts(out)),
        day,
        runDay: await readRunDay(out, listTables(streams)),
        deals: JSON.parse(readFileSync(join(out, 'bulk_block_deals.json'), 'utf8')),
      })
    }
    await provider.close()
  })

  it('has each candle on the evening of its session, or the evening after a failure', () => {
    const found = evenings.map(({ day, candles }) => [day, ...candles.map((one) => one.day)])
    const expected = evenings.map(({ day, candles }) => [
      day,
      ...candles.map(({ symbol }) =>
        findNewest(day === FAILING && late.includes(String(symbol)) ? addDays(day, -1) : day),
      ),
    ])
    expect(evenings[0]?.candles).toHaveLength(STOCKS)
    expect(found).toEqual(expected)
  })

  it('is about the newest session, since a run that sees no later one leaves the folder as it is', () => {
    const found = evenings.map(({ day, runDay, screener }) => [
      day,
      runDay,
      ...new Set(screener.map((one) => one.day)),
    ])
    expect(found).toEqual(DAYS.map((day) => [day, findNewest(day), findNewest(day)]))
  })

  it('has sessions of each kind', () => {
    const kindOf = (day: Day, evening: Day): readonly unknown[] => {
      if (day === FAILING && evening === FAILING) return [day, 'partial', 2]
      if (!isSession(day)) return [day, 'holiday', 0]
      return [day, isWeekday(day) ? 'open' : 'special', STOCKS]
    }
    const found = evenings.map(({ sessions }) => sessions.map(({ day, kind, stocks }) => [day, kind, stocks]))
    const expected = DAYS.map((evening) =>
      DAYS.filter((day) => day <= findNewest(evening) && (isSession(day) || isWeekday(day))).map((day) =>
        kindOf(day, evening),
      ),
    )
    expect(found).toEqual(expected)
  })

  it('counts the deals of seven days', () => {
    const sum = (deals: readonly Deal[], side: string): unknown => {
      const values = deals.filter(({ bs }) => bs === side).map(({ qty = 0, avgprice = 0 }) => qty * avgprice)
      return expect.closeTo(values.reduce((total, value) => total + value, 0) / 1e7, 6)
    }
    for (const { day, screener, deals } of evenings) {
      const newest = findNewest(day)
      const dayOf = ({ date }: Deal): Day => String(date).slice(0, 10)
      expect(deals.map(dayOf).sort().at(-1)).toBe(day === FAILING ? findNewest(addDays(day, -1)) : newest)
      const week = deals.filter((deal) => dayOf(deal) > addDays(newest, -7) && dayOf(deal) <= newest)
      const expected = screener.map(({ isin }) => {
        const own = week.filter((deal) => deal.isin === isin)
        return { isin, day: newest, deals_7d: own.length, bought: sum(own, 'B'), sold: sum(own, 'S') }
      })
      expect(screener, day).toEqual(expected)
    }
  })
})
