import { nameBandSql } from '../../../market/price-bands.js'
import { isSameIssuer } from '../symbols.js'
import {
  dayColumn,
  numberColumn,
  RUN_DAY,
  reading,
  type ScreenerGroup,
  stringColumn,
  wholeColumn,
} from '../view.js'

const WEEK = 'the day of the run and the 6 days before'

/** The list of deals is about all stocks: one that it lacks has none. */
const ofDeals = (figure: string): string => `if(has_deals, coalesce(${figure}, 0), NULL)`

/** A stock may be in the lists of both limits: the one that its change tells. */
const SIDE = `max_by(side, row(coalesce((side = 'upper') = (moved > 0), false), side)) FILTER (side IS NOT NULL)`

export const lists: ScreenerGroup = {
  title: 'surveillance, price band, circuit, deals and upcoming actions',
  needs: [
    'master',
    'surveillance',
    'bands',
    'band_changes',
    'circuits',
    'deals',
    'deals_valued',
    'actions_unique',
    'symbols',
  ],
  with: [
    `watch AS (SELECT coalesce(m.isin, s.isin) AS isin, max(stage) FILTER (list = 'ASM') AS asm, max(stage) FILTER (list = 'GSM') AS gsm FROM surveillance AS s LEFT JOIN master AS m ON m.symbol = s.symbol AND ${isSameIssuer('m.isin', 's.isin')} GROUP BY ALL)`,
    `by_symbol AS (
      SELECT symbol, max(from_percent) AS from_percent, max(to_percent) AS to_percent, ${SIDE} AS side,
        min(day) FILTER (action NOT LIKE '%result%') AS next_day, min_by(action, row(day, action)) FILTER (action NOT LIKE '%result%') AS next_action,
        min(day) FILTER (action = 'dividend') AS dividend_day, (min_by({'amount': amount}, day) FILTER (action = 'dividend')).amount AS dividend,
        min(day) FILTER (action LIKE '%result%') AS results_day
      FROM (
        SELECT symbol, from_percent, to_percent, NULL AS side, NULL AS moved, NULL AS day, NULL AS action, NULL AS amount FROM band_changes
        UNION ALL SELECT symbol, NULL, NULL, side, change_percent, NULL, NULL, NULL FROM circuits
        UNION ALL SELECT symbol, NULL, NULL, NULL, NULL, day, coalesce(kind, lower(action)) AS what, if(count(amount_inr) = count(*), sum(amount_inr), NULL) FROM actions_unique
        WHERE day >= coalesce(${RUN_DAY}, current_date) GROUP BY symbol, day, what
      ) GROUP BY symbol
    )`,
    `recent_deals AS (
      SELECT isin, count(*) AS deals, sum(value_cr) FILTER (side = 'B') AS bought, sum(value_cr) FILTER (side = 'S') AS sold, sum(net_value_cr) AS net
      FROM deals_valued WHERE day > ${RUN_DAY} - 7 AND day <= ${RUN_DAY} GROUP BY isin
    )`,
    // The lists without an ISIN may name a former symbol.
    `named AS (SELECT isin, max(COLUMNS(* EXCLUDE (isin, symbol))) FROM by_symbol JOIN (SELECT symbol, arg_max(isin, symbol_now = symbol) AS isin FROM symbols GROUP BY symbol) USING (symbol) GROUP BY isin)`,
    `lists AS (
      SELECT isin, w.*, d.*, n.*, has_deals FROM (SELECT isin, EXISTS (FROM deals) AS has_deals FROM master)
      LEFT JOIN named AS n USING (isin) LEFT JOIN watch AS w USING (isin) LEFT JOIN recent_deals AS d USING (isin)
    )`,
  ],
  alias: 'l',
  columns: [
    stringColumn('asm_stage', 'stage of additional surveillance; NULL if not listed', 'asm'),
    stringColumn('gsm_stage', 'stage of graded surveillance; NULL if not listed', 'gsm'),
    reading(
      [],
      numberColumn(
        'band_pct',
        'price band, percent; NULL without a band, or if unknown: see band',
        'm.band_percent',
      ),
    ),
    reading([], stringColumn('band', 'such as 20 %, or no band; NULL: unknown', nameBandSql('m.band'))),
    numberColumn('band_before_pct', 'price band before a change of that day, percent', 'from_percent'),
    stringColumn('circuit', 'upper or lower if the price is at its limit', 'side'),
    wholeColumn('deals_7d', `bulk and block deals of ${WEEK}`, ofDeals('deals')),
    numberColumn('deals_bought_7d_cr', `bought in deals of ${WEEK}, ₹ crore`, ofDeals('bought')),
    numberColumn('deals_sold_7d_cr', `sold in deals of ${WEEK}, ₹ crore`, ofDeals('sold')),
    numberColumn('deals_net_7d_cr', `bought less sold in deals of ${WEEK}, ₹ crore`, ofDeals('net')),
    stringColumn('next_action', 'next corporate action other than results, from the day of the run on'),
    dayColumn('next_action_day', 'ex-date of that action', 'next_day'),
    numberColumn(
      'next_dividend_inr',
      'next dividends of one day, rupees a share; NULL if the amount is not known',
      'dividend',
    ),
    dayColumn('next_dividend_day', 'ex-date of that dividend', 'dividend_day'),
    dayColumn('next_results_day', 'announced day of the next results', 'results_day'),
  ],
}

export const indicators: ScreenerGroup = {
  title: 'indicators of the provider',
  needs: ['indicators', 'pivots'],
  with: [
    `levels AS (SELECT isin, max(value) FILTER (indicator ILIKE 'RSI%') AS rsi, max(value) FILTER (indicator ILIKE 'MACD%') AS macd FROM indicators GROUP BY isin)`,
    'points AS (SELECT isin, max("pivot") AS pivot_point, max(r1) AS r1, max(s1) AS s1 FROM pivots GROUP BY isin)',
    'indicator AS (SELECT * FROM levels FULL JOIN points USING (isin))',
  ],
  alias: 'i',
  columns: [
    numberColumn('rsi_14', "the provider's RSI of 14 sessions, 0 to 100", 'rsi'),
    numberColumn('macd_inr', "the provider's MACD, rupees", 'macd'),
    numberColumn('pivot_inr', "the provider's classic pivot point, rupees", 'pivot_point'),
    numberColumn('resistance_inr', "the provider's first resistance, rupees", 'r1'),
    numberColumn('support_inr', "the provider's first support, rupees", 's1'),
  ],
}
