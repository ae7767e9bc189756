import { BESIDE_UNKNOWN, OTHER_MOVE, TOO_MANY } from '../adjustments.js'
import { selectSessions } from '../breadth.js'
import { dayColumn, RUN_DAY, reading, type ScreenerGroup, stringColumn, wholeColumn } from '../view.js'
import { IS_NEW_HIGH, IS_NEW_LOW, priceGroup } from './price.js'

/** Days before the day of the run whose results are new: those of a weekend are of its Friday or Saturday. */
const RESULT_DAYS = 3
const HAS_NEW_RESULTS = `CAST(results_at AS DATE) > ${RUN_DAY} - ${RESULT_DAYS}`
/** Days from the day of the run on whose ex-dates are near. */
export const ACTION_DAYS = 7

const TAGS = [
  `if(is_traded = false, 'no trade', NULL)`,
  `if(${IS_NEW_HIGH}, '52-week high', NULL)`,
  `if(${IS_NEW_LOW}, '52-week low', NULL)`,
  `side || ' limit'`,
  `if(asm IS NULL, NULL, 'ASM')`,
  `if(gsm IS NULL, NULL, 'GSM')`,
  `if(from_percent IS NULL, NULL, 'band changed')`,
  `if(${HAS_NEW_RESULTS}, 'results', NULL)`,
  `if(next_day <= ${RUN_DAY} + ${ACTION_DAYS}, 'ex-date', NULL)`,
  `if(l.deals > 0, 'deals', NULL)`,
]

export const sessionGroup: ScreenerGroup = {
  title: 'the newest session',
  needs: ['candles_adjusted', 'adjustments'],
  with: [
    ...priceGroup.with,
    `crossed AS (SELECT isin, max(day) AS crosses FROM adjustments WHERE kind <> 'dividend' AND (factor IS NULL OR reason IN ('${OTHER_MOVE}', '${BESIDE_UNKNOWN}', '${TOO_MANY}')) AND day <= ${RUN_DAY} GROUP BY isin)`,
    `session AS (SELECT isin, price_day = (SELECT max(day) FROM (${selectSessions('recent')})) AS is_traded, crosses FROM price LEFT JOIN crossed USING (isin))`,
  ],
  alias: 'w',
  columns: [
    wholeColumn(
      'traded',
      '1 if the newest candle is of the newest session, in which at least half of the stocks traded; 0 if not',
      'is_traded',
    ),
    dayColumn(
      'crosses_action',
      'newest ex-date of an action that earlier prices cannot be divided by, such as a demerger or a rights issue: figures of days before it cross it; NULL without one',
      'crosses',
    ),
    reading(
      ['reaction'],
      wholeColumn(
        'new_results',
        `1 if the newest results came on the day of the run or in the ${RESULT_DAYS - 1} days before, 0 if not`,
        HAS_NEW_RESULTS,
      ),
    ),
    reading(
      ['price', 'session', 'lists', 'reaction'],
      stringColumn(
        'tags',
        'what is to be known of the stock on the day, with · between: no trade, 52-week high or low, at its limit, ASM, GSM, band changed, results, ex-date, deals',
        `nullif(concat_ws(' · ', ${TAGS.join(', ')}), '')`,
      ),
    ),
  ],
}

const isOfResults = (column: string): string => `figures_are_of_results = 1 AND ${column}`
const countWhere = (condition: string, name: string): string => `count(*) FILTER (${condition}) AS ${name}`
const countReported = (condition: string, name: string): string =>
  countWhere(`new_results = 1 AND ${condition}`, name)

/**
 * Counts results in a relation with the columns of the screener: which stocks reported in the last days, how
 * many of those with figures grew, and which are due in the days to come.
 */
export const selectScoreboard = (
  from: string,
  by = '',
): string => `SELECT ${by}${countReported('true', 'reported')},
  ${countWhere(`next_results_day BETWEEN ${RUN_DAY} AND ${RUN_DAY} + ${ACTION_DAYS} AND coalesce(CAST(results_at AS DATE) < next_results_day, true)`, 'due')},
  ${countReported(isOfResults('sales_yoy_pct IS NOT NULL'), 'sales_known')}, ${countReported(isOfResults('sales_yoy_pct > 0'), 'sales_grew')},
  ${countReported(isOfResults('net_profit_yoy_pct IS NOT NULL'), 'profit_known')}, ${countReported(isOfResults('net_profit_yoy_pct > 0'), 'profit_grew')},
  median(results_day_return_pct) FILTER (new_results = 1) AS day_return_pct FROM ${from}${by === '' ? '' : ' GROUP BY ALL'}`
