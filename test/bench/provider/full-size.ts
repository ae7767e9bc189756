import type { SampleStock } from '../../../src/model/market.js'
import { isRow, readText } from '../../../src/model/row.js'
import type { Row, Samples } from './samples.js'

/** Bytes of one answer, for samples that are smaller than the real answers. */
const SIZE = { filings: 44_000, fundamental: 12_000, announcements: 3_000, indicator: 3_000 } as const
const NEWS_ITEMS = 50

/** Takes rows until their JSON has `bytes` bytes. */
const takeBytes = (bytes: number, rows: Iterable<Row>): readonly Row[] => {
  const taken: Row[] = []
  let size = 0
  for (const row of rows) {
    if (size >= bytes) return taken
    taken.push(row)
    size += Buffer.byteLength(JSON.stringify(row)) + 1
  }
  throw new Error('not enough samples')
}

/** The rows of one stock, then those of the next stocks. */
function* generateRows(place: number, rowsOf: (stock: SampleStock) => readonly Row[], pool: readonly SampleStock[]): Generator<Row> {
  for (let at = 0; at < pool.length; at++) yield* rowsOf(pool[(place + at) % pool.length] as SampleStock)
}

/** Creates full-size answers about a stock of the pool from its samples and those of the next stocks. */
export const createFullSize = (pool: readonly SampleStock[], { rows, news }: Samples) => {
  const about = (place: number): SampleStock => pool[place % pool.length] as SampleStock
  const rowsOf = (endpoint: Parameters<typeof rows>[0]) => (stock: SampleStock) => rows(endpoint, stock)
  return {
    /** The answers of both endpoints. They share one row in sixteen, so they merge to nearly twice the size of one. */
    filings: (place: number) => {
      const numbered = (path: string, list: readonly Row[]) =>
        list.map((row, n) => ({ ...row, ...createIds(row, `${path}-${n}`, about(place)) }))
      const legacy = numbered('l', takeBytes(SIZE.filings, generateRows(place, rowsOf('company_filings'), pool)))
      const lodr = numbered('r', takeBytes(SIZE.filings, generateRows(place + 1, rowsOf('lodr'), pool)))
      return { legacy: { code: 0, data: legacy }, lodr: { code: 0, data: lodr.map((row, n) => (n % 16 === 0 ? (legacy[n] ?? row) : row)) } }
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
      return { data: [{ EMA: lists('EMA'), SMA: lists('SMA'), Indicator: lists('Indicator'), Pivot: lists('Pivot') }] }
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
      Object.fromEntries(Object.entries(table).map(([column, text]) => [column, `${readText(text)}|${readText(more[column])}`])),
    ]
  })
  return { ...one, ...Object.fromEntries(joined) }
}

const createIds = ({ news_id }: Row, id: string, { ISIN }: SampleStock): Row => ({
  isin: ISIN,
  ...(news_id === undefined ? {} : { news_id: `${ISIN.toLowerCase()}-${id}` }),
})
