import { omitUndefined } from '../model/row.js'
import { formatSecond, SESSION_END } from '../model/trading-day.js'
import { BY_RANK } from '../tables/views/events.js'
import type { FeedAnswer, FeedRow } from './answers.js'
import type { MarketFolder } from './folder.js'
import { describeAbout, type KnownRuns, readRunFacts } from './freshness.js'
import { EVENT_STREAMS, toLink } from './stock.js'
import { isUpToRun, listOf, readAnswer, rowOf } from './tables.js'

const MAX_FEED_STOCKS = 400
const MAX_STOCK_EVENTS = 5

/**
 * Common table expressions: `happened` has all events from the end of the last session to a run, each with
 * its rank. Deals and price bands have a day only: theirs is that of the session or later. If no session is
 * known, the events are those of the newest day.
 */
export const selectHappened = ({ report }: Pick<KnownRuns, 'report'>): readonly string[] => [
  `known AS (SELECT * FROM events WHERE kind <> 'corporate action' AND coalesce(title, '') <> '' AND ${isUpToRun('day')})`,
  `last_close AS (SELECT max(day + TIME '${SESSION_END}') AS since FROM sessions WHERE kind IN ('open', 'special')
    AND day + TIME '${SESSION_END}' <= TIMESTAMP '${formatSecond(Date.parse(report?.asOf ?? '') || 0)}')`,
  `happened AS MATERIALIZED (SELECT * FROM known, last_close
    WHERE coalesce(happened_at > since, day >= CAST(since AS DATE), day = (SELECT max(day) FROM known)))`,
]

const NAMES =
  'names AS (SELECT symbol, any_value(name) AS name, max(market_cap_cr) AS size FROM screener GROUP BY symbol)'

const FEED_PARTS = {
  rows: listOf<FeedRow>(
    `SELECT symbol, name, size, total, rank, events FROM (SELECT symbol, count(*) AS total, min(rank) AS rank, list({ time: if(day < (SELECT max(day) FROM happened), strftime(happened_at, '%-d %b '), '') || strftime(happened_at, '%H:%M'), kind: kind, title: title,
        detail: nullif(if(kind = 'news', lower(detail), detail), title), value: if(kind = 'deal', value, NULL), url: url }
        ORDER BY ${BY_RANK})[:${MAX_STOCK_EVENTS}] AS events FROM happened GROUP BY symbol)
      LEFT JOIN names USING (symbol) ORDER BY rank, size DESC NULLS LAST, symbol LIMIT ${MAX_FEED_STOCKS}`,
    'r.rank, r.size DESC NULLS LAST, r.symbol',
  ),
  counts: rowOf<
    Omit<FeedAnswer, 'rows' | 'problems'>
  >(`SELECT max(day) AS day, strftime((SELECT since FROM last_close), '%Y-%m-%d') AS since, count(DISTINCT symbol) AS stocks,
    coalesce((SELECT json_group_object(kind, n) FROM (SELECT kind, count(*) AS n FROM happened GROUP BY kind ORDER BY min(rank), kind)), CAST('{}' AS JSON)) AS kinds FROM happened`),
}

/**
 * What happened to each stock since the end of the last session: filings, news, announcements, deals and
 * changes of price bands, each document once. Results come first, then orders, deals, surveillance, ratings
 * and the rest; within each, the largest stocks.
 */
export const readFeed = async (folder: MarketFolder): Promise<FeedAnswer> => {
  const facts = await readRunFacts(folder)
  const { answer, damage, problem } = await readAnswer(folder, FEED_PARTS, {
    with: [...selectHappened(facts), NAMES],
  })
  const { rows = [], counts: { day, since, stocks = 0, kinds = {} } = {} } = answer
  const problems = Object.entries(EVENT_STREAMS).flatMap(([stream, table]) => {
    const own = describeAbout(facts, stream, { damage: problem ?? damage.get(table) })
    return own.problem ?? []
  })
  return omitUndefined({
    day,
    since,
    stocks,
    kinds,
    problems: [...new Set(problems)],
    rows: rows.map(({ events, ...row }) => ({
      ...row,
      events: events.map(({ url, ...event }) => omitUndefined({ ...event, url: toLink(url) })),
    })),
  })
}
