import { col, identity as identityColumns, RUN_DAY } from '../view.js'
import type { ScreenerGroup } from './group.js'

export const identity: ScreenerGroup = {
  title: 'identity',
  needs: ['master', 'master_data', 'fundamentals', 'listing_dates', 'bands'],
  with: [
    `facts AS (SELECT isin, max(sector) AS sector, max(json_extract_string(ratios, '$.INDUSTRY_NAME')) AS industry FROM fundamentals GROUP BY isin)`,
    'listing AS (SELECT isin, min(listed_on) AS listed_on, max(series) AS series, max(face_value) AS face_value FROM listing_dates GROUP BY isin)',
    'figures AS (SELECT isin, max_by(COLUMNS(* EXCLUDE (isin, extra)), symbol) FROM master_data GROUP BY isin)',
    'band AS (SELECT symbol, max(series) AS series, max(band_percent) AS band_percent, max(band) AS band FROM bands GROUP BY symbol)',
    `identity AS (
      SELECT m.isin, m.symbol, m.name, m.fno, f.sector, f.industry, l.listed_on, l.face_value, coalesce(l.series, b.series) AS series, b.band, b.band_percent, g.*  EXCLUDE (isin)
      FROM master AS m LEFT JOIN facts AS f USING (isin) LEFT JOIN listing AS l USING (isin) LEFT JOIN figures AS g USING (isin) LEFT JOIN band AS b ON b.symbol = m.symbol
    )`,
  ],
  alias: 'm',
  columns: [
    ...identityColumns(col('day', 'DATE', 'day of the run, on a weekend the Friday before', RUN_DAY), 'm.'),
    col('name', 'VARCHAR', 'name of the company', 'm.name'),
    col('sector', 'VARCHAR', 'as the provider names it'),
    col('industry', 'VARCHAR', 'as the provider names it'),
    col('series', 'VARCHAR', 'series of the security, such as EQ'),
    col(
      'board',
      'VARCHAR',
      'SME for the series SM, ST and SZ, else main',
      "CASE WHEN m.series IN ('SM', 'ST', 'SZ') THEN 'SME' WHEN m.series IS NOT NULL THEN 'main' END",
    ),
    col('fno', 'BIGINT', '1 where futures and options are traded on it'),
    col('listed_on', 'DATE', 'first day of trading'),
    col('face_value_inr', 'DOUBLE', 'face value, rupees', 'm.face_value'),
    col('market_cap_cr', 'DOUBLE', 'market capitalisation, crore rupees', 'm.market_cap'),
  ],
}
