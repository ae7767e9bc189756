import { DIVIDEND_TYPE, LISTED_MONTHS, termsSql } from '../../market/action-terms.js'
import { ofNamedOwner } from './symbols.js'
import { dayColumn, defineView, identity, numberColumn, RUN_DAY, stringColumn, wholeColumn } from './view.js'

/** The name of the variable with the actions that recorded lists had. */
export const RECORDED_VARIABLE = 'recorded_actions'
/** Their rows. The days are the last one whose list had the action, and the next one that has a list. */
export const RECORDED_ACTIONS = `(SELECT unnest(CAST(getvariable('${RECORDED_VARIABLE}')
  AS STRUCT(symbol VARCHAR, name VARCHAR, isin VARCHAR, ex_date DATE, record_date DATE, action VARCHAR, terms VARCHAR, last_day DATE, next_day DATE)[]), recursive := true))`

/** What an action of a list is, so that spaces and capitals make no other one. Some lists have the ISIN. */
const SAME_ACTION =
  "symbol, name, json_extract_string(extra, '$.Isin') AS isin, ex_date, record_date, upper(trim(coalesce(action, ''))) AS action, if(trim(note) = 'NA', '', trim(coalesce(note, ''))) AS terms"

/**
 * The value of that variable. Results move no price and are many. Lists repeat themselves day by day: each
 * text is read once.
 */
export const selectRecorded = (select: string): string => `(SELECT list(a) FROM (
  SELECT *, (SELECT min(d) FROM (SELECT DISTINCT CAST(day AS DATE) AS d FROM (${select})) WHERE d > last_day) AS next_day FROM (
    SELECT ${SAME_ACTION}, CAST(max(day) AS DATE) AS last_day
    FROM (SELECT symbol, name, extra, ex_date, record_date, action, note, max(day) AS day FROM (${select}) GROUP BY ALL)
    WHERE ${termsSql.kind("coalesce(action, '')", "coalesce(note, '')")} IS NOT NULL GROUP BY ALL
  )
) AS a)`

/** What a row says by itself: its kind, and where its terms stand. */
const READ_ACTIONS = `ever AS (
  SELECT *, coalesce(ex_date, record_date) AS day FROM (
    SELECT ${SAME_ACTION}, amount, true AS is_listed, NULL AS last_day, NULL AS next_day FROM corporate_actions
    UNION ALL BY NAME SELECT *, NULL AS amount, false AS is_listed FROM ${RECORDED_ACTIONS}
  ) WHERE day IS NOT NULL
), known_actions AS (
  SELECT *, ${termsSql.kind('action', 'terms')} AS kind, ${termsSql.text('action', 'terms')} AS text FROM (
    SELECT coalesce(s.symbol_now, symbol) AS symbol, s.isin, e.day, record_date, action, terms, max(amount) AS amount,
      bool_or(is_listed) AS is_listed, max(last_day) AS last_day, max(next_day) AS next_day
    FROM ${ofNamedOwner('ever', 'day')} AS e LEFT JOIN symbol_isins AS s USING (symbol) GROUP BY ALL
  )
)`

/**
 * An action leaves the list after two years, or with its stock, but the prices stay divided by it. One that
 * the next list lacks before that was called off or corrected. The list of now may be of no recorded run.
 */
const LASTING = `read_actions AS (
  SELECT * EXCLUDE (is_listed, last_day, next_day) FROM known_actions
  QUALIFY is_listed OR kind IS NOT NULL AND (
    coalesce(next_day, if(EXISTS (FROM corporate_actions WHERE list = 'history'), ${RUN_DAY}, NULL), DATE '9999-12-31') > day + INTERVAL ${LISTED_MONTHS} MONTH
    OR symbol NOT IN (SELECT symbol FROM master) AND last_day >= greatest(day, max(last_day) OVER (PARTITION BY symbol))
  )
)`

/** A text about another action may name a dividend, which is a row of its own. */
const ACTION_PARTS = `parts AS (
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
  needs: ['corporate_actions', 'symbol_isins', 'listing_dates', 'master'],
  columns: [
    ...identity(dayColumn('day', 'ex-date, which may lie ahead; the record date if there is none')),
    dayColumn('record_date', 'whoever holds the share on this day takes part', 'max(record_date)'),
    stringColumn(
      'kind',
      'such as split, bonus or dividend; what a trust pays is a dividend; NULL for results and what is not known',
    ),
    stringColumn('action', 'as the provider writes it, in capitals', 'min(action)'),
    stringColumn('terms', 'as the provider writes them', "nullif(min(terms), '')"),
    numberColumn(
      'amount_inr',
      'of a dividend, rupees a share, in percent of the face value of today; of others the rupees of the terms; NULL if they have none',
    ),
    wholeColumn('is_percent', '1 if the terms are in percent of the face value', 'bool_or(is_percent)'),
  ],
  with: [READ_ACTIONS, LASTING, ACTION_PARTS],
  // Two dividends of one amount are told apart by their types, and other actions by their terms.
  from: `FROM parts GROUP BY isin, symbol, day, kind, amount_inr, if(kind = 'dividend' AND amount_inr IS NOT NULL, ${DIVIDEND_TYPE}, concat_ws(' ', action, terms))`,
})
