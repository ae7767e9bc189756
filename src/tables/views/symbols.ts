import { ISSUER_LENGTH } from '../../model/stock.js'
import { dayColumn, defineView, RUN_DAY, stringColumn } from './view.js'

const SOURCES = ['master', 'listing_dates', 'surveillance', 'fundamentals', 'deals', 'announcements']

/** The name of this view. Symbols that no list of the day has are in the variable `former`. */
export const FORMER_VIEW = 'symbol_isins'
/**
 * The type of that variable. `until`: the last day of a stock whose symbol another company has now. `name`:
 * that of the company, if no other one that had the symbol has it; `other_names`: theirs. `was`: an earlier
 * ISIN of the stock, in a row without a symbol. `is_recorded`: a symbol of a recorded list, not of a file.
 */
export const FORMER_TYPE =
  'STRUCT(symbol VARCHAR, isin VARCHAR, was VARCHAR, until DATE, name VARCHAR, other_names VARCHAR[], is_recorded BOOLEAN)[]'
const FORMER = `(SELECT unnest(list, recursive := true), generate_subscripts(list, 1) AS place FROM (SELECT CAST(getvariable('former') AS ${FORMER_TYPE}) AS list))`
const FORMER_SYMBOLS = `SELECT symbol, isin, 99 AS place FROM ${FORMER}`

/** Rows with the ISIN that their stock has now as `company`, also where their own one is earlier. */
const ofCompany = (rows: string): string =>
  `(SELECT r.*, coalesce(f.isin, r.isin) AS company FROM ${rows} AS r LEFT JOIN (SELECT DISTINCT was, isin FROM ${FORMER} WHERE was IS NOT NULL) AS f ON f.was = r.isin)`

/**
 * The files whose name was the symbol of another company on the day of the master list, and those of that
 * company, with the symbol that each had on that day. The first row of a company is its newest file.
 */
const MOVED_FILES = `(
  WITH files AS (FROM ${ofCompany(FORMER)} WHERE symbol <> '' AND NOT is_recorded),
  taken AS (SELECT m.symbol, m.company, f.company AS other FROM ${ofCompany('master')} AS m JOIN files AS f USING (symbol) WHERE f.company <> m.company)
  SELECT file, arg_min(symbol, rank) AS symbol FROM (
    SELECT file, symbol, 0 AS rank FROM taken JOIN (SELECT company, arg_min(symbol, place) AS file FROM files GROUP BY company) USING (company)
    UNION ALL SELECT symbol, symbol || '~' || other, 1 FROM taken
  ) GROUP BY file
)`

/** Rows that the name of a file names, under the symbol of its company on the day of the master list. */
export const ofFile = (table: string): string =>
  `(SELECT t.* REPLACE (coalesce(m.symbol, t.symbol) AS symbol) FROM ${table} AS t LEFT JOIN ${MOVED_FILES} AS m ON m.file = t.symbol)`

/**
 * The stocks that lost their symbol to another company, one row each: `owner` is the symbol of their candles.
 * Some have had it several times.
 */
export const FORMER_OWNERS = `(
  SELECT owner, symbol, isin, any_value(name) AS name, any_value(other_names) AS other_names, list({'since': since, 'until': until}) AS spans FROM (
    SELECT *, coalesce(lag(until) OVER (PARTITION BY symbol ORDER BY until), DATE '0001-01-01') AS since
    FROM (SELECT * REPLACE (split_part(symbol, '~', 1) AS symbol), symbol AS owner FROM ${FORMER}) WHERE until IS NOT NULL
  ) GROUP BY owner, symbol, isin
)`

/**
 * Rows that only a symbol names, under the symbol of the company that had it on their day; `owner`: the same,
 * if another one has it now.
 */
export const ofOwner = (table: string, day: string): string => ofOwnerIf(table, isOwnDay(day))

/** The same of a table with ISINs, which decide where they are known. */
export const ofIsinOwner = (table: string, day: string): string =>
  ofOwnerIf(table, `CASE ${IS_OWN_ISIN} ELSE ${isOwnDay(day)} END`)

/**
 * The same of a table with ISINs and names of companies, which decide where they are those of the master
 * list.
 */
export const ofNamedOwner = (table: string, day: string): string =>
  ofOwnerIf(
    table,
    `CASE ${IS_OWN_ISIN} WHEN t.name = o.name THEN true WHEN list_contains(o.other_names, t.name) THEN false ELSE ${isOwnDay(day)} END`,
  )

const isOwnDay = (day: string): string =>
  `coalesce(list_bool_or([t.${day} > span.since AND t.${day} <= span.until FOR span IN o.spans]), false)`

const ofOwnerIf = (table: string, isOwn: string): string =>
  `(SELECT t.* REPLACE (coalesce(owner, t.symbol) AS symbol), owner FROM ${table} AS t LEFT JOIN ${FORMER_OWNERS} AS o ON o.symbol = t.symbol AND ${isOwn})`

/**
 * Whether two ISINs have one issuer. A split gives a stock a new ISIN, and lists take it on different days.
 */
export const isSameIssuer = (one: string, other: string): string =>
  `left(${one}, ${ISSUER_LENGTH}) = left(${other}, ${ISSUER_LENGTH})`

const IS_OWN_ISIN = `WHEN t.isin <> '' THEN ${isSameIssuer('t.isin', 'o.isin')}`

/** The stock that a symbol means. If several had it, the master list decides, then the exchange's list. */
export const symbolIsins = defineView({
  name: FORMER_VIEW,
  about: 'the ISIN that each symbol means, one row each; for lists that have no ISIN',
  isShared: true,
  needs: SOURCES,
  columns: [
    stringColumn('isin', 'ISIN of the stock', 'coalesce(now.isin, o.isin)'),
    stringColumn('symbol', 'trading symbol now or earlier'),
    dayColumn('day', 'day of the run', RUN_DAY),
    stringColumn(
      'symbol_now',
      'symbol in the master list; the same one if it is not listed',
      'coalesce(now.symbol_now, symbol)',
    ),
  ],
  from: `FROM ${ofCompany(`(
    SELECT symbol, arg_min(isin, place) AS isin
    FROM (${SOURCES.map((table, place) => `SELECT symbol, isin, ${place} AS place FROM ${table}`).join(' UNION ALL ')} UNION ALL ${FORMER_SYMBOLS})
    WHERE isin <> '' AND symbol <> '' GROUP BY symbol
  )`)} AS o LEFT JOIN (SELECT company, arg_min(isin, symbol) AS isin, min(symbol) AS symbol_now FROM ${ofCompany('master')} GROUP BY company) AS now USING (company)`,
})

/** The ISIN that the stock of a row has now, as far as its symbol (`s`) says. */
export const presentIsin = (row: string, s: string): string =>
  `if(${isSameIssuer(`${row}.isin`, `${s}.isin`)}, ${s}.isin, coalesce(NULLIF(${row}.isin, ''), ${s}.isin))`

const ALL_SOURCES = [...SOURCES, 'news']

export const symbols = defineView({
  name: 'symbols',
  about: 'every symbol of an ISIN that the folder knows, one row each; a join by ISIN keeps renamed stocks',
  needs: ALL_SOURCES,
  columns: [
    stringColumn('isin', 'ISIN of the stock'),
    stringColumn('symbol', 'trading symbol now or earlier'),
    dayColumn('day', 'day of the run', RUN_DAY),
    stringColumn(
      'symbol_now',
      'symbol in the master list; NULL if the stock is not listed',
      'now.symbol_now',
    ),
    stringColumn('name', 'name of the company in the master list', 'now.name'),
    stringColumn('sources', 'tables that name this symbol with this ISIN'),
  ],
  from: `FROM (
    SELECT isin, symbol, string_agg(DISTINCT source, ', ' ORDER BY source) AS sources
    FROM (${ALL_SOURCES.map((table) => `SELECT isin, symbol, '${table}' AS source FROM ${table}`).join(' UNION ALL ')})
    WHERE isin <> '' AND symbol <> '' GROUP BY isin, symbol
  ) LEFT JOIN (SELECT isin, min(symbol) AS symbol_now, min_by(name, symbol) AS name FROM master GROUP BY isin) AS now USING (isin)`,
})
