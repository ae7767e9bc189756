export type NamedQuery = Readonly<Record<'name' | 'about' | 'sql', string>>

/** A stock that did not trade in the newest session has the prices of an older one. */
export const OF_NEWEST_SESSION = 'QUALIFY price_day = max(price_day) OVER ()'

/** Leaves out stocks with a demerger or the like since a day: the prices before it are of another company. */
const notCrossing = (since: string): string => `(crosses_action IS NULL OR crosses_action <= ${since})`

/** A name and what it answers, then the statement. */
const WORKED_TEXT = `near-highs: stocks within 5 % of their 52-week high, with more volume than usual first
SELECT symbol, close_inr, from_high_52w_pct, rvol, return_3m_pct, price_day FROM screener WHERE from_high_52w_pct > -5 ${OF_NEWEST_SESSION} ORDER BY rvol DESC, symbol LIMIT 50

breakouts: closes above the highs of the 20 sessions before, by relative volume
SELECT symbol, close_inr, change_pct, rvol, turnover_cr, breakout_50, breakout_52w, price_day FROM screener WHERE breakout_20 = 1 ${OF_NEWEST_SESSION} ORDER BY rvol DESC

narrow-ranges: the narrowest range of 7 sessions, above the average of 50 sessions
SELECT symbol, close_inr, atr_14_pct, from_sma_50_pct, inside_day, price_day FROM screener WHERE nr7 = 1 AND from_sma_50_pct > 0 ${OF_NEWEST_SESSION} ORDER BY atr_14_pct

momentum: the best returns of six months among liquid stocks, without those that a demerger or rights issue moved
SELECT symbol, sector, return_6m_pct, return_1m_pct, volatility_20_pct FROM screener WHERE turnover_avg_20_cr > 1 AND ${notCrossing('price_day - INTERVAL 6 MONTH')} ORDER BY return_6m_pct DESC NULLS LAST, symbol LIMIT 30

volume-surges: at least twice the usual volume
SELECT symbol, change_pct, rvol, turnover_cr, close_in_range_pct, price_day FROM screener WHERE rvol >= 2 ${OF_NEWEST_SESSION} ORDER BY rvol DESC

drawdowns: the deepest falls from the highest price of all, without those across a demerger or rights issue
SELECT symbol, close_inr, high_all_inr, high_all_day, from_high_all_pct FROM screener WHERE ${notCrossing('high_all_day')} ORDER BY from_high_all_pct NULLS LAST, symbol LIMIT 30

growth: sales and profit of the newest quarter at least 20 % above the year before
SELECT symbol, quarter, sales_yoy_pct, net_profit_yoy_pct, opm_change_yoy_pct, pe_ttm FROM screener WHERE sales_yoy_pct >= 20 AND net_profit_yoy_pct >= 20 ORDER BY net_profit_yoy_pct DESC

best-quarter: the highest profit of five quarters that are all known
SELECT symbol, quarter, net_profit_q0_cr, net_profit_q1_cr, net_profit_q4_cr FROM screener WHERE net_profit_q0_cr > 0 AND net_profit_q0_cr > net_profit_q1_cr AND net_profit_q0_cr > net_profit_q2_cr AND net_profit_q0_cr > net_profit_q3_cr AND net_profit_q0_cr > net_profit_q4_cr ORDER BY net_profit_q0_cr DESC

after-results: the price since the newest results, counted from the last close before they came
SELECT symbol, return_since_results_pct, results_day_return_pct, results_at, results_base_day FROM screener WHERE return_since_results_pct IS NOT NULL AND ${notCrossing('results_base_day')} ORDER BY return_since_results_pct DESC

value: a low multiple with a high return on capital
SELECT symbol, sector, pe_ttm, roce_pct, roe_pct, dividend_yield_pct FROM screener WHERE pe_ttm <= 20 AND roce_pct > 15 ORDER BY pe_ttm

holders: how the shares of promoters and institutions changed in the last quarter, the largest change first
SELECT symbol, promoter_pct, promoter_change_1q_pct, fii_change_1q_pct, dii_change_1q_pct FROM screener WHERE promoter_change_1q_pct IS NOT NULL ORDER BY abs(promoter_change_1q_pct) DESC, symbol LIMIT 50

big-deals: bulk and block deals of the last 7 days, net by stock
SELECT symbol, deals_7d, deals_bought_7d_cr, deals_sold_7d_cr, deals_net_7d_cr FROM screener WHERE deals_7d > 0 ORDER BY abs(deals_net_7d_cr) DESC

deal-clients: who bought and sold for most in the bulk and block deals of 30 days
SELECT client, count(*) AS deals, count(DISTINCT isin) AS stocks, sum(if(side = 'B', value_cr, 0)) AS bought_cr, sum(if(side = 'S', value_cr, 0)) AS sold_cr, sum(net_value_cr) AS net_cr FROM deals_valued GROUP BY client ORDER BY sum(value_cr) DESC, client LIMIT 30

watched: stocks under surveillance, with price and band
SELECT symbol, asm_stage, gsm_stage, band_pct, close_inr, return_1m_pct FROM screener WHERE asm_stage IS NOT NULL OR gsm_stage IS NOT NULL ORDER BY symbol

at-limits: stocks at a circuit limit, with the price of the list of circuits, or with a new price band
SELECT s.symbol, s.circuit, c.price, c.change_percent, s.band_before_pct, s.band_pct FROM screener AS s LEFT JOIN circuits AS c ON c.symbol = s.symbol AND c.side = s.circuit WHERE s.circuit IS NOT NULL OR s.band_before_pct IS NOT NULL ORDER BY s.symbol

calendar: corporate actions ahead, and then results, of all stocks that the provider lists
SELECT DISTINCT day, symbol, title, detail AS terms, value, unit FROM events WHERE kind = 'corporate action' AND day >= (SELECT max(day) FROM symbols) ORDER BY title LIKE '%result%', day, symbol

market-breadth: advances, declines and the share of stocks above their averages, the last 20 sessions
SELECT day, stocks, advances, declines, change_pct, above_sma50_pct, above_sma200_pct, new_highs, new_lows FROM breadth WHERE level = 'market' ORDER BY day DESC LIMIT 20

sectors: sectors and indices of the newest session by their change
SELECT day, level, name, stocks, change_pct, above_sma50_pct FROM breadth QUALIFY day = max(day) OVER (PARTITION BY level) ORDER BY level DESC, change_pct DESC NULLS LAST

monthly-returns: the return of each stock in each of the last 12 months, close to close, across splits and bonuses; the last month is not over
SELECT symbol, month, 100 * (close / lag(close) OVER (PARTITION BY symbol ORDER BY month) - 1) AS return_pct
FROM (
  SELECT symbol, CAST(date_trunc('month', day) AS DATE) AS month, max_by(close, day) AS close
  FROM candles_adjusted WHERE day >= date_trunc('month', (SELECT max(day) FROM candle_days)) - INTERVAL 12 MONTH GROUP BY ALL
) QUALIFY return_pct IS NOT NULL ORDER BY symbol, month

price-adjustments: splits and bonuses that the stored candles lack, and other actions with their factors, or why they have none
SELECT day, symbol, kind, terms, factor, is_applied, amount_inr, reason FROM adjustments ORDER BY kind = 'dividend', is_applied NULLS LAST, day DESC

universe: stocks of the NIFTY 500 by delivery against their average; as of a day with the members of that day
SELECT symbol, close_inr, change_pct, delivery_pct, delivery_avg_20_pct, delivery_x FROM screener WHERE isin IN (SELECT isin FROM index_members WHERE index = 'NIFTY 500') ORDER BY delivery_x DESC NULLS LAST, symbol LIMIT 50`

/** Worked statements: to run by name, and to start from. */
export const workedQueries: readonly NamedQuery[] = WORKED_TEXT.split('\n\n').map((text) => {
  const [, name = '', about = '', sql = ''] = /^(\S+): ([^\n]*)\n(.*)$/s.exec(text) ?? []
  return { name, about, sql }
})
