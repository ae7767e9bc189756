import { termsSql } from '../../market/action-terms.js'
import { ofOwner } from './symbols.js'
import { col, defineView, identity } from './view.js'

/** What a row says by itself: its kind, and where its terms stand. */
const READ_ACTIONS = `read_actions AS (
  SELECT *, ${termsSql.kind('action', 'terms')} AS kind, ${termsSql.text('action', 'terms')} AS text FROM (
    SELECT coalesce(s.symbol_now, symbol) AS symbol, s.isin, coalesce(ex_date, record_date) AS day, record_date, amount,
      upper(trim(coalesce(action, ''))) AS action, trim(coalesce(note, '')) AS terms
    FROM ${ofOwner('corporate_actions', 'ex_date')} LEFT JOIN symbol_isins AS s USING (symbol)
  ) WHERE day IS NOT NULL
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
    'corporate actions without repetitions, one row each; a text about two actions, such as a bonus and a dividend, has a row for the dividend',
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
  with: [READ_ACTIONS, PARTS],
  // Two dividends of one amount are told apart by their types, and other actions by their terms.
  from: `FROM parts GROUP BY isin, symbol, day, kind, action, amount_inr, if(kind = 'dividend' AND amount_inr IS NOT NULL, NULL, terms)`,
})
