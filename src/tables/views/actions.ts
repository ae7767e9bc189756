import { MOVED_DAYS, termsSql } from '../../market/action-terms.js'
import { ofNamedOwner } from './symbols.js'
import { col, defineView, identity } from './view.js'

/** The name of the variable with the actions that recorded lists had. */
export const RECORDED_VARIABLE = 'recorded_actions'
/** Their rows. The days are the first and the last one whose list had the action. */
export const RECORDED_ACTIONS = `(SELECT unnest(CAST(getvariable('${RECORDED_VARIABLE}')
  AS STRUCT(symbol VARCHAR, ex_date DATE, record_date DATE, action VARCHAR, terms VARCHAR, first_day DATE, last_day DATE)[]), recursive := true))`

/** What an action of a list is, so that spaces and capitals make no other one. */
const SAME_ACTION =
  "symbol, ex_date, record_date, upper(trim(coalesce(action, ''))) AS action, if(trim(note) = 'NA', '', trim(coalesce(note, ''))) AS terms"

/** The value of that variable. Results move no price and are many. */
export const selectRecorded = (select: string): string => `(SELECT list(a) FROM (
  SELECT ${SAME_ACTION}, CAST(min(day) AS DATE) AS first_day, CAST(max(day) AS DATE) AS last_day FROM (${select})
  WHERE ${termsSql.kind("coalesce(action, '')", "coalesce(note, '')")} IS NOT NULL GROUP BY ALL
) AS a)`

/** What a row says by itself: its kind, and where its terms stand. */
const READ_ACTIONS = `ever AS (
  SELECT symbol, ex_date, record_date, action, terms, max(name) AS name, max(amount) AS amount, bool_or(is_listed) AS is_listed,
    coalesce(min(first_day), DATE '9999-12-31') AS first_day, max(last_day) AS last_day
  FROM (
    SELECT ${SAME_ACTION}, name, amount, true AS is_listed, NULL AS first_day, NULL AS last_day FROM corporate_actions
    UNION ALL BY NAME SELECT *, NULL AS name, NULL AS amount, false AS is_listed FROM ${RECORDED_ACTIONS}
  ) GROUP BY symbol, ex_date, record_date, action, terms
), known_actions AS (
  SELECT *, ${termsSql.kind('action', 'terms')} AS kind, ${termsSql.text('action', 'terms')} AS text FROM (
    SELECT e.* EXCLUDE (symbol, ex_date), coalesce(s.symbol_now, symbol) AS symbol, s.isin, coalesce(ex_date, record_date) AS day
    FROM ${ofNamedOwner('ever', 'ex_date')} AS e LEFT JOIN symbol_isins AS s USING (symbol)
  ) WHERE day IS NOT NULL
)`

/**
 * An action leaves the list after two years, but the prices stay divided by it. One that left before its day
 * was called off, and one for which another one came later was corrected.
 */
const LASTING = `read_actions AS (
  SELECT * EXCLUDE (is_listed, first_day, last_day) FROM known_actions AS e
  WHERE is_listed OR (kind IS NOT NULL AND day <= last_day AND NOT EXISTS (
    FROM known_actions AS o WHERE o.symbol = e.symbol AND o.kind = e.kind AND abs(o.day - e.day) <= ${MOVED_DAYS} AND o.first_day > e.last_day
  ))
)`

/** A text about another action may name a dividend, which is a row of its own. */
const PARTS = `parts AS (
  SELECT * EXCLUDE (amount, face, amount_listed), kind = 'dividend' AND amount_listed IS NULL AS is_percent,
    if(kind = 'dividend', coalesce(amount_listed, if(${termsSql.isInterest('action', 'terms')}, NULL, ${termsSql.percent('text')} / 100 * face)), amount) AS amount_inr
  FROM (SELECT *, if(kind = 'dividend', ${termsSql.amount('text')}, NULL) AS amount_listed FROM read_actions)
    LEFT JOIN (SELECT symbol, max(face_value) AS face FROM listing_dates GROUP BY symbol) USING (symbol)
  UNION ALL BY NAME
  SELECT * EXCLUDE (amount) REPLACE ('dividend' AS kind), false AS is_percent, ${termsSql.beside('kind', 'action', 'terms')} AS amount_inr
  FROM read_actions WHERE ${termsSql.isBeside('kind', 'action', 'terms')}
)`

export const actionsUnique = defineView({
  name: 'actions_unique',
  about:
    'corporate actions without repetitions, also those that the recorded lists have had, one row each; a text about two actions, such as a bonus and a dividend, has a row for the dividend',
  needs: ['corporate_actions', 'symbol_isins', 'listing_dates'],
  columns: [
    ...identity(col('day', 'DATE', 'ex-date, which may lie ahead; the record date if there is none')),
    col('record_date', 'DATE', 'whoever holds the share on this day takes part', 'max(record_date)'),
    col(
      'kind',
      'VARCHAR',
      'such as split, bonus or dividend; what a trust pays is a dividend; NULL for results and what is not known',
    ),
    col('action', 'VARCHAR', 'as the provider writes it, in capitals'),
    col('terms', 'VARCHAR', 'as the provider writes them', "nullif(min(terms), '')"),
    col(
      'amount_inr',
      'DOUBLE',
      'of a dividend, rupees a share, in percent of the face value of today; of others the rupees of the terms; NULL if they have none',
    ),
    col('is_percent', 'BIGINT', '1 if the terms are in percent of the face value', 'bool_or(is_percent)'),
  ],
  with: [READ_ACTIONS, LASTING, PARTS],
  // Two dividends of one amount are told apart by their types, and other actions by their terms.
  from: `FROM parts GROUP BY isin, symbol, day, kind, action, amount_inr, if(kind = 'dividend' AND amount_inr IS NOT NULL, NULL, terms)`,
})
