import type { AnyEndpoint } from '../../../src/http/endpoint.js'
import type { SampleMarket, SampleStock } from '../../../src/model/market.js'
import { isRow, readText } from '../../../src/model/row.js'
import { createBenchTimeline, FIRST_RUN_AT } from './conditions.js'

type Row = Readonly<Record<string, unknown>>

/** Bytes of one answer, for samples that are smaller than the real answers. */
const SIZE = { filings: 44_000, fundamental: 12_000, announcements: 3_000, indicator: 3_000 } as const
const NEWS_ITEMS = 50

/** Takes rows until their JSON has `bytes` bytes. */
const takeBytes = (bytes: number, rows: Iterable<Row>): readonly Row[] => {
  const chosen: Row[] = []
  let size = 0
  for (const row of rows) {
    if (size >= bytes) return chosen
    chosen.push(row)
    size += Buffer.byteLength(JSON.stringify(row)) + 1
  }
  throw new Error('not enough samples')
}

/** The rows of one stock, then those of the next stocks. */
function* generateRows(
  place: number,
  rowsOf: (stock: SampleStock) => readonly Row[],
  pool: readonly SampleStock[],
): Generator<Row> {
  for (let at = 0; at < pool.length; at++) yield* rowsOf(pool[(place + at) % pool.length] as SampleStock)
}

/** What the samples of the endpoints answer about a stock. */
const createSamples = (endpoints: readonly AnyEndpoint[], market: SampleMarket) => {
  const dataOf = (name: SharedEndpoint, input: unknown): unknown => {
    const sample = endpoints.find((endpoint) => endpoint.name === name)?.sample
    if (sample === undefined) throw new Error(`no endpoint ${name} with a sample`)
    return (sample(input, market) as { readonly data: unknown }).data
  }
  return {
    rows: (endpoint: SharedEndpoint, { ISIN, Sid }: SampleStock): readonly Row[] =>
      ([dataOf(endpoint, { security_id: Sid, data: { isin: ISIN } }) ?? []] as Row[]).flat(),
    news: ({ ISIN }: SampleStock) =>
      (dataOf('news', { stock_list: [ISIN], limit: NEWS_ITEMS }) as { readonly latest_news: readonly Row[] })
        .latest_news,
  }
}

/** Creates full-size answers about a stock of the pool from its samples and those of the next stocks. */
const createFullSize = (pool: readonly SampleStock[], { rows, news }: ReturnType<typeof createSamples>) => {
  const about = (place: number): SampleStock => pool[place % pool.length] as SampleStock
  const rowsOf = (endpoint: SharedEndpoint) => (stock: SampleStock) => rows(endpoint, stock)
  return {
    /**
     * The answers of both endpoints. They share one row in sixteen, so they merge to nearly twice the size of
     * one.
     */
    filings: (place: number) => {
      const numbered = (path: string, list: readonly Row[]) =>
        list.map((row, n) => ({ ...row, ...createIds(row, `${path}-${n}`, about(place)) }))
      const legacy = numbered(
        'l',
        takeBytes(SIZE.filings, generateRows(place, rowsOf('company_filings'), pool)),
      )
      const lodr = numbered('r', takeBytes(SIZE.filings, generateRows(place + 1, rowsOf('lodr'), pool)))
      return {
        legacy: { code: 0, data: legacy },
        lodr: { code: 0, data: lodr.map((row, n) => (n % 16 === 0 ? (legacy[n] ?? row) : row)) },
      }
    },
    fundamental: (place: number) => {
      const rows = takeBytes(SIZE.fundamental, generateRows(place, rowsOf('fundamental'), pool))
      return { status: 'success', data: [{ ...rows.reduce(joinTables), isin: about(place).ISIN }] }
    },
    announcements: (place: number) => ({
      code: 0,
      data: takeBytes(SIZE.announcements, generateRows(place, rowsOf('announcements'), pool)),
    }),
    indicator: (place: number) => {
      const all = takeBytes(SIZE.indicator, generateRows(place, rowsOf('indicator'), pool))
      const lists = (key: string) => all.flatMap((row) => row[key])
      return {
        data: [
          { EMA: lists('EMA'), SMA: lists('SMA'), Indicator: lists('Indicator'), Pivot: lists('Pivot') },
        ],
      }
    },
    news: (place: number) => {
      const latest_news: Row[] = []
      for (const item of generateRows(place, news, pool)) if (latest_news.push(item) === NEWS_ITEMS) break
      return { code: 0, data: { latest_news } }
    },
  }
}

/** Joins the columns of two records: a real record is longer than a sample but has the same fields. */
const joinTables = (one: Row, other: Row): Row => {
  const tables = Object.entries(one).filter((entry): entry is [string, Row] => isRow(entry[1]))
  const joined = tables.map(([name, table]) => {
    const more = isRow(other[name]) ? other[name] : {}
    return [
      name,
      Object.fromEntries(
        Object.entries(table).map(([column, text]) => [
          column,
          `${readText(text)}|${readText(more[column])}`,
        ]),
      ),
    ]
  })
  return { ...one, ...Object.fromEntries(joined) }
}

const createIds = ({ news_id }: Row, id: string, { ISIN }: SampleStock): Row => ({
  isin: ISIN,
  ...(news_id === undefined ? {} : { news_id: `${ISIN.toLowerCase()}-${id}` }),
})

const emptyBodies = {
  company_filings: { code: 0, data: null },
  lodr: { code: 0, data: null },
  fundamental: { status: 'success', data: [] },
  announcements: { code: 0, data: null },
  indicator: { data: [] },
  news: { code: 0, data: { latest_news: [] } },
} as const

/** Endpoints whose answers are shared by many stocks, except for the ISIN. */
export type SharedEndpoint = keyof typeof emptyBodies

/** One in this many stocks has an empty answer. */
const EMPTY_EVERY: Readonly<Record<SharedEndpoint, number>> = {
  company_filings: 5,
  lodr: 5,
  fundamental: 100,
  announcements: 10,
  indicator: 33,
  news: 7,
}

export const isEmpty = (endpoint: SharedEndpoint, rank: number): boolean =>
  rank % EMPTY_EVERY[endpoint] === EMPTY_EVERY[endpoint] - 1

export const isShared = (endpoint: string): endpoint is SharedEndpoint => endpoint in emptyBodies

const VARIANTS = 64
/** Number of stocks from which the variants are made. */
const POOL = 1_500

/** The answer about the stock of a rank and ISIN; on the later day, every third stock has a different one. */
export type Bodies = (endpoint: SharedEndpoint, stock: RankedStock, isLater?: boolean) => string

export interface RankedStock {
  readonly rank: number
  readonly isin: string
}

/** Full-size answers about a few stocks, used for all stocks with their own ISIN. */
export const createBodies = (endpoints: readonly AnyEndpoint[]): Bodies => {
  const { stocks, ...market } = createBenchTimeline(POOL)(Date.parse(FIRST_RUN_AT))
  const make = createFullSize(stocks, createSamples(endpoints, { ...market, stocks }))
  const about = stocks.slice(0, VARIANTS).map(({ ISIN }) => ISIN)
  const write = (value: (place: number) => unknown) => about.map((_, place) => JSON.stringify(value(place)))
  const filings = about.map((_, place) => make.filings(place))
  const full: Readonly<Record<SharedEndpoint, readonly string[]>> = {
    company_filings: write((place) => filings[place]?.legacy),
    lodr: write((place) => filings[place]?.lodr),
    fundamental: write(make.fundamental),
    announcements: write(make.announcements),
    indicator: write(make.indicator),
    news: write(make.news),
  }
  return (endpoint, { rank, isin }, isLater = false) => {
    if (isEmpty(endpoint, rank)) return JSON.stringify(emptyBodies[endpoint])
    const variant = (rank + (isLater && rank % 3 === 0 ? 1 : 0)) % VARIANTS
    const [text = '', other = ''] = [full[endpoint][variant], about[variant]]
    return text.replaceAll(other, isin).replaceAll(other.toLowerCase(), isin.toLowerCase())
  }
}
