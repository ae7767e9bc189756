/** A statement with a name. */
export interface NamedQuery {
  readonly name: string
  /** What it answers. */
  readonly about: string
  readonly sql: string
}

const query = (name: string, about: string, sql: string): NamedQuery => ({ name, about, sql })

/** Worked statements: to run by name, and to start from. */
export const workedQueries: readonly NamedQuery[] = [
  query(
    'near-highs',
    'stocks within 5 % of their 52-week high, with more volume than usual first',
    'SELECT symbol, close_inr, from_high_52w_pct, rvol, return_3m_pct FROM screener WHERE from_high_52w_pct > -5 ORDER BY rvol DESC, symbol LIMIT 50',
  ),
  query(
    'breakouts',
    'closes above the highs of the 20 sessions before, by relative volume',
    'SELECT symbol, close_inr, change_pct, rvol, turnover_cr, breakout_50, breakout_52w FROM screener WHERE breakout_20 = 1 ORDER BY rvol DESC',
  ),
  query(
    'narrow-ranges',
    'the narrowest range of 7 sessions, above the average of 50 sessions',
    'SELECT symbol, close_inr, atr_14_pct, from_sma_50_pct, inside_day FROM screener WHERE nr7 = 1 AND from_sma_50_pct > 0 ORDER BY atr_14_pct',
  ),
  query(
    'momentum',
    'the best returns of six months among liquid stocks',
    'SELECT symbol, sector, return_6m_pct, return_1m_pct, volatility_20_pct FROM screener WHERE turnover_avg_20_cr > 1 ORDER BY return_6m_pct DESC NULLS LAST, symbol LIMIT 30',
  ),
  query(
    'volume-surges',
    'at least twice the usual volume',
    'SELECT symbol, change_pct, rvol, turnover_cr, close_in_range_pct FROM screener WHERE rvol >= 2 ORDER BY rvol DESC',
  ),
  query(
    'drawdowns',
    'the deepest falls from the highest price of all',
    'SELECT symbol, close_inr, high_all_inr, high_all_day, from_high_all_pct FROM screener ORDER BY from_high_all_pct NULLS LAST, symbol LIMIT 30',
  ),
  query(
    'growth',
    'sales and profit of the newest quarter at least 20 % above the year before',
    'SELECT symbol, quarter, sales_yoy_pct, net_profit_yoy_pct, opm_change_yoy_pct, pe FROM screener WHERE sales_yoy_pct >= 20 AND net_profit_yoy_pct >= 20 ORDER BY net_profit_yoy_pct DESC',
  ),
  query(
    'best-quarter',
    'the highest profit of five quarters',
    'SELECT symbol, quarter, net_profit_q0_cr, net_profit_q1_cr, net_profit_q4_cr FROM screener WHERE net_profit_q0_cr > greatest(net_profit_q1_cr, net_profit_q2_cr, net_profit_q3_cr, net_profit_q4_cr) ORDER BY net_profit_q0_cr DESC',
  ),
  query(
    'after-results',
    'the price since the newest results, counted from the last close before they came',
    'SELECT symbol, results_at, results_base_day, results_day_return_pct, return_since_results_pct FROM screener WHERE return_since_results_pct IS NOT NULL ORDER BY return_since_results_pct DESC',
  ),
  query(
    'value',
    'a low multiple with a high return on capital',
    'SELECT symbol, sector, pe, roce_pct, roe_pct, dividend_yield_pct FROM screener WHERE pe BETWEEN 0 AND 20 AND roce_pct > 15 ORDER BY pe',
  ),
  query(
    'holders',
    'whose share of the company changed in the last quarter',
    'SELECT symbol, promoter_pct, promoter_change_1q_pct, fii_change_1q_pct, dii_change_1q_pct FROM screener WHERE promoter_pct IS NOT NULL ORDER BY abs(promoter_change_1q_pct) DESC, symbol LIMIT 50',
  ),
  query(
    'big-deals',
    'bulk and block deals of the last 7 days, net by stock',
    'SELECT symbol, deals_7d, deals_bought_7d_cr, deals_sold_7d_cr, deals_net_7d_cr FROM screener WHERE deals_7d > 0 ORDER BY abs(deals_net_7d_cr) DESC',
  ),
  query(
    'deal-clients',
    'who bought and sold for most in bulk and block deals',
    'SELECT client, count(*) AS deals, count(DISTINCT isin) AS stocks, sum(net_value_cr) AS net_cr FROM deals_valued GROUP BY client ORDER BY abs(net_cr) DESC, client LIMIT 30',
  ),
  query(
    'watched',
    'stocks under surveillance, with price and band',
    'SELECT symbol, asm_stage, gsm_stage, band_pct, close_inr, return_1m_pct FROM screener WHERE asm_stage IS NOT NULL OR gsm_stage IS NOT NULL ORDER BY symbol',
  ),
  query(
    'at-limits',
    'stocks at a circuit limit, or with a new price band',
    'SELECT symbol, circuit, band_before_pct, band_pct, change_pct, rvol FROM screener WHERE circuit IS NOT NULL OR band_before_pct IS NOT NULL ORDER BY symbol',
  ),
  query(
    'calendar',
    'corporate actions and results ahead',
    "SELECT DISTINCT e.day, e.symbol, e.title, e.value, e.unit FROM events AS e WHERE e.kind = 'corporate action' AND e.day >= (SELECT max(day) FROM screener) ORDER BY e.day, e.symbol",
  ),
  query(
    'breadth',
    'advances, declines and the share of stocks above their averages, the last 20 sessions',
    "SELECT day, advances, declines, change_pct, above_sma50_pct, above_sma200_pct, new_highs, new_lows FROM breadth WHERE level = 'market' ORDER BY day DESC LIMIT 20",
  ),
  query(
    'sectors',
    'sectors and indices of the newest session by their change',
    'SELECT level, name, stocks, change_pct, above_sma50_pct FROM breadth WHERE day = (SELECT max(day) FROM breadth) ORDER BY level DESC, change_pct DESC NULLS LAST',
  ),
  query(
    'monthly-returns',
    'the return of each stock by month, across splits and bonuses, in the last year',
    `SELECT symbol, date_trunc('month', day) AS month, 100 * (max_by(close, day) / min_by(open, day) - 1) AS return_pct
FROM candles_adjusted WHERE day > (SELECT max(day) FROM candle_days) - INTERVAL 1 YEAR GROUP BY ALL ORDER BY symbol, month`,
  ),
  query(
    'adjustments',
    'splits and bonuses that the stored candles lack, and other actions with their factors',
    'SELECT day, symbol, kind, terms, factor, is_applied, amount_inr FROM adjustments ORDER BY is_applied NULLS LAST, day DESC',
  ),
]
