import type { Item } from '../model/outcome.js'
import { omitUndefined } from '../model/row.js'
import type { About, Breadth, IndexRow, MarketAnswer, Panel } from './answers.js'
import type { MarketFolder, StoredList } from './folder.js'
import { describeAbout, type RunFacts, readRunFacts } from './freshness.js'
import { INDICES, nameIndex, orderIndices, readIndices, readSid, readStockNames } from './stocks.js'
import { listOf, readAnswer, rowOf } from './tables.js'
import { whereUniverse } from './universe.js'

interface MarketTables {
  readonly breadth: Omit<Breadth, 'about' | 'sessions'> & { readonly day: string }
  readonly sessions: readonly { readonly day: string; readonly advances: number; readonly declines: number }[]
  readonly indices: readonly (Omit<IndexRow, 'key'> & { readonly sid: string })[]
}

const SESSIONS = 60
/** Stocks that did not trade for longer do not decide what the newest session is. */
const RECENT_DAYS = 10
const COLUMNS = 'price_day, change_pct, turnover_cr, new_high_52w, new_low_52w, from_sma_50_pct, from_sma_200_pct'

/** All columns of a view are asked for where its rows are stored. For a day of the past they are not, and `*` would take ten times as long. */
const listPrices = (universe: string, isPast: boolean): readonly string[] => [
  `prices AS MATERIALIZED (SELECT ${COLUMNS} FROM screener${whereUniverse(universe)})`,
  // The day that half of the stocks have reached: while a run is fetching, a few have a newer one.
  `session AS (SELECT quantile_disc(price_day, 0.5) AS day FROM prices WHERE price_day > (SELECT max(price_day) FROM prices) - ${RECENT_DAYS})`,
  `traded AS (SELECT ${isPast ? COLUMNS : '*'} FROM prices WHERE price_day = (SELECT day FROM session))`,
]

const PARTS: Readonly<Record<keyof MarketTables, string>> = {
  breadth:
    rowOf(`SELECT (SELECT day FROM session) AS day, (SELECT count(*) FROM prices) AS listed, count(*) AS traded, count(*) FILTER (change_pct > 0) AS advances, count(*) FILTER (change_pct < 0) AS declines,
    count(*) FILTER (change_pct = 0) AS unchanged, count(*) FILTER (new_high_52w = 1) AS "newHighs", count(*) FILTER (new_low_52w = 1) AS "newLows",
    100 * avg(CAST(from_sma_50_pct > 0 AS INTEGER)) AS "above50Pct", 100 * avg(CAST(from_sma_200_pct > 0 AS INTEGER)) AS "above200Pct",
    median(change_pct) AS "medianChangePct", sum(turnover_cr) AS "turnoverCr" FROM traded HAVING count(*) > 0`),
  // All slow columns are named, because the rows of a whole view are stored.
  sessions: listOf(
    `SELECT day, advances, declines FROM (SELECT day, stocks, advances, declines, above_sma20_pct, above_sma50_pct, above_sma200_pct, new_highs, new_lows
        FROM breadth WHERE level = 'market' ORDER BY day DESC LIMIT ${SESSIONS})
      QUALIFY stocks * 2 >= max(stocks) OVER ()`,
    'r.day',
  ),
  indices: listOf(
    `SELECT i.symbol, i.sid, i.name, price_day AS day, close_inr AS close, change_pct AS "changePct", closes FROM index_prices AS i JOIN (
      SELECT symbol, sid, list(close ORDER BY date) AS closes FROM (
        SELECT symbol, sid, date, close FROM index_candles QUALIFY row_number() OVER (PARTITION BY symbol, sid ORDER BY date DESC) <= ${SESSIONS}
      ) GROUP BY symbol, sid
    ) AS c ON c.symbol = i.symbol AND c.sid = i.sid`,
    'r.symbol, r.sid',
  ),
}

/** What the market, or a universe of it, did on the newest session. The sessions before are known of the whole market only. */
export const readMarket = async (folder: MarketFolder, universe = ''): Promise<MarketAnswer> => {
  const [runs, names, list] = [await readRunFacts(folder), await readStockNames(folder), await readIndices(folder)]
  const { answer, damage, problem } = await readAnswer<MarketTables>(folder, PARTS, {
    with: listPrices(universe, folder.day !== undefined),
  })
  const { breadth, sessions = [] } = answer
  const about = omitUndefined({
    ...describeAbout(runs, 'all-ohlcv', omitUndefined({ isMissing: breadth === undefined, damage: problem ?? [...damage.values()][0] })),
    day: breadth?.day,
  })
  return {
    breadth: {
      ...{ traded: 0, advances: 0, declines: 0, unchanged: 0, newHighs: 0, newLows: 0, turnoverCr: 0, listed: names.items.length },
      ...breadth,
      about,
      sessions: (universe === '' ? sessions : []).map(({ day, advances, declines }) => [day, advances, declines]),
    },
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
