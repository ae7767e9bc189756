import { LISTING } from '../breadth.js'
import { delivery } from '../exchange.js'
import {
  dayColumn,
  defineView,
  type GroupName,
  identity as identityColumns,
  numberColumn,
  RUN_DAY,
  type ScreenerColumn,
  type ScreenerGroup,
  stringColumn,
  type View,
  wholeColumn,
} from '../view.js'
import { indicators, lists } from './lists.js'
import { latest, reaction } from './news.js'
import { history, priceGroup } from './price.js'
import { reason } from './reason.js'
import { holders, results, valuation } from './results.js'
import { sessionGroup } from './session.js'
import { knownPrices, technical } from './technical.js'

const BOARD = "CASE WHEN m.series IN ('SM', 'ST', 'SZ') THEN 'SME' WHEN m.series IS NOT NULL THEN 'main' END"

const identityGroup: ScreenerGroup = {
  title: 'identity',
  needs: ['master', 'master_data', 'fundamentals', 'listing_dates', 'bands'],
  with: [
    `facts AS (SELECT isin, max(sector) AS sector, max(json_extract_string(ratios, '$.INDUSTRY_NAME')) AS industry FROM fundamentals GROUP BY isin)`,
    LISTING,
    'figures AS (SELECT isin, max_by(COLUMNS(* EXCLUDE (isin, extra)), symbol) FROM master_data GROUP BY isin)',
    // The list of price bands has a row for each series, also for warrants.
    'band AS (SELECT b.* FROM bands AS b LEFT JOIN (SELECT symbol, max(series) AS series FROM listing_dates GROUP BY symbol) AS l USING (symbol) QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY b.series IS DISTINCT FROM l.series, b.series) = 1)',
    `identity AS (
      SELECT m.isin, m.symbol, m.name, m.fno, f.sector, f.industry, l.listed_on, l.face_value, coalesce(l.series, b.series) AS series, b.band, b.band_percent, g.*  EXCLUDE (isin)
      FROM master AS m LEFT JOIN facts AS f USING (isin) LEFT JOIN listing AS l USING (isin) LEFT JOIN figures AS g USING (isin) LEFT JOIN band AS b ON b.symbol = m.symbol
    )`,
  ],
  alias: 'm',
  columns: [
    ...identityColumns(
      dayColumn('day', 'day of the run, on a weekend without a session the Friday before', RUN_DAY),
      'm.',
    ),
    stringColumn('name', 'name of the company', 'm.name'),
    stringColumn('sector', 'as the provider names it'),
    stringColumn('industry', 'as the provider names it'),
    stringColumn(
      'series',
      'series of the security in the list of listing dates, or else of price bands, such as EQ',
    ),
    stringColumn('board', 'SME for the series SM, ST and SZ, else main', BOARD),
    { ...wholeColumn('fno', '1 where futures and options are traded on it'), title: 'F&O' },
    dayColumn('listed_on', 'first day of trading'),
    numberColumn('face_value_inr', 'face value, rupees', 'm.face_value'),
    numberColumn('market_cap_cr', 'market capitalisation in the master list, ₹ crore', 'm.market_cap'),
  ],
}

/** The groups with the name of their common table expression. */
const GROUPS = {
  price: priceGroup,
  history,
  session: sessionGroup,
  reason,
  technical,
  known: knownPrices,
  indicator: indicators,
  results,
  valuation,
  holders,
  reaction,
  lists,
  latest,
  delivery,
}
const JOINED = Object.entries(GROUPS) as readonly (readonly [name: GroupName, group: ScreenerGroup])[]

type JoinedColumn = ScreenerColumn & Required<Pick<ScreenerColumn, 'reads'>>

const SCREENER_COLUMNS: readonly JoinedColumn[] = [
  ...identityGroup.columns.map((column) => ({ ...column, reads: [] })),
  ...JOINED.flatMap(([name, { columns }]) => columns.map((column) => ({ reads: [name], ...column }))),
]

/** The screener with some of its columns. Other groups are not joined: their files are not read. */
const buildScreener = (columns: readonly JoinedColumn[]): View => {
  const joined = JOINED.filter(([name]) => columns.some(({ reads }) => reads.includes(name)))
  const groups = [identityGroup, ...joined.map(([, group]) => group)]
  return defineView({
    name: 'screener',
    about:
      'each stock of the master list on the day of the run, one row each; NULL where the history is too short or the source has nothing',
    needs: groups.flatMap(({ needs }) => needs),
    columns,
    with: [...new Set(groups.flatMap((group) => group.with))],
    from: `FROM identity AS m ${joined.map(([name, { alias }]) => `LEFT JOIN ${name} AS ${alias} ON ${alias}.isin = m.isin`).join(' ')}`,
  })
}

export const screener: View = {
  ...buildScreener(SCREENER_COLUMNS),
  narrow: (isNamed) =>
    buildScreener(SCREENER_COLUMNS.filter(({ name, reads }) => reads.length === 0 || isNamed(name))),
}
