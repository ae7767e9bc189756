import { AS_BEFORE, DIVIDEND_TYPE, MOVED_DAYS, SAME_PRICES, termsSql } from '../../market/action-terms.js'
import { REWRITTEN_STOCKS, TWICE_OR_REVERSE } from './candles.js'
import { defineView, identity, numberColumn, RUN_DAY, stringColumn, wholeColumn } from './view.js'

/** The session before an action and that of the action are at most this many days away. */
const NEAR_DAYS = 10
/** Actions that are this many days apart may share a session, over a weekend with a holiday. */
const SHARED_DAYS = 4
/** Every combination of actions is tried. */
const MAX_TOGETHER = 5
/**
 * What speaks against a reading, as a logarithm: a session beside the listed day, or the unusual order of the
 * terms. 0.1 is a gap of 10 % at the opening.
 */
const OTHER_SESSION = 0.15
const OTHER_ORDER = 0.1
/** A move that is further from all combinations has another reason. */
const MAX_RESIDUAL = 0.5
/** A demerger or a rights issue divides the price by at most this; the factor is unknown. */
const MAX_UNKNOWN = 4
/** Readings that are nearer to each other are not told apart beside one: more than `OTHER_ORDER` alone. */
const MIN_COST_LEAD = 0.14
/** A larger dividend shows in the candles. */
const SEEN_YIELD = 0.04

/** Why an action is not used whose move is not what the candles show. */
export const OTHER_MOVE = 'another move in the candles'

/** Why it is not known whether an action is applied that shares its session with one without a factor. */
export const BESIDE_UNKNOWN = 'beside an action of unknown price'

/** Why none of them is used: every combination of more would be too many. */
export const TOO_MANY = 'too many actions of one day'

/** What moves the price. A merger and a buyback do not. */
const MOVING_KINDS = [
  'split',
  'consolidation',
  'bonus',
  'rights',
  'demerger',
  'capital reduction',
  'dividend',
]

/** The actions that move a price, with their factors. */
const READ = `readable AS (
  SELECT symbol, isin, day, kind, action, coalesce(terms, '') AS terms, if(kind = 'rights', [], ${termsSql.factors('kind', 'text')}) AS factors, amount_inr AS amount, is_percent = 1 AS is_percent,
    ${DIVIDEND_TYPE} AS type
  FROM (SELECT *, ${termsSql.text('action', "coalesce(terms, '')")} AS text FROM actions_unique)
  WHERE kind IN (${MOVING_KINDS.map((kind) => `'${kind}'`).join(', ')})
)`

/** Actions with factors: copies and moved ones once, with all their days; neighbours are a group. */
const ACTS = [
  `acts AS (
    SELECT symbol, max(isin) AS isin, kind, arg_max(terms, day) AS terms, arg_max(factors, day) AS factors, list_sort(list(DISTINCT day)) AS days
    FROM (
      SELECT *, sum(if(is_near, 0, 1)) OVER (PARTITION BY symbol, kind, factors[1] ORDER BY day) AS family FROM (
        SELECT *, day <= lag(day) OVER (PARTITION BY symbol, kind, factors[1] ORDER BY day) + ${MOVED_DAYS} AS is_near FROM readable WHERE len(factors) > 0
      )
    ) GROUP BY symbol, kind, factors[1], family
  )`,
  `numbered AS (
    SELECT *, row_number() OVER (PARTITION BY symbol, place ORDER BY days, kind, factors) AS n, count(*) OVER (PARTITION BY symbol, place) AS size FROM (
      SELECT *, sum(if(days[1] <= until + ${SHARED_DAYS}, 0, 1)) OVER (PARTITION BY symbol ORDER BY days, kind, factors) AS place FROM (
        SELECT *, max(days[-1]) OVER (PARTITION BY symbol ORDER BY days, kind, factors ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until FROM acts
      )
    )
  )`,
]

/** The move into the session of each listed day, and into those beside it. */
const MOVES = [
  // Names the columns: without that, DuckDB reads all of the candles.
  `sessions AS (
    SELECT a.symbol, a.day AS listed, max_by(c.close, c.day, 2) FILTER (c.day < a.day) AS closes, min_by(c.open, c.day, 2) FILTER (c.day >= a.day) AS opens,
      list_distinct(list(c.open) FILTER (c.day < a.day) || list(c.close) FILTER (c.day < a.day)) AS prices, max(c.day) FILTER (c.day < a.day) AS last_day, max_by(c.open, c.day) FILTER (c.day < a.day) AS last_open,
      min_by(c.day, c.day, 2) FILTER (c.day >= a.day) AS next_days, min_by(c.close, c.day) FILTER (c.day >= a.day) AS own_close
    FROM (SELECT DISTINCT symbol, day FROM readable) AS a JOIN (SELECT symbol, day, open, close FROM candle_days) AS c ON c.symbol = a.symbol
      AND c.day BETWEEN a.day - ${NEAR_DAYS} AND a.day + ${NEAR_DAYS} GROUP BY a.symbol, a.day
  )`,
  // A percent is of a face value that a later split changes: what it is in rupees is not known yet.
  // The listed day may be the record date. On a day without a session, the session before may trade without
  // the action; that of an action to come is only known to be such a day on a weekend.
  `slots AS (
    SELECT *, ln(before / after) AS move, ln(before / (after + coalesce(paid, 0))) AS paid_move FROM (
      SELECT symbol, listed, next_days[1] AS slot, closes[1] AS before, opens[1] AS after, true AS is_own, 0 AS penalty FROM sessions
      UNION ALL SELECT symbol, listed, last_day, closes[2], last_open, false, if(next_days[1] = listed, ${OTHER_SESSION}, 0) FROM sessions WHERE next_days[1] IS NOT NULL OR isodow(listed) > 5
      UNION ALL SELECT symbol, listed, next_days[2], own_close, opens[2], false, ${OTHER_SESSION} FROM sessions
    ) LEFT JOIN (
      SELECT symbol, day AS listed, sum(amount) AS paid FROM readable AS r
      WHERE NOT is_percent OR NOT EXISTS (FROM readable AS f WHERE f.symbol = r.symbol AND f.day > r.day AND f.kind IN ('split', 'consolidation')) GROUP BY ALL
    ) USING (symbol, listed)
    WHERE before > 0 AND after > 0
  )`,
  'own AS (FROM slots WHERE is_own)',
  "unknown AS (SELECT DISTINCT o.symbol, slot FROM own AS o JOIN readable AS r ON r.symbol = o.symbol AND r.day = listed WHERE kind <> 'dividend' AND len(factors) = 0)",
]

/** Of all combinations, the one that explains the moves: each action at one of its sessions, or at none. */
const CHOICE = [
  `pairs AS (
    SELECT symbol, place, n, slot, factor, penalty + if(reading = 1, 0, ${OTHER_ORDER}) AS penalty, move, paid_move, is_own, u.slot IS NOT NULL AS is_free FROM (
      SELECT symbol, place, n, listed, unnest(factors) AS factor, unnest(range(1, len(factors) + 1)) AS reading
      FROM (SELECT symbol, place, n, factors, unnest(days) AS listed FROM numbered WHERE size <= ${MAX_TOGETHER})
    ) JOIN slots USING (symbol, listed) LEFT JOIN unknown AS u USING (symbol, slot)
    WHERE is_own OR move / ln(factor) > 0.6
  )`,
  `choices AS (
    SELECT symbol, place, n, slot, factor, min(penalty) AS penalty FROM pairs GROUP BY ALL
    UNION ALL SELECT symbol, place, n, CAST(NULL AS DATE), 1, 0 FROM numbered
  )`,
  `combined AS (
    WITH RECURSIVE tried AS (
      SELECT DISTINCT symbol, place, size, CAST(0 AS BIGINT) AS n, CAST([] AS STRUCT(n BIGINT, slot DATE, factor DOUBLE)[]) AS picks, CAST(0 AS DOUBLE) AS penalty
      FROM numbered WHERE size <= ${MAX_TOGETHER}
      UNION ALL
      SELECT t.symbol, t.place, size, c.n, if(slot IS NULL, picks, list_append(picks, {'n': c.n, 'slot': slot, 'factor': factor})), t.penalty + c.penalty
      FROM tried AS t JOIN choices AS c ON c.symbol = t.symbol AND c.place = t.place AND c.n = t.n + 1
    )
    SELECT symbol, place, picks, penalty FROM tried WHERE n = size
  )`,
  `chosen AS (
    SELECT symbol, place, arg_min({'picks': picks, 'rest': rest, 'cost': cost}, row(cost, len(picks), CAST(picks AS VARCHAR))) AS best, list({'picks': picks, 'cost': cost}) FILTER (is_free) AS readings FROM (
      SELECT symbol, place, picks, round(penalty + sum(rest), 9) AS cost, max(rest) FILTER (is_own) AS rest, bool_or(is_free) AS is_free FROM (
        SELECT *, list_min([abs(x - least(greatest(x, 0), if(is_free, ln(${MAX_UNKNOWN}), 0))) FOR x IN [move - explained, paid_move - explained]]) AS rest FROM (
          SELECT *, coalesce(list_sum([ln(p.factor) FOR p IN picks IF p.slot = slot]), 0) AS explained FROM combined
          JOIN (SELECT symbol, place, slot, min(move) AS move, min(paid_move) AS paid_move, bool_or(is_own) AS is_own, bool_or(is_free) AS is_free FROM pairs GROUP BY ALL) USING (symbol, place)
        )
      ) GROUP BY symbol, place, picks, penalty
    ) GROUP BY symbol, place
  )`,
]

/** A few prices may be of the same grid by chance. */
const MIN_PRICES = 8
/**
 * The exchange's steps between prices in paise, by rupees from which on they count; earlier ones were
 * smaller. Prices that were divided have steps that are a part of one of these.
 */
const TICKS = [
  [20_000, 500],
  [10_000, 100],
  [5_000, 50],
  [1_000, 10],
  [250, 5],
] as const
const STEPS_IN_PAISE = `[1, ${TICKS.map(([, paise]) => paise).join(', ')}]`
const tickOf = (rupees: string): string =>
  `CASE ${TICKS.map(([from, paise]) => `WHEN ${rupees} >= ${from} THEN ${paise}`).join(' ')} ELSE 1 END`

/**
 * Where the candles show no jump, the provider has applied the action, or it did not happen. It is taken as
 * applied, unless a run fetched the history again for it and got the same prices, or the steps between those
 * before it are not those of prices that were divided.
 */
const JUDGED = [
  // Whole rupees say nothing: they are not of an exchange.
  `grids AS (
    SELECT symbol, listed, closes[1] AS close, list_reduce([CAST(round(x * 100) AS BIGINT) FOR x IN prices], lambda x, y: gcd(x, y)) AS grid FROM sessions
    WHERE len(prices) >= ${MIN_PRICES} AND list_max([abs(x * 100 - round(x * 100)) FOR x IN prices]) < 1e-6
  )`,
  `fetched AS (
    SELECT symbol, day, reason LIKE '%${SAME_PRICES}%' AS is_same, reason LIKE '%${AS_BEFORE}' AS is_known FROM ${REWRITTEN_STOCKS}
  )`,
  `unseen AS (
    SELECT symbol, place, n FROM numbered JOIN fetched AS f USING (symbol)
    WHERE f.day BETWEEN days[1] - ${NEAR_DAYS} AND days[-1] + ${MOVED_DAYS} GROUP BY ALL HAVING bool_and(is_same) AND bool_or(is_known)
    UNION SELECT symbol, place, n FROM numbered JOIN grids USING (symbol)
    WHERE listed = days[-1] AND factors[1] > 1 AND grid % 100 <> 0 AND grid >= 5
      AND NOT list_contains([step / factors[1] FOR step IN ${STEPS_IN_PAISE} IF step <= ${tickOf('close * factors[1] * 1.1')}], grid)
  )`,
  `picked AS (
    SELECT a.*, best, list_filter(best.picks, lambda p: p.n = a.n)[1] AS pick, len(list_distinct([list_filter(r.picks, lambda p: p.n = a.n) FOR r IN readings IF r.cost < best.cost + ${MIN_COST_LEAD}])) > 1 AS is_open, u.n IS NOT NULL AS is_unseen FROM numbered AS a
    LEFT JOIN chosen USING (symbol, place) LEFT JOIN unseen AS u ON u.symbol = a.symbol AND u.place = a.place AND u.n = a.n
  )`,
  // The listed day stays, unless another session trades without the action.
  `dated AS (
    SELECT *, coalesce((SELECT max(listed) FROM slots AS s WHERE s.symbol = p.symbol AND is_own AND slot = pick.slot AND list_contains(days, listed)), pick.slot, days[-1]) AS day
    FROM picked AS p
  )`,
  `judged AS (
    SELECT d.symbol, isin, d.day, kind, terms, coalesce(pick.factor, factors[1]) AS factor, before, after, d.slot,
      CASE WHEN d.slot IS NULL THEN 'no candles of its day' WHEN best IS NULL THEN '${TOO_MANY}'
        WHEN best.rest > ${MAX_RESIDUAL} THEN '${OTHER_MOVE}' WHEN is_open THEN '${BESIDE_UNKNOWN}' WHEN pick IS NULL AND is_unseen THEN 'not seen in the candles' END AS reason,
      if(pick IS NULL, 1, 0) AS state, if(kind = 'split' AND pick.factor < 1 AND pick.factor <> factors[1], '${TWICE_OR_REVERSE}', NULL) AS doubt
    FROM (SELECT d.*, coalesce(pick.slot, own.slot) AS slot FROM dated AS d LEFT JOIN own ON own.symbol = d.symbol AND listed = d.day) AS d
    LEFT JOIN (SELECT symbol, slot, any_value(before) AS before, any_value(after) AS after FROM slots GROUP BY ALL) AS s ON s.symbol = d.symbol AND s.slot = d.slot
  )`,
]

/**
 * Dividends are paid for the shares of their time, stored prices are divided by the splits that are applied;
 * the face value of a dividend in percent is the one before later splits, and the list has that of today.
 * Those of one session are one sum: each row has its part of the factor.
 */
const DIVIDENDS = [
  `owed AS (
    SELECT d.*, s.slot, before, after, amount / coalesce((SELECT product(factor) FROM judged AS j WHERE j.symbol = d.symbol AND j.day > d.day AND j.reason IS NULL AND state = 1), 1) AS inr,
      before / coalesce((SELECT product(factor) FROM judged AS j WHERE j.symbol = d.symbol AND j.slot = s.slot AND j.reason IS NULL AND state = 0), 1) AS base
    FROM (
      SELECT r.* EXCLUDE (amount), amount * if(is_percent, coalesce((SELECT product(factor) FROM judged AS j WHERE j.symbol = r.symbol AND j.day > r.day AND j.reason IS NULL AND kind IN ('split', 'consolidation')), 1), 1) AS amount FROM (
        SELECT symbol, max(isin) AS isin, day, type, any_value(terms) AS terms, amount, bool_or(is_percent) AS is_percent FROM readable WHERE kind = 'dividend' GROUP BY symbol, day, type, amount, if(amount IS NULL, terms, NULL)
      ) AS r
    ) AS d
    LEFT JOIN own AS s ON s.symbol = d.symbol AND s.listed = d.day
  )`,
  `counted AS (
    SELECT *, CASE WHEN amount IS NULL THEN 'amount not read' WHEN moved_to <= day + ${MOVED_DAYS} AND NOT is_seen OR moved_from >= day - ${MOVED_DAYS} AND NOT is_seen AND was_seen THEN 'moved to another day'
      WHEN base IS NULL THEN 'no candles of its day' END AS reason FROM (
      SELECT *, lead(day) OVER w AS moved_to, lag(day) OVER w AS moved_from, lag(is_seen) OVER w AS was_seen FROM (
        SELECT *, coalesce(inr > ${SEEN_YIELD} * base AND base - after > inr / 2, false) AS is_seen FROM owed
      ) WINDOW w AS (PARTITION BY symbol, type, amount ORDER BY day)
    )
  )`,
  `paid AS (
    SELECT *, sum(inr) OVER (PARTITION BY symbol, slot, reason ORDER BY inr, type ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS up_to,
      sum(inr) OVER (PARTITION BY symbol, slot, reason) AS total FROM counted
  )`,
]

const UNREAD = "if(kind IN ('rights', 'demerger'), 'price unknown', 'terms not read')"

/**
 * What moves a price, with factors. The provider divides earlier candles by splits and bonuses, but not
 * always at once: whether it did shows in the candles.
 */
export const adjustments = defineView({
  name: 'adjustments',
  about:
    'splits, consolidations, bonuses, rights issues, demergers, capital reductions and dividends with the factor that earlier prices are divided by, one row each',
  isShared: true,
  needs: ['actions_unique', 'candle_days', 'master', 'symbol_isins'],
  columns: [
    ...identity(
      'first day on which the share trades without it: the listed one, unless the candles show a session beside it',
    ),
    stringColumn('kind', MOVING_KINDS.join(', ')),
    stringColumn(
      'terms',
      'as the provider writes them: new face value to old, new shares to old ones, or rupees a share',
      "nullif(terms, '')",
    ),
    numberColumn(
      'factor',
      'earlier prices are divided by it; below 1 for a consolidation; those of dividends of one day multiply to close / (close - sum); NULL if unknown',
    ),
    wholeColumn(
      'is_applied',
      '1 if stored candles are divided by it, 0 if not, as by dividends; NULL if unknown or ahead of its day',
    ),
    numberColumn(
      'amount_inr',
      'dividend, rupees a share, divided like the stored prices by later splits and bonuses',
    ),
    numberColumn(
      'close_before_inr',
      `close before that day as stored, at most ${NEAR_DAYS} days earlier, rupees`,
    ),
    numberColumn(
      'open_after_inr',
      `open of the first session from that day on as stored, at most ${NEAR_DAYS} days later, rupees`,
    ),
    stringColumn('reason', 'why factor or is_applied is NULL, or close_first of earlier days'),
  ],
  with: [READ, ...ACTS, ...MOVES, ...CHOICE, ...JUDGED, ...DIVIDENDS],
  from: `FROM (
    SELECT isin, symbol, day, kind, terms, factor, if(reason IS NULL, state, NULL) AS is_applied, NULL AS amount_inr, before AS close_before_inr, after AS open_after_inr, coalesce(reason, doubt) AS reason FROM judged
    UNION ALL SELECT isin, symbol, day, 'dividend', terms, CASE WHEN reason IS NULL AND total < base THEN (base - up_to + inr) / (base - up_to) END,
      CASE WHEN day <= coalesce(${RUN_DAY}, day) AND reason IS DISTINCT FROM 'moved to another day' THEN 0 END, inr, before, after, if(reason IS NULL AND total >= base, 'more than the price', reason) FROM paid
    UNION ALL SELECT DISTINCT r.isin, r.symbol, day, kind, terms, NULL, NULL, NULL, before, after, ${UNREAD} FROM readable AS r
      LEFT JOIN own AS s ON s.symbol = r.symbol AND listed = day WHERE kind <> 'dividend' AND len(factors) = 0
  )`,
})
