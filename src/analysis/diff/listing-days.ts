import type { Day } from '../../model/trading-day.js'
import { chooseEachDay } from '../../storage/history/choose.js'
import { createListReader } from '../../storage/history/lists.js'
import { type History, leaveOutDamaged, type Warn } from '../../storage/history/record.js'
import type { Change } from './change.js'

/** The symbols and ISINs of the master list of a day; undefined without a record of it. */
type ReadListed = (day: Day) => Promise<ReadonlySet<string> | undefined>

const isOfListing = ({ section }: Change): boolean => section === 'listings' || section === 'renames'

/** Adds the day to changes of the master list: the first recorded one from which on the stock is as it is at the end. */
export const addListingDays = async (
  readListed: ReadListed,
  range: readonly Day[],
  changes: readonly Change[],
): Promise<readonly Change[]> => {
  if (!changes.some(isOfListing)) return changes
  const lists: (readonly [day: Day, ids: ReadonlySet<string>])[] = []
  for (const day of range) {
    const ids = await readListed(day)
    if (ids) lists.push([day, ids])
  }
  return changes.map((change) => {
    if (!isOfListing(change)) return change
    const isListed = change.change !== 'left'
    const id = change.section === 'renames' ? (change.to ?? change.symbol) : ((isListed ? change.to : change.from) ?? '')
    const last = lists.findLastIndex(([, ids]) => ids.has(id) !== isListed)
    const day = lists[last + 1]?.[0]
    return day === undefined ? change : { ...change, day, detail: `${change.detail} since ${day}` }
  })
}

/** Stocks that are new, but were listed on a recorded day before, are back. */
export const markReturned = async (
  readListed: ReadListed,
  earlier: readonly Day[],
  changes: readonly Change[],
): Promise<readonly Change[]> => {
  const isNew = ({ section, change }: Change): boolean => section === 'listings' && change === 'new'
  const unknown = new Set(changes.filter(isNew).map(({ to = '' }) => to))
  const lastDays = new Map<string, Day>()
  for (const day of earlier.toReversed()) {
    if (unknown.size === 0) break
    const ids = await readListed(day)
    for (const isin of unknown)
      if (ids?.has(isin)) {
        unknown.delete(isin)
        lastDays.set(isin, day)
      }
  }
  return changes.map((change) => {
    const day = isNew(change) ? lastDays.get(change.to ?? '') : undefined
    if (day === undefined) return change
    return { ...change, change: 'back', detail: change.detail.replace(/ is new$/, `, last listed on ${day}, is back`) }
  })
}

/** Reads the recorded master lists, one after the other. `warn` gets the damaged ones, which are left out. */
export const createListingReader = (history: History, warn: Warn): ReadListed => {
  const read = createListReader(history, warn)
  const lists = new Map(chooseEachDay(history, 'master').map((chosen) => [chosen.record.day, chosen]))
  return async (day) => {
    const chosen = lists.get(day)
    const rows = chosen && (await leaveOutDamaged(warn, () => read(chosen.list)))
    return rows && new Set(rows.flatMap(({ symbol, isin }) => [String(symbol), String(isin)]))
  }
}
