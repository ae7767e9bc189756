import { map, type Observable, of } from 'rxjs'
import { groupBy } from '../model/map.js'
import { isRow, type Row } from '../model/row.js'
import { type Stock, toStockItems, toStocks } from '../model/stock.js'
import type { Stored } from '../model/stored.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'

/** The file of the master list that every other script uses. */
export const MASTER_MAP = 'master_isin_map.json'
/** The file of the master list as answered, with its figures. */
export const MASTER_FIGURES = 'master_data_response.json'

/** The records of a stored list; none if it is missing or unreadable. */
export const readStoredRows = (stored: Stored, file: string): Observable<readonly Row[]> =>
  stored.document(file).pipe(
    map((rows) => (Array.isArray(rows) ? rows : []).filter(isRow)),
    catchItemFailure(() => of([])),
  )

/** The stocks of a stored master list; none if it is missing or unreadable. */
export const readStoredStocks = (stored: Stored, file = MASTER_MAP): Observable<readonly Stock[]> =>
  readStoredRows(stored, file).pipe(
    map((rows) => toStocks(rows.map(({ Symbol: Sym, ISIN, Name, Sid, FnoFlag }) => ({ Sym, Isin: ISIN, DispSym: Name, Sid, FnoFlag })))),
  )

/** A listed stock with the name of its files. */
interface Listing {
  readonly stock: Stock
  readonly fileName: string
}

/** A stock that is in both lists. */
interface Pair {
  readonly before: Listing
  readonly now: Listing
}

/**
 * How a new master list affects stored files and records, one sentence per kind of change: stocks with another symbol or ISIN, files whose
 * name changes because several stocks share a symbol, stocks that are no longer listed. Independent of the order of both lists.
 */
export const listingWarnings = (before: readonly Stock[], now: readonly Stock[]): readonly string[] => {
  const [earlier, present] = [toListings(before), toListings(now)]
  const matches = matchListings(earlier, present)
  return [
    ...formatSentence(
      'renamed',
      matches.renamed.map(formatRenaming),
      'files under the old symbol stay as they are; the new symbol starts with new files',
    ),
    ...formatSentence('another ISIN', matches.reissued.map(formatReissue), 'their files continue under the symbol'),
    ...formatSentence('file names', describeFileChanges(earlier, present, matches), 'files under earlier names stay as they are'),
    ...formatSentence(
      'no longer listed',
      matches.gone.map(formatGone),
      'their own files stay; their records are removed from files over all stocks',
    ),
  ]
}

const toListings = (stocks: readonly Stock[]): readonly Listing[] =>
  toStockItems(stocks)
    .map(({ value: stock, fileName }) => ({ stock, fileName }))
    .sort((one, other) => (getKey(one) < getKey(other) ? -1 : 1))

const getKey = ({ stock }: Listing): string => `${stock.Symbol}\n${stock.ISIN}`
const getSymbol = ({ stock }: Listing): string => stock.Symbol
const getIsin = ({ stock }: Listing): string => stock.ISIN

/** How the stocks of the earlier list match those of the current one: by symbol and ISIN, else by ISIN, else by symbol. */
const matchListings = (earlier: readonly Listing[], present: readonly Listing[]) => {
  const same = findPairs(getKey, earlier, present)
  const renamed = findPairs(getIsin, ...removePairs(earlier, present, same))
  const known = [...same, ...renamed]
  const reissued = findPairs(getSymbol, ...removePairs(earlier, present, known))
  return { same, renamed, reissued, gone: removePairs(earlier, present, [...known, ...reissued])[0] }
}

/** The stocks of both lists with the same key, if exactly one stock of each list has it. */
const findPairs = (of: (listing: Listing) => string, earlier: readonly Listing[], present: readonly Listing[]): readonly Pair[] => {
  const [were, are] = [groupBy(earlier, of), groupBy(present, of)]
  return [...were].flatMap(([key, [before, otherBefore]]) => {
    const [now, otherNow] = are.get(key) ?? []
    return before && now && !otherBefore && !otherNow ? [{ before, now }] : []
  })
}

const removePairs = (
  earlier: readonly Listing[],
  present: readonly Listing[],
  pairs: readonly Pair[],
): [readonly Listing[], readonly Listing[]] => {
  const [were, are] = [new Set(pairs.map(({ before }) => before)), new Set(pairs.map(({ now }) => now))]
  return [earlier.filter((listing) => !were.has(listing)), present.filter((listing) => !are.has(listing))]
}

/** Stocks that share a symbol, whose file name changed, or whose file name belonged to another stock. */
const describeFileChanges = (
  earlier: readonly Listing[],
  present: readonly Listing[],
  { same, renamed, reissued }: ReturnType<typeof matchListings>,
): readonly string[] => {
  const sharing = groupBy(present, getSymbol)
  const owners = new Map(earlier.map((listing) => [listing.fileName, listing]))
  const matched = new Map([...same, ...reissued].map(({ before, now }) => [now, before]))
  const origins = new Map([...matched, ...renamed.map(({ before, now }) => [now, before] as const)])
  return present.flatMap((now) => {
    const before = matched.get(now)
    const owner = owners.get(now.fileName)
    const isMoved = before !== undefined && before.fileName !== now.fileName
    const isTaken = owner !== undefined && owner !== origins.get(now)
    if (!isMoved && !isTaken && sharing.get(now.stock.Symbol)?.length === 1) return []
    const was = isMoved ? `, was ${before.fileName}` : ''
    return [`${formatName(now)} is ${now.fileName}${was}${isTaken ? `, which belonged to ${formatName(owner)}` : ''}`]
  })
}

const formatName = ({ stock }: Listing): string => `${stock.Symbol} (${stock.ISIN})`
/** With the name of its files, if that is not its symbol. */
const formatLabel = ({ stock, fileName }: Listing): string =>
  fileName === stock.Symbol ? stock.Symbol : `${stock.Symbol} (files ${fileName})`
const formatGone = ({ stock, fileName }: Listing): string =>
  fileName === stock.Symbol ? formatName({ stock, fileName }) : `${stock.Symbol} (${stock.ISIN}, files ${fileName})`

const formatRenaming = ({ before, now }: Pair): string => `${formatLabel(before)} is now ${formatLabel(now)}`
const formatReissue = ({ before, now }: Pair): string => `${now.stock.Symbol} has ${now.stock.ISIN} instead of ${before.stock.ISIN}`

const MAX_SHOWN = 10

/** One sentence about several entries; it names the first ten. */
export const formatSentence = (kind: string, entries: readonly string[], consequence: string): readonly string[] => {
  if (entries.length === 0) return []
  const more = entries.length > MAX_SHOWN ? `, and ${entries.length - MAX_SHOWN} more` : ''
  return [`${kind}: ${entries.slice(0, MAX_SHOWN).join(', ')}${more}; ${consequence}`]
}
