import { numberToDay } from '../../market/candle-file.js'
import { isRow, omitUndefined, readText } from '../../model/row.js'
import type { About, Panel } from '../api/about.js'
import type { Breadth, IndexRow, ListsAnswer, MarketAnswer, Mover } from '../api/market.js'
import { describeAbout, readRunFacts } from './freshness.js'
import type { MarketFolder } from './market-folder.js'
import {
  type ListContext,
  readAnnouncements,
  readBandChanges,
  readChanges,
  readCircuits,
  readDeals,
  toAnnouncementPanel,
  toChangePanel,
  toDealPanel,
} from './market-lists.js'
import {
  countSessions,
  findNewestSession,
  findSince,
  getSession,
  readAdjustments,
  type SessionFacts,
  type SummarizedItem,
  summarizeItems,
} from './sessions.js'
import { INDICES, orderIndices, readIndices, readStockNames } from './stocks.js'

/** What the market did on the newest session. Keeps a few hundred bytes of each stock, and reads only files that changed. */
export const createMarketReader = (folder: MarketFolder): (() => Promise<MarketAnswer>) => {
  const cache: Parameters<typeof summarizeItems>[1] = new Map()
  let busy: Promise<MarketAnswer> | undefined
  const read = async (): Promise<MarketAnswer> => {
    const [facts, names, since] = await Promise.all([readRunFacts(folder), readStockNames(folder), findSince(folder)])
    const context = { folder, facts, names }
    const adjustmentsOf = await readAdjustments(folder)
    const all = await summarizeItems(folder, cache, { candles: 'ohlcv_data', items: names.items, adjustmentsOf, since })
    return { ...describePrices(context, all), indices: await describeIndices(context, cache, since) }
  }
  // Two readers of a page that is being computed wait for the same answer.
  return () => {
    busy ??= read().finally(() => (busy = undefined))
    return busy
  }
}

const describePrices = (context: ListContext, all: readonly SummarizedItem[]) => {
  const { facts, names } = context
  const session = findNewestSession(all)
  const traded = listTraded(all, session)
  const about = describeCandles(describeAbout(facts, 'all-ohlcv', { isMissing: all.length === 0 }), session, names.problem)
  const { total, ...movers } = findMovers(traded)
  const panel = (rows: readonly Mover[]): Panel<Mover> => ({ about, rows, total })
  return {
    breadth: countBreadth(traded, { about, listed: names.items.length, all }),
    gainers: panel(movers.gainers),
    losers: panel(movers.losers),
    busiest: panel(movers.busiest),
  }
}

/** Candles are about the newest session, not about the day of the run. */
const describeCandles = (about: About, session: number | undefined, problem: string | undefined): About => {
  const day = session === undefined ? undefined : numberToDay(session)
  return omitUndefined({ ...about, day, problem: problem ?? about.problem })
}

/** What the lists of the market say: circuits, surveillance, bands, deals and announcements. */
export const readMarketLists = async (folder: MarketFolder): Promise<ListsAnswer> => {
  const [facts, names] = await Promise.all([readRunFacts(folder), readStockNames(folder)])
  const context = { folder, facts, names }
  const [changes, deals, announcements] = await Promise.all([readChanges(folder), readDeals(folder), readAnnouncements(folder)])
  return {
    circuits: await readCircuits(context, changes),
    surveillance: toChangePanel(context, changes, { section: 'surveillance', stream: 'surveillance-lists' }),
    bands: toChangePanel(context, await readBandChanges(folder, changes), { section: 'bands', stream: 'complete-price-bands' }),
    deals: toDealPanel(context, deals),
    announcements: toAnnouncementPanel(context, announcements),
  }
}

const describeIndices = async (
  { folder, facts }: ListContext,
  cache: Parameters<typeof summarizeItems>[1],
  since: number,
): Promise<Panel<IndexRow>> => {
  const list = await readIndices(folder)
  const all = await summarizeItems(folder, cache, { candles: 'ohlcv_data/indices', items: list.rows, since })
  const rows = orderIndices(all.flatMap(toIndexRow))
  const listed = describeAbout(facts, INDICES, list)
  const candles = describeAbout(facts, 'indices-ohlcv', { isMissing: rows.length === 0 && list.rows.length > 0 })
  const about = listed.problem === undefined ? candles : listed
  return { about: describeCandles(about, findNewestSession(all), undefined), rows, total: list.rows.length }
}

/** A stock on the newest session. */
interface TradedStock {
  readonly symbol: string
  readonly name: string
  readonly session: SessionFacts
}

const listTraded = (all: readonly SummarizedItem[], day: number | undefined): readonly TradedStock[] =>
  all.flatMap((one) => {
    const session = getSession(one, day)
    return session === undefined ? [] : [{ symbol: one.item.key, name: nameOf(one.item.value), session }]
  })

const nameOf = (value: unknown): string => (isRow(value) ? readText(value.Name ?? value.DispSym) : '')

const CRORE = 1e7

/** Counts the stocks of a session; the figures are those of the SQL view `breadth`. */
const countBreadth = (
  traded: readonly TradedStock[],
  { about, listed, all }: { readonly about: About; readonly listed: number; readonly all: readonly SummarizedItem[] },
): Breadth => {
  const sessions = traded.map(({ session }) => session)
  const count = (test: (session: SessionFacts) => boolean | undefined): number =>
    sessions.filter((session) => test(session) === true).length
  const changes = sessions.flatMap(({ change }) => change ?? []).sort((one, other) => one - other)
  const half = changes.length / 2
  const median = ((changes[Math.ceil(half) - 1] ?? 0) + (changes[Math.floor(half)] ?? 0)) / 2
  return {
    about,
    listed,
    traded: traded.length,
    advances: count(({ change = 0 }) => change > 0),
    declines: count(({ change = 0 }) => change < 0),
    unchanged: count(({ change }) => change === 0),
    newHighs: count(({ isNewHigh }) => isNewHigh),
    newLows: count(({ isNewLow }) => isNewLow),
    ...shareOf('above50Pct', sessions, ({ isAbove50 }) => isAbove50),
    ...shareOf('above200Pct', sessions, ({ isAbove200 }) => isAbove200),
    ...(changes.length === 0 ? {} : { medianChangePct: 100 * median }),
    turnoverCr: sessions.reduce((sum, { close, volume }) => sum + close * volume, 0) / CRORE,
    sessions: countSessions(all),
  }
}

const shareOf = (name: string, sessions: readonly SessionFacts[], read: (session: SessionFacts) => boolean | undefined) => {
  const known = sessions.map(read).filter((value) => value !== undefined)
  return known.length === 0 ? {} : { [name]: (100 * known.filter(Boolean).length) / known.length }
}

const MOVERS = 12
/** A stock that trades for less moves by single orders. */
const MIN_TURNOVER_CR = 1

/** The stocks that moved most, of those with a turnover of a crore; of all if there are none. */
const findMovers = (traded: readonly TradedStock[]) => {
  const movers = traded.flatMap(toMover)
  const liquid = movers.filter(({ turnoverCr }) => turnoverCr >= MIN_TURNOVER_CR)
  const chosen = liquid.length === 0 ? movers : liquid
  const top = (weigh: (mover: Mover) => number): readonly Mover[] =>
    [...chosen].sort((one, other) => weigh(other) - weigh(one)).slice(0, MOVERS)
  return {
    gainers: top(({ changePct }) => changePct).filter(({ changePct }) => changePct > 0),
    losers: top(({ changePct }) => -changePct).filter(({ changePct }) => changePct < 0),
    busiest: top(({ volumeTimes = 0 }) => volumeTimes).filter(({ volumeTimes = 0 }) => volumeTimes > 1),
    total: chosen.length,
  }
}

const toMover = ({ symbol, name, session: { close, change, volume, volumeTimes } }: TradedStock): readonly Mover[] =>
  change === undefined
    ? []
    : [omitUndefined({ symbol, name, close, changePct: 100 * change, volume, turnoverCr: (close * volume) / CRORE, volumeTimes })]

/** An index with its newest candle. */
const toIndexRow = ({ item, summary }: SummarizedItem): readonly IndexRow[] => {
  const [newest] = summary.sessions
  if (newest === undefined) return []
  const { day, close, change } = newest
  const closes = Array.from(summary.closes, (value) => Number(value.toPrecision(6)))
  const changePct = change === undefined ? undefined : 100 * change
  return [
    omitUndefined({ key: item.fileName, symbol: item.key, name: nameOf(item.value), day: numberToDay(day), close, changePct, closes }),
  ]
}
