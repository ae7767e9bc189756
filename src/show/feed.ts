import { omitUndefined } from '../model/row.js'
import { RUN_DAY } from '../tables/views/view.js'
import type { FeedAnswer, FeedRow } from './answers.js'
import type { MarketFolder } from './folder.js'
import { describeAbout, readRunFacts } from './freshness.js'
import { EVENT_STREAMS, toLink } from './stock-tables.js'
import { listOf, readAnswer, rowOf } from './tables.js'

interface FeedTables {
  readonly rows: readonly FeedRow[]
  readonly counts: { readonly day?: string; readonly stocks: number; readonly kinds: Readonly<Record<string, number>> }
}

const MAX_FEED_STOCKS = 400
const MAX_STOCK_EVENTS = 5
/** Not after the last run: news that the provider dates ahead would hide the others. */
export const isUpToRun = (day: string): string => `${day} <= coalesce(${RUN_DAY}, DATE '9999-12-31')`

const FEED_KINDS = "('filing', 'news', 'announcement', 'deal')"

const FEED_WITH = [
  `known AS (SELECT symbol, day, happened_at, kind, title, detail, value, url FROM events WHERE kind IN ${FEED_KINDS} AND coalesce(title, '') <> '' AND ${isUpToRun('day')})`,
  // Deals are published in the evening, before the last filings of the day.
  `of_day AS MATERIALIZED (SELECT * FROM known WHERE day = (SELECT max(day) FROM known))`,
  'names AS (SELECT symbol, any_value(name) AS name, max(market_cap_cr) AS size FROM screener GROUP BY symbol)',
]

const FEED_PARTS: Readonly<Record<keyof FeedTables, string>> = {
  rows: listOf(
    `SELECT symbol, name, size, total, events FROM (SELECT symbol, count(*) AS total, list({ time: strftime(happened_at, '%H:%M'), kind: kind, title: title,
        detail: nullif(if(kind = 'news', lower(detail), detail), title), value: if(kind = 'deal', value, NULL), url: url }
        ORDER BY kind = 'announcement', happened_at DESC NULLS LAST, title)[:${MAX_STOCK_EVENTS}] AS events FROM of_day GROUP BY symbol)
      LEFT JOIN names USING (symbol) ORDER BY size DESC NULLS LAST, symbol LIMIT ${MAX_FEED_STOCKS}`,
    'r.size DESC NULLS LAST, r.symbol',
  ),
  counts: rowOf(`SELECT max(day) AS day, count(DISTINCT symbol) AS stocks, coalesce((SELECT json_group_object(kind, n) FROM
    (SELECT kind, count(*) AS n FROM of_day GROUP BY kind ORDER BY list_position(${FEED_KINDS.replace('(', '[').replace(')', ']')}, kind))), CAST('{}' AS JSON)) AS kinds FROM of_day`),
}

/** What happened to each stock on the newest day: filings, news, announcements and deals, each document once; the largest stocks first. */
export const readFeed = async (folder: MarketFolder): Promise<FeedAnswer> => {
  const facts = await readRunFacts(folder)
  const { answer, damage, problem } = await readAnswer<FeedTables>(folder, FEED_PARTS, { with: FEED_WITH })
  const { rows = [], counts: { day, stocks = 0, kinds = {} } = {} } = answer
  const problems = Object.entries(EVENT_STREAMS).flatMap(([stream, table]) => {
    const own = describeAbout(facts, stream, omitUndefined({ isMissing: false, damage: problem ?? damage.get(table) }))
    return own.problem ?? []
  })
  return omitUndefined({
    ...{ day, stocks, kinds, problems: [...new Set(problems)] },
    rows: rows.map(({ events, ...row }) => ({
      ...row,
      events: events.map(({ url, ...event }) => omitUndefined({ ...event, url: toLink(url) })),
    })),
  })
}
