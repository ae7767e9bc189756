import type { Columned, Table } from '../../model/table.js'
import { actionsUnique } from './actions.js'
import { adjustments } from './adjustments.js'
import { candleAverages, indexAverages } from './averages.js'
import { breadth } from './breadth.js'
import { candleDays, candlesAdjusted, candlesKnown, rewritten } from './candles.js'
import { dealsNetted, dealsReturns, dealsValued } from './deals.js'
import { events, filingsUnique, firstSeen, newsUnique } from './events.js'
import { candlesDaily, lifetimes, membersOfIndices, sessions } from './exchange.js'
import { balanceSheet, quarters, ratios, shareholding, years } from './fundamentals.js'
import { indexPrices } from './screener/price.js'
import { screener } from './screener/screener.js'
import { symbolIsins, symbols } from './symbols.js'
import type { View } from './view.js'

export const isView = (table: Columned): table is View => 'sql' in table

/** All views; each one reads tables and views before it. */
const ALL: readonly View[] = [
  candleDays,
  symbols,
  symbolIsins,
  quarters,
  years,
  balanceSheet,
  shareholding,
  ratios,
  actionsUnique,
  adjustments,
  candlesAdjusted,
  candleAverages,
  candlesKnown,
  rewritten,
  candlesDaily,
  membersOfIndices,
  sessions,
  lifetimes,
  dealsValued,
  dealsNetted,
  dealsReturns,
  filingsUnique,
  newsUnique,
  firstSeen,
  events,
  breadth,
  indexPrices,
  indexAverages,
  screener,
]

/** The views over some tables: those whose tables are all there, and whose name no table has. */
export const listViews = (tables: readonly Table[]): readonly View[] => {
  const names = new Set(tables.map(({ name }) => name))
  return ALL.filter((view) => {
    const isUsable = !names.has(view.name) && view.needs.every((name) => names.has(name))
    if (isUsable) names.add(view.name)
    return isUsable
  })
}

/**
 * What some tables and views need, themselves included. `stored` are views whose rows are read from a file.
 */
export const addNeeded = (
  chosen: readonly Columned[],
  tables: readonly Table[],
  stored: Pick<ReadonlyMap<string, unknown>, 'has'> = new Map(),
) => {
  const views = listViews(tables).map(
    (view) => chosen.filter(isView).find(({ name }) => name === view.name) ?? view,
  )
  const names = new Set(chosen.map(({ name }) => name))
  for (const view of views.toReversed())
    if (names.has(view.name) && !stored.has(view.name)) for (const name of view.needs) names.add(name)
  return {
    tables: tables.filter(({ name }) => names.has(name)),
    views: views.filter(({ name }) => names.has(name)),
  }
}
