import { ofOwner } from './symbols.js'
import { col, defineView, identity, RUN_DAY } from './view.js'

/** The session before an action and that of the action are at most this many days away. */
const NEAR_DAYS = 10

/**
 * Splits, bonuses, rights issues and dividends with their factors. The provider divides earlier candles by
 * splits and bonuses, but not always at once: whether it did shows in the candles.
 */
export const adjustments = defineView({
  name: 'adjustments',
  about:
    'splits, bonuses, rights issues and dividends with the factor that earlier prices are divided by, one row each',
  isShared: true,
  needs: ['corporate_actions', 'candle_days', 'symbol_isins'],
  columns: [
    ...identity(
      'first day on which the share trades without it; if the listed day has no session, it may be the one before',
    ),
    col('kind', 'VARCHAR', 'split, bonus, rights or dividend'),
    col(
      'terms',
      'VARCHAR',
      'as the provider writes them: new face value to old, new shares to old ones, or rupees a share',
    ),
    col(
      'factor',
      'DOUBLE',
      'earlier prices are divided by it; NULL for rights, whose price is unknown, and without candles for dividends',
    ),
    col(
      'is_applied',
      'BIGINT',
      '1 if stored candles are divided by it, 0 if not, as by dividends; NULL if unknown or ahead of its day',
    ),
    col(
      'amount_inr',
      'DOUBLE',
      'dividend, rupees a share, divided like the stored prices by later splits and bonuses',
    ),
    col(
      'close_before_inr',
      'DOUBLE',
      `close before that day as stored, at most ${NEAR_DAYS} days earlier, rupees`,
    ),
    col(
      'open_after_inr',
      'DOUBLE',
      `open of the first session from that day on as stored, at most ${NEAR_DAYS} days later, rupees`,
    ),
  ],
  with: [
    `actions AS (
      SELECT isin, coalesce(symbol_now, symbol) AS symbol, a.day, kind, terms, a, b, CASE WHEN kind = 'dividend' THEN TRY_CAST(terms AS DOUBLE) END AS amount,
        CASE kind WHEN 'split' THEN greatest(a / b, b / a) WHEN 'bonus' THEN (a + b) / b END AS factor
      FROM (
        SELECT DISTINCT symbol, ex_date AS day, note AS terms,
          CASE WHEN action ILIKE '%split%' THEN 'split' WHEN action ILIKE '%bonus%' THEN 'bonus' WHEN action ILIKE '%right%' THEN 'rights'
            WHEN action ILIKE '%dividend%' THEN 'dividend' END AS kind,
          TRY_CAST(NULLIF(regexp_extract(note, '([0-9.]+)\\s*:\\s*([0-9.]+)', 1), '') AS DOUBLE) AS a,
          NULLIF(TRY_CAST(NULLIF(regexp_extract(note, '([0-9.]+)\\s*:\\s*([0-9.]+)', 2), '') AS DOUBLE), 0) AS b
        FROM ${ofOwner('corporate_actions', 'ex_date')}
      ) AS a LEFT JOIN symbol_isins AS s USING (symbol) WHERE kind IS NOT NULL AND a.day IS NOT NULL
    )`,
    `sessions AS (
      SELECT a.symbol, a.day, max_by(c.close, c.day) FILTER (c.day < a.day) AS before, min_by(c.open, c.day) FILTER (c.day >= a.day) AS after,
        bool_or(c.day = a.day) AS is_session, max(c.day) FILTER (c.day < a.day) AS last_day, max_by(c.open, c.day) FILTER (c.day < a.day) AS last_open,
        (max_by(c.close, c.day, 2) FILTER (c.day < a.day))[2] AS last_before
      FROM (SELECT DISTINCT symbol, day FROM actions) AS a JOIN candle_days AS c ON c.symbol = a.symbol
        AND c.day BETWEEN a.day - ${NEAR_DAYS} AND a.day + ${NEAR_DAYS} GROUP BY a.symbol, a.day
    )`,
    // The listed day may be the record date. On a day without a session, the session before trades without
    // the action, if its candle shows that.
    `placed AS (
      SELECT * REPLACE (if(is_early, last_day, day) AS day, if(is_early, last_before, before) AS before, if(is_early, last_open, after) AS after)
      FROM (SELECT *, NOT is_session AND last_open > 0 AND last_before / last_open > sqrt(factor) AS is_early FROM actions LEFT JOIN sessions USING (symbol, day))
    )`,
    // Of the two states, the one that is nearer to the move between the sessions.
    `judged AS (SELECT *, CASE WHEN after > 0 AND before > 0 AND factor > 0 THEN if(before / after < sqrt(factor), 1, 0) END AS is_applied FROM placed)`,
    // Dividends are paid for the shares of their time, stored prices are divided by the splits that are
    // applied.
    `shares AS (
      SELECT d.symbol, d.day, d.terms, product(coalesce(s.factor, 1)) AS later FROM judged AS d
      LEFT JOIN judged AS s ON s.symbol = d.symbol AND s.day > d.day AND s.kind <> 'dividend' AND s.is_applied = 1
      WHERE d.kind = 'dividend' GROUP BY d.symbol, d.day, d.terms
    )`,
  ],
  from: `FROM (
    SELECT isin, j.symbol, j.day, kind, j.terms, amount / later AS amount_inr, before AS close_before_inr, after AS open_after_inr,
      CASE WHEN kind <> 'dividend' THEN factor WHEN before > amount / later THEN before / (before - amount / later) END AS factor,
      CASE WHEN kind <> 'dividend' THEN is_applied WHEN j.day <= coalesce(${RUN_DAY}, j.day) THEN 0 END AS is_applied
    FROM judged AS j LEFT JOIN shares AS s ON s.symbol = j.symbol AND s.day = j.day AND s.terms IS NOT DISTINCT FROM j.terms AND kind = 'dividend'
  )`,
})
