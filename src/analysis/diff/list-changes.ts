import { groupBy } from '../../model/map.js'
import { isRow, type Row, readText } from '../../model/row.js'
import type { Stock } from '../../model/stock.js'
import type { Day } from '../../model/trading-day.js'
import type { Change } from './change.js'

/** The rows of a list before the last run and now. */
export interface ListVersions {
  readonly before: readonly Row[]
  readonly after: readonly Row[]
}

/** Stocks that came under surveillance, left it, or changed their stage. `list` is a name such as ASM. */
export const findSurveillanceChanges = (list: string, { before, after }: ListVersions): readonly Change[] => {
  const old = new Map(before.map((row) => [toStockKey(row), readText(row.Stage)]))
  const now = new Set(after.map(toStockKey))
  const create = (row: Row, change: Change['change'], values: Pick<Change, 'from' | 'to' | 'detail'>): Change => ({
    section: 'surveillance',
    change,
    symbol: readText(row.Symbol),
    ...values,
  })
  const entered = after.flatMap((row): readonly Change[] => {
    const [from, to] = [old.get(toStockKey(row)), readText(row.Stage)]
    if (from === undefined) return [create(row, 'entered', { to, detail: `is in ${list} now: ${to}` })]
    return from === to ? [] : [create(row, 'changed', { from, to, detail: `moves in ${list} from ${from} to ${to}` })]
  })
  const left = before.filter((row) => !now.has(toStockKey(row)))
  return [
    ...entered,
    ...left.map((row) =>
      create(row, 'left', { from: readText(row.Stage), detail: `left ${list}, where it was in ${readText(row.Stage)}` }),
    ),
  ]
}

const toStockKey = (row: Row): string => readText(row.ISIN) || readText(row.Symbol)

/** Bands that changed in the list of all bands, and changes that only the exchange's own list of changes has. */
export const findBandChanges = (complete: ListVersions, announced: ListVersions): readonly Change[] => {
  const old = new Map(complete.before.map((row) => [toSecurityKey(row), readText(row.Band)]))
  const seen = complete.after.flatMap((row) => {
    const [from, to] = [old.get(toSecurityKey(row)), readText(row.Band)]
    return from === undefined || from === to ? [] : [{ key: toSecurityKey(row), change: createBandChange(row, from, to) }]
  })
  const known = new Set([...seen.map(({ key }) => key), ...announced.before.map(toAnnouncementKey)])
  const only = announced.after.filter((row) => !known.has(toSecurityKey(row)) && !known.has(toAnnouncementKey(row)))
  return [...seen.map(({ change }) => change), ...only.map((row) => createBandChange(row, readText(row.From), readText(row.To)))]
}

const toSecurityKey = (row: Row): string => `${readText(row.Symbol)} ${readText(row.Series)}`
const toAnnouncementKey = (row: Row): string => `${toSecurityKey(row)} ${readText(row.From)} ${readText(row.To)}`

const createBandChange = (row: Row, from: string, to: string): Change => {
  const series = readText(row.Series)
  const named = (band: string): string => (/^[\d.]+$/.test(band) ? `${band} %` : band.toLowerCase())
  const detail = `from ${named(from)} to ${named(to)}${series === 'EQ' ? '' : ` (series ${series})`}`
  return { section: 'bands', change: 'changed', symbol: readText(row.Symbol), from, to, detail }
}

/** Stocks that reached the upper or lower limit, or left it. */
export const findCircuitChanges = (side: string, { before, after }: ListVersions): readonly Change[] => {
  const [old, now] = [getSymbols(before), getSymbols(after)]
  const changed = (change: 'entered' | 'left', symbol: string): Change => {
    const detail = change === 'entered' ? `is at its ${side} limit` : `left its ${side} limit`
    return { section: 'circuits', change, symbol, detail }
  }
  return [
    ...[...now].filter((symbol) => !old.has(symbol)).map((symbol) => changed('entered', symbol)),
    ...[...old].filter((symbol) => !now.has(symbol)).map((symbol) => changed('left', symbol)),
  ]
}

const getSymbols = (rows: readonly Row[]): ReadonlySet<string> => new Set(rows.map(({ Symbol: symbol }) => readText(symbol)))

/** New deals. Deals that are gone do not count: the list covers the last 30 days. */
export const findNewDeals = ({ before, after }: ListVersions): readonly Change[] => {
  const keyOf = ({ sym, date, qty, avgprice, bs, cname }: Row): string => JSON.stringify([sym, date, qty, avgprice, bs, cname])
  const old = new Set(before.map(keyOf))
  return after
    .filter((row) => !old.has(keyOf(row)))
    .map((row) => {
      const side = readText(row.bs) === 'S' ? 'sold' : 'bought'
      const kind = readText(row.deal).toLowerCase()
      const detail = `${readText(row.cname)} ${side} ${readText(row.qty).replace(LAKHS, ',')} at ${readText(row.avgprice)} on ${readText(row.date).slice(0, 10)}${` (${[kind, toCrore(row)].filter((part) => part !== '').join(', ')})`.replace(' ()', '')}`
      return { section: 'deals', change: 'new', symbol: readText(row.sym), detail }
    })
}

/** `12,34,567`; without `Intl`, which takes 11 ms to load. */
const LAKHS = /\B(?=(?:\d\d)*\d{3}$)/g

/** `7.88 crore`: the value of a deal. */
const toCrore = ({ qty, avgprice }: Row): string => {
  const value = (Number(qty) * Number(avgprice)) / 1e7
  return value >= 0.005 ? `${value.toFixed(value < 10 ? 2 : 0)} crore` : ''
}

/**
 * Actions that were in neither list (upcoming, history) before. On its own day an action is in neither list: one of the day of the earlier
 * lists was upcoming before.
 */
export const findNewActions = ({ before, after }: ListVersions, beforeDay?: Day): readonly Change[] => {
  const old = new Set(before.flatMap(toActions).map(({ key }) => key))
  const now = new Map(after.flatMap(toActions).map((action) => [action.key, action]))
  return [...now.values()]
    .filter(({ key, on }) => !old.has(key) && on !== beforeDay)
    .map(({ symbol, detail }) => ({ section: 'actions', change: 'new', symbol, detail }))
}

const toActions = (row: Row) =>
  [row.CorpAct]
    .flat()
    .filter(isRow)
    .map(({ ActType, ExDate, RecDate, ActDate, Note }) => {
      const [symbol, on] = [readText(row.Sym), readText(ExDate) || readText(RecDate) || readText(ActDate)]
      const note = readText(Note)
      const detail = `${readText(ActType).toLowerCase()}${note === '' || note === 'NA' ? '' : ` of ${note}`} on ${on}`
      return { key: `${symbol}\n${detail}`, symbol, detail, on }
    })

/** Stocks that are new, back (the ISINs `returned`) or have left, and stocks with another symbol for their ISIN or another ISIN for their symbol. */
export const findListingChanges = (
  before: readonly Stock[],
  after: readonly Stock[],
  returned: ReadonlySet<string> = new Set(),
): readonly Change[] => {
  const [old, now] = [groupStocks(before), groupStocks(after)]
  const changes = after.flatMap((stock): Change[] => {
    const { Symbol: symbol, ISIN, Name } = stock
    const sameIsin = old.byIsin.get(ISIN)
    if (sameIsin?.some((earlier) => earlier.Symbol === symbol)) return []
    const [renamed] = sameIsin?.filter((earlier) => !isStillThere(earlier, now)) ?? []
    if (renamed) {
      const detail = `was ${renamed.Symbol} (${ISIN})`
      return [{ section: 'renames', change: 'renamed', symbol, from: renamed.Symbol, to: symbol, detail }]
    }
    const [other] = old.bySymbol.get(symbol)?.filter((earlier) => !now.byIsin.has(earlier.ISIN)) ?? []
    if (other) {
      const detail = `has the ISIN ${ISIN}, which was ${other.ISIN}`
      return [{ section: 'renames', change: 'changed', symbol, from: other.ISIN, to: ISIN, detail }]
    }
    const change = returned.has(ISIN) ? 'back' : 'new'
    return [{ section: 'listings', change, symbol, to: ISIN, detail: `${Name} (${ISIN}) is ${change}` }]
  })
  const left = before
    .filter(({ Symbol: symbol, ISIN }) => !now.byIsin.has(ISIN) && !now.bySymbol.has(symbol))
    .map(({ Symbol: symbol, ISIN, Name }): Change => {
      const detail = `${Name} (${ISIN}) is no longer listed`
      return { section: 'listings', change: 'left', symbol, from: ISIN, detail }
    })
  return [...changes, ...left]
}

const groupStocks = (stocks: readonly Stock[]) => ({
  byIsin: groupBy(stocks, ({ ISIN }) => ISIN),
  bySymbol: groupBy(stocks, ({ Symbol: symbol }) => symbol),
})

const isStillThere = ({ Symbol: symbol, ISIN }: Stock, { byIsin }: Pick<ReturnType<typeof groupStocks>, 'byIsin'>): boolean =>
  byIsin.get(ISIN)?.some((stock) => stock.Symbol === symbol) ?? false
