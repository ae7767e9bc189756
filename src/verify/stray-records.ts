import { createOwnerFinder } from '../market/former-stocks.js'
import type { FormerEntry } from '../market/listings.js'
import { formatQuantity, nameFirst } from '../model/format.js'
import type { Item } from '../model/outcome.js'
import { type Row, readText } from '../model/row.js'
import { haveSameIssuer, type Stock } from '../model/stock.js'
import type { Finding } from './finding.js'

export type StockIndex = ReturnType<typeof createStockIndex>

/** The listed stocks, and those that left the list. */
export const createStockIndex = (stocks: readonly Stock[], former: readonly FormerEntry[] = []) => ({
  bySymbol: new Map(stocks.map((stock) => [stock.Symbol, stock])),
  byIsin: new Map(stocks.map((stock) => [stock.ISIN, stock])),
  former,
  owners: createOwnerFinder(stocks, former),
})

/**
 * Finds records, in a file over all stocks, whose symbol and ISIN do not match a listed stock. One finding
 * per file.
 */
export const findStrayRecords = (
  file: string,
  records: readonly Row[],
  { bySymbol, byIsin }: StockIndex,
): readonly Finding[] => {
  const strays = records
    .map((record) => ({ symbol: readText(record.Symbol), isin: readText(record.ISIN) }))
    .filter(({ symbol, isin }) => byIsin.get(isin)?.Symbol !== symbol && bySymbol.get(symbol)?.ISIN !== isin)
    .map(({ symbol, isin }) => `${symbol} (${isin})`)
  return createStrayFinding(file, strays, 'warning')
}

/**
 * Finds rows of a market-wide list that name no listed stock. Such lists may name more than stocks, so the
 * severity is `info`.
 */
export const findStrayRows = (
  file: string,
  rows: readonly Row[],
  { bySymbol, byIsin }: StockIndex,
  exchange: string,
): readonly Finding[] => {
  const strays = rows
    .filter(({ exch }) => exch === undefined || readText(exch) === exchange)
    .map((row) => ({ symbol: readText(row.Symbol ?? row.sym), isin: readText(row.ISIN ?? row.isin) }))
    .filter(({ symbol, isin }) => !bySymbol.has(symbol) && !byIsin.has(isin))
    .map(({ symbol }) => symbol)
  return createStrayFinding(file, strays, 'info')
}

const createStrayFinding = (
  file: string,
  strays: readonly string[],
  severity: Finding['severity'],
): readonly Finding[] => {
  const count = strays.length
  if (count === 0) return []
  const names = nameFirst([...new Set(strays)])
  const detail = `${formatQuantity(count, 'record names a stock', 'records name stocks')} that the master list does not have: ${names}`
  return [{ check: 'stray-records', severity, file, detail }]
}

/**
 * Checks that a stock's own file names no other company: the ISIN of a stock changes with its face value, and
 * one with another issuer may be an earlier one of the same security.
 */
export const findStrayDocument = (
  file: string,
  document: unknown,
  { value }: Item,
  { owners }: StockIndex,
): readonly Finding[] => {
  const { Symbol: symbol, ISIN } = value as Stock
  const { ISIN: named, data } = (document ?? {}) as { readonly ISIN?: unknown; readonly data?: unknown }
  const others = [named, ...(Array.isArray(data) ? data.map((row: Row | null) => row?.isin) : [])].map(
    readText,
  )
  const other = others.find(
    (isin) => isin !== '' && !haveSameIssuer(isin, ISIN) && owners.present({ ISIN: isin })?.ISIN !== ISIN,
  )
  if (other === undefined) return []
  return [
    {
      check: 'stray-records',
      severity: 'error',
      symbol,
      file,
      detail: `it has records of ${other}, not of ${symbol} (${ISIN})`,
    },
  ]
}

/**
 * Finds stocks whose files continue those of another issuer, because the security id stayed: if that is a
 * mistake of the list, they are of two companies.
 */
export const findOtherIssuers = ({ former, owners }: StockIndex): readonly Finding[] =>
  former.flatMap(({ stock: was, until }): readonly Finding[] => {
    const now = owners.present(was)
    if (now === undefined || now.Symbol !== was.Symbol || haveSameIssuer(now.ISIN, was.ISIN)) return []
    const detail = `its ISIN is ${now.ISIN}, and was ${was.ISIN} of another issuer until ${until}; the security id ${now.Sid} stayed, so its files continue as those of one company`
    return [{ check: 'stray-records', severity: 'warning', symbol: now.Symbol, detail }]
  })
