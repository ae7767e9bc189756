import { col, defineView, RUN_DAY } from './view.js'

const SOURCES = ['master', 'listing_dates', 'surveillance', 'fundamentals', 'deals', 'announcements']

/** The name of this view. Symbols that no list of the day has are in the variable `former`. */
export const FORMER_VIEW = 'symbol_isins'
const FORMER_SYMBOLS =
  "SELECT symbol, isin, 99 AS place FROM (SELECT unnest(CAST(getvariable('former') AS STRUCT(symbol VARCHAR, isin VARCHAR)[]), recursive := true))"

/** The stock that a symbol means. If several had it, the master list decides, then the exchange's list. */
export const symbolIsins = defineView({
  name: FORMER_VIEW,
  about: 'the ISIN that each symbol means, one row each; for lists that have no ISIN',
  isShared: true,
  needs: SOURCES,
  columns: [
    col('isin', 'VARCHAR', 'ISIN of the stock'),
    col('symbol', 'VARCHAR', 'trading symbol now or earlier'),
    col('day', 'DATE', 'day of the run', RUN_DAY),
    col(
      'symbol_now',
      'VARCHAR',
      'symbol in the master list; the same one if it is not listed',
      'coalesce(now.symbol_now, symbol)',
    ),
  ],
  from: `FROM (
    SELECT symbol, arg_min(isin, place) AS isin
    FROM (${SOURCES.map((table, place) => `SELECT symbol, isin, ${place} AS place FROM ${table}`).join(' UNION ALL ')} UNION ALL ${FORMER_SYMBOLS})
    WHERE isin <> '' AND symbol <> '' GROUP BY symbol
  ) LEFT JOIN (SELECT isin, min(symbol) AS symbol_now FROM master GROUP BY isin) AS now USING (isin)`,
})

/**
 * Whether two ISINs have one issuer. A split gives a stock a new ISIN, and lists take it on different days.
 */
export const isSameIssuer = (one: string, other: string): string => `left(${one}, 7) = left(${other}, 7)`

const ALL_SOURCES = [...SOURCES, 'news']

export const symbols = defineView({
  name: 'symbols',
  about: 'every symbol of an ISIN that the folder knows, one row each; a join by ISIN keeps renamed stocks',
  needs: ALL_SOURCES,
  columns: [
    col('isin', 'VARCHAR', 'ISIN of the stock'),
    col('symbol', 'VARCHAR', 'trading symbol now or earlier'),
    col('day', 'DATE', 'day of the run', RUN_DAY),
    col(
      'symbol_now',
      'VARCHAR',
      'symbol in the master list; NULL if the stock is not listed',
      'now.symbol_now',
    ),
    col('name', 'VARCHAR', 'name of the company in the master list', 'now.name'),
    col('sources', 'VARCHAR', 'tables that name this symbol with this ISIN'),
  ],
  from: `FROM (
    SELECT isin, symbol, string_agg(DISTINCT source, ', ' ORDER BY source) AS sources
    FROM (${ALL_SOURCES.map((table) => `SELECT isin, symbol, '${table}' AS source FROM ${table}`).join(' UNION ALL ')})
    WHERE isin <> '' AND symbol <> '' GROUP BY isin, symbol
  ) LEFT JOIN (SELECT isin, min(symbol) AS symbol_now, min_by(name, symbol) AS name FROM master GROUP BY isin) AS now USING (isin)`,
})
