import { REWRITTEN_STOCKS } from '../candles.js'
import { col, numberColumn, RUN_DAY, reading, type ScreenerGroup } from '../view.js'
import { PRICE_DAYS } from './price.js'

/** Sessions of Wilder's averages: each one moves by a fourteenth of the difference. */
const WILDER_SESSIONS = 14
/**
 * Calendar days of candles for Wilder's averages: of 800 sessions the first weighs less than 1e-20, of 300 in
 * an average of an average 1e-8.
 */
const WILDER_DAYS = 1_200
const EMAS = [20, 50, 200] as const

/**
 * The weight of the value at `place` in the average at `last`, whose first value is the plain average of
 * those until `first`.
 */
const weigh = (first: number): string =>
  `pow(1 - 1.0 / ${WILDER_SESSIONS}, last - greatest(place, ${first})) / ${WILDER_SESSIONS}`

/**
 * An exponential average of a list, which starts as the plain average of the first values. `i` is 2 at the
 * second value.
 */
const exponentialAverage = (sessions: number): string =>
  `CASE WHEN len(closes) >= ${sessions} THEN list_reduce(closes, lambda a, x, i: a + (x - a) / if(i <= ${sessions}, i, ${(sessions + 1) / 2})) END`

const enough = (sessions: number, value: string): string => `CASE WHEN last >= ${sessions} THEN ${value} END`

export const technical: ScreenerGroup = {
  title: 'indicators of candles_adjusted',
  needs: ['candles_adjusted'],
  with: [
    `moves AS (
      SELECT isin, row_number() OVER w AS place, count(*) OVER (PARTITION BY isin) AS last, close - lag(close) OVER w AS change,
        greatest(high, lag(close) OVER w) - least(low, lag(close) OVER w) AS true_range, high - lag(high) OVER w AS up, lag(low) OVER w - low AS down
      FROM candles_adjusted WHERE isin IS NOT NULL AND day > coalesce(${RUN_DAY}, current_date) - ${WILDER_DAYS} WINDOW w AS (PARTITION BY isin ORDER BY day)
    )`,
    `weighed AS (SELECT *, ${weigh(WILDER_SESSIONS + 1)} AS weight FROM moves WHERE place > 1)`,
    `directed AS (
      SELECT *, sum(if(up > down, greatest(up, 0), 0) * weight) OVER w AS plus, sum(if(down > up, greatest(down, 0), 0) * weight) OVER w AS minus
      FROM weighed WINDOW w AS (PARTITION BY isin ORDER BY place)
    )`,
    `wilder AS (
      SELECT isin, ${enough(WILDER_SESSIONS + 1, '100 * sum(greatest(change, 0) * weight) / NULLIF(sum(abs(change) * weight), 0)')} AS wilder_rsi,
        ${enough(WILDER_SESSIONS + 1, 'sum(true_range * weight)')} AS wilder_atr,
        ${enough(2 * WILDER_SESSIONS, `100 * sum(coalesce(abs(plus - minus) / NULLIF(plus + minus, 0), 0) * ${weigh(2 * WILDER_SESSIONS)}) FILTER (place > ${WILDER_SESSIONS})`)} AS wilder_adx
      FROM directed GROUP BY isin, last
    )`,
    `technical AS (
      SELECT *, ${EMAS.map((sessions) => `${exponentialAverage(sessions)} AS ema_${sessions}`).join(', ')}
      FROM (SELECT isin, list(close ORDER BY day) AS closes FROM candles_adjusted WHERE isin IS NOT NULL GROUP BY isin HAVING max(day) > coalesce(${RUN_DAY}, current_date) - ${PRICE_DAYS}) LEFT JOIN wilder USING (isin)
    )`,
  ],
  alias: 'x',
  columns: [
    numberColumn(
      'wilder_rsi_14',
      "Wilder's RSI of 14 sessions from adjusted candles, 0 to 100; NULL if all closes are equal; rsi_14 is the provider's",
      'wilder_rsi',
    ),
    numberColumn('wilder_atr_14_inr', "Wilder's average true range of 14 sessions, rupees", 'wilder_atr'),
    reading(
      ['price', 'technical'],
      numberColumn('wilder_atr_14_pct', 'percent of the close', '100 * wilder_atr / NULLIF(close_1, 0)'),
    ),
    numberColumn(
      'wilder_adx_14',
      "Wilder's average directional index of 14 sessions, 0 to 100; 0 if all prices are equal",
      'wilder_adx',
    ),
    ...EMAS.map((sessions) =>
      numberColumn(
        `ema_${sessions}_inr`,
        `exponential average of the close, ${sessions} sessions, rupees`,
        `ema_${sessions}`,
      ),
    ),
  ],
}

export const knownPrices: ScreenerGroup = {
  title: 'when the prices became known',
  needs: ['symbol_isins'],
  with: [
    `known AS (SELECT isin, max(known_at) AS known_at FROM ${REWRITTEN_STOCKS} WHERE only_day IS NULL GROUP BY isin)`,
  ],
  alias: 'k',
  columns: [
    col(
      'prices_known_since',
      'TIMESTAMP',
      'when a recorded run last replaced the history of candles, India time; NULL if none did',
      'k.known_at',
    ),
  ],
}
