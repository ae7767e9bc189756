import type { Item } from '../model/outcome.js'
import { omitUndefined } from '../model/row.js'
import type { About, Breadth, IndexRow, MarketAnswer, Mover, Panel } from './answers.js'
import type { MarketFolder, StoredList } from './folder.js'
import { describeAbout, type RunFacts, readRunFacts } from './freshness.js'
import { INDICES, nameIndex, orderIndices, readIndices, readSid, readStockNames } from './stocks.js'
import { listOf, readAnswer, rowOf } from './tables.js'

interface MarketTables {
  readonly breadth: Omit<Breadth, 'about' | 'sessions' | 'listed'> & { readonly day: string }
  readonly counts: { readonly movers: number }
  readonly sessions: readonly { readonly day: string; readonly advances: number; readonly declines: number }[]
  readonly gainers: readonly Mover[]
  readonly losers: readonly Mover[]
  readonly busiest: readonly Mover[]
  readonly indices: readonly (Omit<IndexRow, 'key'> & { readonly sid: string })[]
}

const MOVERS = 12
const SESSIONS = 60
/** Stocks that did not trade for longer do not decide what the newest session is. */
const RECENT_DAYS = 10
/** A stock that trades for less moves by single orders. */
const MIN_TURNOVER_CR = 1

const MOVER = 'symbol, name, close, "changePct", volume, "volumeTimes", "turnoverCr"'

const WITH = [
  `prices AS MATERIALIZED (
    SELECT symbol, name, price_day, close_inr AS close, change_pct AS "changePct", volume, rvol AS "volumeTimes", turnover_cr AS "turnoverCr",
      new_high_52w, new_low_52w, from_sma_50_pct, from_sma_200_pct FROM screener
  )`,
  // The day that half of the stocks have reached: while a run is fetching, a few have a newer one.
  `session AS (SELECT quantile_disc(price_day, 0.5) AS day FROM prices WHERE price_day > (SELECT max(price_day) FROM prices) - ${RECENT_DAYS})`,
  `traded AS (SELECT ${MOVER}, new_high_52w, new_low_52w, from_sma_50_pct, from_sma_200_pct FROM prices WHERE price_day = (SELECT day FROM session))`,
  // All if no stock has the turnover.
  `movers AS (SELECT ${MOVER} FROM traded WHERE "changePct" IS NOT NULL AND ("turnoverCr" >= ${MIN_TURNOVER_CR} OR (SELECT max("turnoverCr") FROM traded) < ${MIN_TURNOVER_CR}))`,
]

const moversBy = (order: string, condition: string): string =>
  listOf(`SELECT ${MOVER} FROM movers WHERE ${condition} ORDER BY ${order}, symbol LIMIT ${MOVERS}`, `r.${order}, r.symbol`)

const PARTS: Readonly<Record<keyof MarketTables, string>> = {
  breadth:
    rowOf(`SELECT (SELECT day FROM session) AS day, count(*) AS traded, count(*) FILTER ("changePct" > 0) AS advances, count(*) FILTER ("changePct" < 0) AS declines,
    count(*) FILTER ("changePct" = 0) AS unchanged, count(*) FILTER (new_high_52w = 1) AS "newHighs", count(*) FILTER (new_low_52w = 1) AS "newLows",
    100 * avg(CAST(from_sma_50_pct > 0 AS INTEGER)) AS "above50Pct", 100 * avg(CAST(from_sma_200_pct > 0 AS INTEGER)) AS "above200Pct",
    median("changePct") AS "medianChangePct", sum("turnoverCr") AS "turnoverCr" FROM traded HAVING count(*) > 0`),
  counts: rowOf('SELECT count(*) AS movers FROM movers'),
  // All slow columns are named, because the rows of a whole view are stored.
  sessions: listOf(
    `SELECT day, advances, declines FROM (SELECT day, stocks, advances, declines, above_sma20_pct, above_sma50_pct, above_sma200_pct, new_highs, new_lows
        FROM breadth WHERE level = 'market' ORDER BY day DESC LIMIT ${SESSIONS})
      QUALIFY stocks * 2 >= max(stocks) OVER ()`,
    'r.day',
  ),
  gainers: moversBy('"changePct" DESC', '"changePct" > 0'),
  losers: moversBy('"changePct"', '"changePct" < 0'),
  busiest: moversBy('"volumeTimes" DESC', '"volumeTimes" > 1'),
  indices: listOf(
    `SELECT i.symbol, i.sid, i.name, price_day AS day, close_inr AS close, change_pct AS "changePct", closes FROM index_prices AS i JOIN (
      SELECT symbol, sid, list(close ORDER BY date) AS closes FROM (
        SELECT symbol, sid, date, close FROM index_candles QUALIFY row_number() OVER (PARTITION BY symbol, sid ORDER BY date DESC) <= ${SESSIONS}
      ) GROUP BY symbol, sid
    ) AS c ON c.symbol = i.symbol AND c.sid = i.sid`,
    'r.symbol, r.sid',
  ),
}

/** What the market did on the newest session. */
export const readMarket = async (folder: MarketFolder): Promise<MarketAnswer> => {
  const [runs, names, list] = [await readRunFacts(folder), await readStockNames(folder), await readIndices(folder)]
  const { answer, damage, problem } = await readAnswer<MarketTables>(folder, PARTS, { with: WITH })
  const { breadth, counts, sessions = [], gainers = [], losers = [], busiest = [] } = answer
  const about = omitUndefined({
    ...describeAbout(runs, 'all-ohlcv', omitUndefined({ isMissing: breadth === undefined, damage: problem ?? [...damage.values()][0] })),
    day: breadth?.day,
  })
  const panel = (rows: readonly Mover[]): Panel<Mover> => ({ about, rows, total: counts?.movers ?? 0 })
  return {
    breadth: {
      ...{ traded: 0, advances: 0, declines: 0, unchanged: 0, newHighs: 0, newLows: 0, turnoverCr: 0, listed: names.items.length },
      ...breadth,
      about,
      sessions: sessions.map(({ day, advances, declines }) => [day, advances, declines]),
    },
    ...{ gainers: panel(gainers), losers: panel(losers), busiest: panel(busiest) },
    indices: toIndexPanel(answer.indices ?? [], { runs, list, problem }),
  }
}

/** The indices with candles, well-known ones first. */
const toIndexPanel = (
  found: MarketTables['indices'],
  { runs, list, problem }: { readonly runs: RunFacts; readonly list: StoredList<Item>; readonly problem: string | undefined },
): Panel<IndexRow> => {
  const items = new Map(list.rows.map((item) => [`${item.key}\n${readSid(item)}`, item]))
  const rows = found.flatMap(({ sid, ...index }): IndexRow[] => {
    const item = items.get(`${index.symbol}\n${sid}`)
    return item === undefined ? [] : [{ ...index, key: item.fileName, name: nameIndex(item) }]
  })
  const listed = describeAbout(runs, INDICES, list)
  const candles = describeAbout(
    runs,
    'indices-ohlcv',
    omitUndefined({ isMissing: rows.length === 0 && list.rows.length > 0, damage: problem }),
  )
  const day = rows.reduce<string | undefined>((newest, row) => (newest === undefined || row.day > newest ? row.day : newest), undefined)
  const about: About = omitUndefined({ ...(listed.problem === undefined ? candles : listed), day })
  return { about, rows: orderIndices(rows), total: list.rows.length }
}
