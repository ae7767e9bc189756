import { listTables } from '../engine/define-stream.js'
import { listSessionEvidence } from '../engine/session-request.js'
import { UsageError } from '../model/errors.js'
import { formatNumber, formatQuantity } from '../model/format.js'
import { type Row, readText } from '../model/row.js'
import type { Day } from '../model/trading-day.js'
import { describeEarlier } from '../storage/history/choose.js'
import { readSessionDays } from '../storage/session-days.js'
import { describeHistory } from '../tables/history/describe-history.js'
import { queryRows } from '../tables/query.js'
import type { Verification, VerifyOptions } from './finding.js'

/** One way in which a back-test on a folder differs from what was known then. */
interface BacktestPart {
  readonly name: string
  /** How many there are, and of how many. */
  readonly count: number
  readonly of: number
  /** The newest of them. */
  readonly examples: readonly string[]
  /** What the folder can prove about it. */
  readonly proof: string
  /** What it cannot. */
  readonly limit: string
}

/** What a back-test on a folder costs. */
export interface Backtest {
  /** The recorded days: only between them the folder knows what was known when. */
  readonly from: Day
  readonly to: Day
  readonly days: number
  readonly parts: readonly BacktestPart[]
}

type Checked = Pick<Verification, 'findings' | 'accepted'>

const SHOWN_EXAMPLES = 3

/**
 * Counts what a back-test on a folder does not see: days without a record, dead names, rewritten prices,
 * restated quarters and back-filled rows. The restated quarters are findings of `verify`, which the returned
 * function takes.
 *
 * @throws UsageError without a recorded day
 */
export const countBacktestGaps = async (
  root: string,
  { streams, exchange }: Pick<VerifyOptions, 'streams' | 'exchange'>,
): Promise<(checked: Checked) => Backtest> => {
  const history = await describeHistory(root, { streams, exchange })
  const days = history.days
    .filter(({ records, isMisdated }) => records > 0 && !isMisdated)
    .map(({ day }) => day)
  const [from, to] = [days[0], days.at(-1)]
  if (from === undefined || to === undefined)
    throw new UsageError(
      [
        `no day is recorded in ${root}, so nothing shows what was known when`,
        ...describeEarlier(history.earlier),
      ].join('; '),
    )
  const ask = (sql: string): Promise<readonly Row[]> =>
    queryRows(sql, { out: root, tables: listTables(streams) })
  const sessions = await readSessionDays(root, listSessionEvidence(streams, exchange))
  const gaps = history.days.filter(({ records }) => records === 0).map(({ day }) => day)
  const older = sessions.filter((day) => day < from).length
  const parts: readonly BacktestPart[] = [
    {
      name: 'days without record',
      count: gaps.length,
      of: gaps.length + days.length,
      examples: takeNewest(gaps),
      proof: `lists and filings of ${formatQuantity(days.length, 'day')} are as they were collected`,
      limit: `sessions with candles before ${from}, ${formatNumber(older)} of them, are known only as the provider shows them since`,
    },
    await countDeadNames(ask, from),
    await countRewrittenPrices(ask, from),
  ]
  const quarters = await readCount(ask, 'SELECT count(*) AS n FROM quarters')
  const rows = await countBackFilledRows(ask, days)
  return (checked) => ({
    from,
    to,
    days: days.length,
    parts: [...parts, describeRestatedQuarters(checked, quarters), rows],
  })
}

const takeNewest = (texts: readonly string[]): readonly string[] => texts.slice(-SHOWN_EXAMPLES).reverse()

type ReadRows = (sql: string) => Promise<readonly Row[]>

const readCount = async (ask: ReadRows, sql: string): Promise<number> => Number((await ask(sql))[0]?.n ?? 0)

const countDeadNames = async (ask: ReadRows, from: Day): Promise<BacktestPart> => {
  const dead = await ask(`SELECT isin, max_by(symbol, day) AS symbol, max(day) AS until FROM history.master
    WHERE isin NOT IN (SELECT isin FROM master) AND symbol NOT IN (SELECT symbol FROM master) GROUP BY isin ORDER BY until, symbol`)
  const priced = new Set(
    (
      await ask('SELECT DISTINCT symbol FROM candle_days WHERE symbol NOT IN (SELECT symbol FROM master)')
    ).map(({ symbol }) => symbol),
  )
  const describe = ({ symbol, until }: Row): string =>
    `${symbol} until ${until}${priced.has(symbol) ? '' : ', without candles'}`
  return {
    name: 'dead names',
    count: dead.length,
    of: await readCount(ask, 'SELECT count(DISTINCT isin) AS n FROM history.master'),
    examples: takeNewest(dead.map(describe)),
    proof: `every stock that left since ${from} is named, and ${formatNumber(dead.filter(({ symbol }) => priced.has(symbol)).length)} of them still have candles`,
    limit: `stocks that left before ${from} are in no list: a back-test that begins earlier knows survivors only`,
  }
}

const countRewrittenPrices = async (ask: ReadRows, from: Day): Promise<BacktestPart> => {
  const rows = await ask(
    "SELECT symbol, day, reason FROM rewritten WHERE stream = 'all-ohlcv' ORDER BY day, symbol",
  )
  return {
    name: 'rewritten prices',
    count: new Set(rows.map(({ symbol }) => symbol)).size,
    of: await readCount(ask, 'SELECT count(DISTINCT symbol) AS n FROM candle_days'),
    examples: takeNewest(rows.map(({ symbol, day, reason }) => `${symbol} on ${day}: ${readText(reason)}`)),
    proof: `stocks whose stored candles a run replaced since ${from}; candles_known has since when each price is known`,
    limit: 'earlier prices are not kept: as of a day before, candles are those of today until that day',
  }
}

/** Accepted findings count, too: the figures of an earlier day are others all the same. */
const describeRestatedQuarters = ({ findings, accepted }: Checked, quarters: number): BacktestPart => {
  const restated = [...findings, ...accepted]
    .filter(({ check }) => check === 'restated-figures')
    .sort(({ day: one = '' }, { day: other = '' }) => other.localeCompare(one))
  return {
    name: 'restated quarters',
    count: restated.length,
    of: quarters,
    examples: restated
      .slice(0, SHOWN_EXAMPLES)
      .map(({ symbol, day, detail }) => [symbol ?? '', day ?? '', detail].filter(Boolean).join(' ')),
    proof: 'figures as of a recorded day are those that the provider showed then',
    limit:
      'restatements of the newest 21 recorded days; a figure that was restated before its first record counts as original',
  }
}

/**
 * A row that two runs did not have although it is dated before them. One may be early: filings of an evening
 * come later.
 */
const countBackFilledRows = async (ask: ReadRows, days: readonly Day[]): Promise<BacktestPart> => {
  const list = `[${days.map((day) => `DATE '${day}'`).join(', ')}]`
  const late = `FROM first_seen WHERE len(list_filter(${list}, lambda d: d >= day AND d < first_seen)) >= 2`
  const rows = await ask(
    `SELECT symbol, kind, day, first_seen ${late} ORDER BY first_seen DESC, symbol LIMIT ${SHOWN_EXAMPLES}`,
  )
  return {
    name: 'back-filled rows',
    count: await readCount(ask, `SELECT count(*) AS n ${late}`),
    of: await readCount(ask, 'SELECT count(*) AS n FROM first_seen WHERE first_seen IS NOT NULL'),
    examples: rows.map(
      (row) =>
        `${readText(row.symbol)}: ${readText(row.kind)} of ${readText(row.day)}, first seen on ${readText(row.first_seen)}`,
    ),
    proof: 'first_seen names the day of the first run that had a filing, news, announcement or deal',
    limit:
      'a row that is older than the first record has no such day; candles that were filled in later are not marked',
  }
}
