import { numberToDay } from '../../market/candle-file.js'
import { omitUndefined } from '../../model/row.js'
import type { About, Panel } from '../api/about.js'
import type { IndexRow, ListsAnswer, MarketAnswer, Mover } from '../api/market.js'
import { countBreadth, findMovers, listTraded, toIndexRow } from './breadth.js'
import { describeAbout, getRunDay, readRunFacts } from './freshness.js'
import { INDICES, orderIndices, readIndices } from './known-indices.js'
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
import { findNewestSession, findSince, readAdjustments, type SummarizedItem, summarizeItems } from './sessions.js'
import { readStockNames } from './stocks.js'

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
  if (session === undefined) return omitUndefined({ ...about, day: undefined, problem: problem ?? about.problem })
  return omitUndefined({ ...about, day: numberToDay(session), problem: problem ?? about.problem })
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
    announcements: toAnnouncementPanel(context, announcements, getRunDay(facts)),
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
