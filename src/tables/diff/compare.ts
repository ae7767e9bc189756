import { groupBy } from '../../model/map.js'
import { isRow, type Row, readText } from '../../model/row.js'
import { isSameCompany, type Stock } from '../../model/stock.js'
import type { Day } from '../../model/trading-day.js'
import type { Change } from './change.js'
import type { DocumentKind, ListKind } from './kinds.js'

export interface ListVersions {
  readonly before: readonly Row[]
  readonly after: readonly Row[]
}

/**
 * The rows that were added and changed, in their order, then those that were removed. A row that is there
 * twice counts once. `told`: what the section has told already; what is told is added.
 */
export const compareLists = (
  { section, expand = (row) => [row], key, symbol, watch = [], subject, dayOf, words }: ListKind,
  { before, after }: ListVersions,
  { beforeDay, told = new Set() }: { readonly beforeDay?: Day | undefined; readonly told?: Set<string> } = {},
): readonly Change[] => {
  const toMap = (rows: readonly Row[]): ReadonlyMap<string, Row> =>
    new Map(rows.flatMap(expand).map((row) => [key(row), row]))
  const [old, now] = [toMap(before), toMap(after)]
  const toText = (value: unknown): string => (isRow(value) ? JSON.stringify(value) : readText(value))
  const isChanged = (row: Row, earlier: Row): boolean =>
    watch.some((field) => toText(row[field]) !== toText(earlier[field]))
  const find = (id: string, row: Row) => {
    const earlier = old.get(id)
    if (earlier !== undefined) return isChanged(row, earlier) ? (words.changed?.(row, earlier) ?? []) : []
    return words.added === undefined || (dayOf && dayOf(row) === beforeDay) ? [] : [words.added(row)]
  }
  const name = (row: Row, all: ReturnType<typeof find>): readonly Change[] => {
    const about = subject?.(row)
    if (all.length === 0 || (about !== undefined && told.has(about))) return []
    if (about !== undefined) told.add(about)
    return all.map(({ change, ...more }) => ({ section, change, symbol: readText(row[symbol]), ...more }))
  }
  return [
    ...[...now].flatMap(([id, row]) => name(row, find(id, row))),
    ...[...old].flatMap(([id, row]) =>
      words.removed === undefined || now.has(id) ? [] : name(row, [words.removed(row)]),
    ),
  ]
}

const MAX_TITLES = 2
const MAX_LINKS = 5

/** One change for the new documents of a stock, with the titles of the newest, which are first. */
export const compareDocuments = (
  { section, key, title, url }: DocumentKind,
  symbol: string,
  { before, after }: ListVersions,
): readonly Change[] => {
  const old = new Set(before.map(key))
  const urlOf = (row: Row): string => (url === undefined ? '' : readText(row[url]))
  // The provider lists some documents twice, once without an id.
  const fresh = [
    ...new Map(
      after.filter((row) => !old.has(key(row))).map((row) => [urlOf(row) || key(row), row]),
    ).values(),
  ]
  if (fresh.length === 0) return []
  const documents = fresh
    .map((row) => ({ title: title(row), url: urlOf(row) }))
    .filter((one) => /^https?:/.test(one.url))
  const detail = `${fresh.length} new: ${fresh.slice(0, MAX_TITLES).map(title).join('; ')}${fresh.length > MAX_TITLES ? '; …' : ''}`
  const links = documents.length === 0 ? {} : { documents: documents.slice(0, MAX_LINKS) }
  return [{ section, change: 'new', symbol, count: fresh.length, ...links, detail }]
}

/**
 * Stocks that are new, back (the ISINs `returned`) or have left, and stocks with another symbol for their
 * ISIN or another ISIN for their symbol.
 */
export const compareStocks = (
  before: readonly Stock[],
  after: readonly Stock[],
  returned: ReadonlySet<string> = new Set(),
): readonly Change[] => {
  const [old, now] = [indexListings(before), indexListings(after)]
  const changes = after.flatMap((stock): readonly Change[] => {
    const { Symbol: symbol, ISIN, Name } = stock
    if (old.pairs.has(`${symbol} ${ISIN}`)) return []
    const renamed = old.byIsin.get(ISIN)?.find((earlier) => !now.pairs.has(`${earlier.Symbol} ${ISIN}`))
    if (renamed)
      return [
        {
          section: 'renames',
          change: 'renamed',
          symbol,
          from: renamed.Symbol,
          to: symbol,
          detail: `was ${renamed.Symbol} (${ISIN})`,
        },
      ]
    const other = old.bySymbol
      .get(symbol)
      ?.find((earlier) => !now.byIsin.has(earlier.ISIN) && isSameCompany(earlier, stock))
    if (other) {
      const detail = `has the ISIN ${ISIN}, which was ${other.ISIN}`
      return [{ section: 'renames', change: 'changed', symbol, from: other.ISIN, to: ISIN, detail }]
    }
    const change = returned.has(ISIN) ? 'back' : 'new'
    return [{ section: 'listings', change, symbol, to: ISIN, detail: `${Name} (${ISIN}) is ${change}` }]
  })
  const left = before
    .filter(
      (stock) =>
        !now.byIsin.has(stock.ISIN) &&
        !now.bySymbol.get(stock.Symbol)?.some((present) => isSameCompany(stock, present)),
    )
    .map(({ Symbol: symbol, ISIN, Name }): Change => {
      const detail = `${Name} (${ISIN}) is no longer listed`
      return { section: 'listings', change: 'left', symbol, from: ISIN, detail }
    })
  return [...changes, ...left]
}

const indexListings = (stocks: readonly Stock[]) => ({
  byIsin: groupBy(stocks, ({ ISIN }) => ISIN),
  bySymbol: groupBy(stocks, ({ Symbol: symbol }) => symbol),
  pairs: new Set(stocks.map(({ Symbol: symbol, ISIN }) => `${symbol} ${ISIN}`)),
})

const SYMBOL_FIELDS = ['Symbol', 'Sym', 'sym'] as const

/**
 * Gives a row of an earlier list the present symbol and ISIN of its stock: a rename is a change of the stock,
 * not of its rows.
 */
export const createRenaming = (changes: readonly Change[], after: readonly Stock[]): ((row: Row) => Row) => {
  const stocks = new Map(after.map((stock) => [stock.Symbol, stock]))
  const present = new Map(
    changes.flatMap(({ section, symbol, from = '' }) => {
      const now = section === 'renames' ? stocks.get(symbol) : undefined
      return now === undefined ? [] : [from, now.ISIN].map((name) => [name, now] as const)
    }),
  )
  if (present.size === 0) return (row) => row
  return (row) => {
    const symbol = SYMBOL_FIELDS.find((field) => row[field] !== undefined)
    const name = row.ISIN ?? (symbol && row[symbol])
    const now = present.get(readText(name))
    return now
      ? {
          ...row,
          ...(symbol ? { [symbol]: now.Symbol } : {}),
          ...(row.ISIN === undefined ? {} : { ISIN: now.ISIN }),
        }
      : row
  }
}
