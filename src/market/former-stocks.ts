import { concat, EMPTY, filter, forkJoin, map, type Observable, of, switchMap, toArray } from 'rxjs'
import { groupBy } from '../model/map.js'
import { isRow, type Row, readText } from '../model/row.js'
import { haveSameIssuer, isSuccessor, type Stock, toFormerName, toStockItems } from '../model/stock.js'
import { REPORT_FILE, type Stored, toStatePath } from '../model/stored.js'
import { addDays, type Day, readDay, toDay } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import { type FormerEntry, planListings, readStoredStocks } from './listings.js'

/** The document with the stocks that left the master list, or are in it with another symbol or ISIN. */
export const FORMER_STOCKS = 'former-stocks.json'
export const FORMER_STOCKS_FILE = toStatePath(FORMER_STOCKS)

/** The entries of that document, the earliest first; none if it is missing or damaged. */
export const parseFormerStocks = (document: unknown): readonly FormerEntry[] =>
  (Array.isArray(document) ? document : []).filter(isRow).flatMap((row) => {
    const { symbol, isin, name, sid, file } = row
    const until = readDay(row.until)
    if (until === undefined || readText(symbol) === '' || readText(isin) === '') return []
    const stock = { Symbol: readText(symbol), ISIN: readText(isin), Name: readText(name), Sid: readText(sid) }
    return [{ stock, fileName: readText(file), until }]
  })

const toDocument = (former: readonly FormerEntry[]): readonly Row[] =>
  former.map(({ stock: { Symbol: symbol, ISIN: isin, Name: name, Sid: sid }, fileName: file, until }) => ({
    symbol,
    isin,
    name,
    sid,
    file,
    until,
  }))

export const readFormerStocks = (stored: Stored): Observable<readonly FormerEntry[]> =>
  stored.document(FORMER_STOCKS_FILE).pipe(
    catchItemFailure(() => of([])),
    map(parseFormerStocks),
    switchMap((known) => addFormerFiles(known, stored)),
  )

/** The candles under the name of a former stock. */
const FOLDER = 'ohlcv_data'
const FORMER_FILE = /^((.+)~([A-Z0-9]{12}))\.csv$/

/**
 * Adds the unlisted stocks with candles under the name of a former one, as far as they are not known: a
 * folder may have lost the document. The names of their companies are not known. Emits once.
 */
export const addFormerFiles = (
  known: readonly FormerEntry[],
  stored: Stored,
): Observable<readonly FormerEntry[]> => {
  const names = new Set(known.map(toFormerName))
  const readEntry = (file: string, items: ReturnType<typeof toStockItems>) => {
    const [, name = '', symbol = '', ISIN = ''] = FORMER_FILE.exec(file) ?? []
    if (name === '' || names.has(name) || items.some(({ value }) => value.ISIN === ISIN)) return EMPTY
    const fileName = items.some((item) => item.fileName === symbol) ? symbol : name
    return stored.tail(`${FOLDER}/${file}`).pipe(
      map((tail) => Number.parseInt(tail?.lines.at(-1) ?? '', 10)),
      filter((seconds) => !Number.isNaN(seconds)),
      map((seconds): FormerEntry => {
        const stock = { Symbol: symbol, ISIN, Name: '', Sid: '' }
        return { stock, fileName, until: toDay(seconds * 1_000) }
      }),
    )
  }
  return (stored.list?.(FOLDER) ?? of([])).pipe(
    map((files) => files.filter((file) => file.includes('~'))),
    switchMap((files) =>
      (files.length === 0 ? of([]) : readStoredStocks(stored)).pipe(
        map(toStockItems),
        switchMap((items) => concat(...files.map((file) => readEntry(file, items)))),
        toArray(),
      ),
    ),
    map((found) =>
      found.length === 0
        ? known
        : [...known, ...found].sort((one, other) =>
            one.until < other.until ? -1 : Number(one.until > other.until),
          ),
    ),
  )
}

/** What a new master list means for what is stored. */
interface SettledNames {
  /** See `planListings`. */
  readonly moves: ReturnType<typeof planListings>['moves']
  /** The document of former stocks; absent if it stays as it is. */
  readonly document?: readonly Row[]
  /** The ISINs that a listed stock had earlier, by its ISIN. */
  readonly earlierIsins: ReadonlyMap<string, readonly string[]>
}

/** Compares a new master list with the stored one, and with the stocks that left earlier ones. */
export const settleStocks = (
  listNow: () => readonly Stock[],
  { stored, asOf }: { readonly stored: Stored; readonly asOf: number },
): Observable<SettledNames> =>
  forkJoin([readStoredStocks(stored), readFormerStocks(stored), readListedDay(stored, asOf)]).pipe(
    map(([before, former, until]) => {
      if (before.length === 0 && former.length === 0) return { moves: [], earlierIsins: new Map() }
      const now = listNow()
      const { moves, left } = planListings(before, now, former)
      const all = addFormerStocks(
        former,
        left.map(({ stock, fileName }) => ({ stock, fileName, until })),
      )
      if (all.length === 0) return { moves, earlierIsins: new Map() }
      const find = createOwnerFinder(now, all)
      const changed = all.flatMap(({ stock }) => {
        const owner = find.present(stock)
        return owner === undefined || owner.ISIN === stock.ISIN ? [] : [{ isin: owner.ISIN, was: stock.ISIN }]
      })
      const earlierIsins = new Map(
        [...groupBy(changed, ({ isin }) => isin)].map(([isin, own]) => [
          isin,
          [...new Set(own.map(({ was }) => was))],
        ]),
      )
      return { moves, earlierIsins, ...(all !== former && { document: toDocument(all) }) }
    }),
  )

/** The `asOf` of the last run in this output folder; infinity if unknown. */
export const readLastRunInstant = (stored: Stored): Observable<number> =>
  stored.document(REPORT_FILE).pipe(
    catchItemFailure(() => of(undefined)),
    map((report) => {
      const asOf = isRow(report) ? Date.parse(readText(report.asOf)) : Number.NaN
      return Number.isNaN(asOf) ? Number.POSITIVE_INFINITY : asOf
    }),
  )

/** The day of the run that stored the list; without a report, the day before. */
const readListedDay = (stored: Stored, asOf: number): Observable<Day> =>
  readLastRunInstant(stored).pipe(map((before) => (before < asOf ? toDay(before) : addDays(toDay(asOf), -1))))

/** Adding stocks again changes nothing: a killed run does. */
const addFormerStocks = (
  former: readonly FormerEntry[],
  left: readonly FormerEntry[],
): readonly FormerEntry[] => {
  if (left.length === 0) return former
  const last = new Map(former.map((entry) => [entry.fileName, entry]))
  // A stock that comes and goes has one entry, unless another one had its name in between.
  const again = new Set(
    left.flatMap(({ fileName, stock }) => {
      const entry = last.get(fileName)
      return entry?.stock.ISIN === stock.ISIN ? [entry] : []
    }),
  )
  return [...former.filter((entry) => !again.has(entry)), ...left]
}

/** The finder for the stored lists. */
export const readOwners = (stored: Stored): Observable<OwnerFinder> =>
  readFormerStocks(stored).pipe(
    switchMap((former) =>
      (former.length === 0 ? of([]) : readStoredStocks(stored)).pipe(
        map((listed) => createOwnerFinder(listed, former)),
      ),
    ),
  )

/** The finder of `createOwnerFinder`. */
export type OwnerFinder = ReturnType<typeof createOwnerFinder>

/**
 * Finds the stock that a list means by a symbol: one that had it on a day may have another symbol now, and
 * the symbol another company. Most such lists have no ISIN; if they name the company, that decides.
 */
export const createOwnerFinder = (listed: readonly Stock[], former: readonly FormerEntry[]) => {
  const bySymbol = groupBy(listed, ({ Symbol: symbol }) => symbol)
  const bySid = groupBy(listed, ({ Sid }) => Sid)
  const byIsin = new Map(listed.map((stock) => [stock.ISIN, stock]))
  const formerBySymbol = groupBy(former, ({ stock }) => stock.Symbol)
  const formerByIsin = groupBy(former, ({ stock }) => stock.ISIN)
  /** The ISIN that a former stock has now, or had last: it may have had several, and another symbol since. */
  const lastIsin = ({ ISIN }: Pick<Stock, 'ISIN'>) => {
    const isins = new Set([ISIN])
    for (const isin of isins) {
      if (byIsin.has(isin)) return isin
      for (const entry of (formerByIsin.get(isin) ?? []).toReversed()) {
        const { stock } = entry
        const own = former.filter((one) => one.stock.Symbol === stock.Symbol || one.stock.Sid === stock.Sid)
        const later = own.slice(own.indexOf(entry) + 1).map((one) => one.stock)
        for (const one of [...(bySymbol.get(stock.Symbol) ?? []), ...(bySid.get(stock.Sid) ?? []), ...later])
          if (isSuccessor(stock, one)) isins.add(one.ISIN)
      }
    }
    return [...isins].at(-1) ?? ISIN
  }
  /** The listed stock that a former one is now, if it is listed. */
  const present = (stock: Pick<Stock, 'ISIN'>) => byIsin.get(lastIsin(stock))
  /** The symbol that it has now, or the name of its files if it is not listed. */
  const findSymbol = (symbol: string, day: Day, { name = '', isin = '' } = {}) => {
    const owners = formerBySymbol.get(symbol) ?? []
    if (owners.length === 0) return symbol
    const [now] = bySymbol.get(symbol) ?? []
    const named = [...owners.map(({ stock }) => stock), ...(now ? [now] : [])].filter(({ Name, ISIN }) =>
      isin === '' ? name !== '' && Name === name : haveSameIssuer(ISIN, isin),
    )
    const was =
      new Set(named.map(lastIsin)).size === 1
        ? owners.findLast(({ stock }) => stock === named[0])
        : (owners.find(({ until }) => day <= until) ?? (now === undefined ? owners.at(-1) : undefined))
    if (was === undefined) return symbol
    const lastOwn = lastIsin(was.stock)
    const last = owners.findLast(({ stock }) => lastIsin(stock) === lastOwn) ?? was
    const isOwner = now === undefined && last === owners.at(-1)
    return byIsin.get(lastOwn)?.Symbol ?? (isOwner ? symbol : toFormerName(last))
  }
  return { lastIsin, present, findSymbol }
}
