import { type Row, readText } from '../../model/row.js'
import type { Stock } from '../../model/stock.js'
import type { Finding } from './finding.js'

/** The listed stocks, by symbol and by ISIN. */
export interface StockIndex {
  readonly bySymbol: ReadonlyMap<string, Stock>
  readonly byIsin: ReadonlyMap<string, Stock>
}

export const createStockIndex = (stocks: readonly Stock[]): StockIndex => ({
  bySymbol: new Map(stocks.map((stock) => [stock.Symbol, stock])),
  byIsin: new Map(stocks.map((stock) => [stock.ISIN, stock])),
})

const MAX_STRAYS_SHOWN = 3

/** Finds records, in a file over all stocks, whose symbol and ISIN do not match a listed stock. One finding per file. */
export const findStrayRecords = (file: string, records: Iterable<Row>, { bySymbol, byIsin }: StockIndex): readonly Finding[] => {
  const strays = new Set<string>()
  let count = 0
  for (const record of records) {
    const symbol = readText(record.Symbol)
    const isin = readText(record.ISIN)
    if (byIsin.get(isin)?.Symbol === symbol || bySymbol.get(symbol)?.ISIN === isin) continue
    count += 1
    strays.add(`${symbol} (${isin})`)
  }
  return createStrayFinding(file, { count, strays, severity: 'warning' })
}

/** Finds rows of a market-wide list that name no listed stock. Such lists may name more than stocks, so the severity is `info`. */
export const findStrayRows = (
  file: string,
  rows: readonly Row[],
  { bySymbol, byIsin }: StockIndex,
  exchange: string,
): readonly Finding[] => {
  const strays = new Set<string>()
  let count = 0
  for (const row of rows) {
    const symbol = readText(row.Symbol ?? row.sym)
    const isin = readText(row.ISIN ?? row.isin)
    const isOurs = row.exch === undefined || readText(row.exch) === exchange
    if (!isOurs || bySymbol.has(symbol) || byIsin.has(isin)) continue
    count += 1
    strays.add(symbol)
  }
  return createStrayFinding(file, { count, strays, severity: 'info' })
}

const createStrayFinding = (
  file: string,
  { count, strays, severity }: { count: number; strays: ReadonlySet<string>; severity: Finding['severity'] },
): readonly Finding[] => {
  if (count === 0) return []
  const named = [...strays].slice(0, MAX_STRAYS_SHOWN).join(', ')
  const more = strays.size > MAX_STRAYS_SHOWN ? ` and ${strays.size - MAX_STRAYS_SHOWN} more` : ''
  const detail = `${count} ${count === 1 ? 'record names a stock' : 'records name stocks'} that the master list does not have: ${named}${more}`
  return [{ check: 'stray-records', severity, file, detail }]
}

/** Checks that a stock's own file names no other stock. */
export const findStrayDocument = (file: string, document: unknown, { Symbol: symbol, ISIN }: Stock): readonly Finding[] => {
  const { ISIN: named, data } = (document ?? {}) as { readonly ISIN?: unknown; readonly data?: unknown }
  const others = [named, ...(Array.isArray(data) ? data.map((row: Row | null) => row?.isin) : [])].map(readText)
  const other = others.find((isin) => isin !== '' && isin !== ISIN)
  if (other === undefined) return []
  return [{ check: 'stray-records', severity: 'error', symbol, file, detail: `it has records of ${other}, not of ${symbol} (${ISIN})` }]
}
