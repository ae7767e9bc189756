import { text } from 'node:stream/consumers'
import type { Stock } from '../../model/stock.js'
import type { Day } from '../../model/trading-day.js'
import { MASTER_MAP } from '../../pipeline/known-stocks.js'
import { readUndamaged, type Warn } from '../../storage/history/history-folder.js'
import type { OpenHistory } from '../history/open-history.js'
import type { Change } from './change.js'

/** A history, and where warnings about damaged days, which are left out, go. */
interface ListedHistory extends OpenHistory {
  readonly warn: Warn
}

const isOfListing = ({ section }: Change): boolean => section === 'listings' || section === 'renames'

/** Adds the day to changes of the master list: the first recorded one from which on the stock is as it is at the end. */
export const addListingDays = async (
  history: ListedHistory,
  range: readonly Day[],
  changes: readonly Change[],
): Promise<readonly Change[]> => {
  if (!changes.some(isOfListing)) return changes
  const lists: (readonly [day: Day, ids: ReadonlySet<string>])[] = []
  for (const day of range) {
    const ids = await readListed(history, day)
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
  history: ListedHistory,
  earlier: readonly Day[],
  changes: readonly Change[],
): Promise<readonly Change[]> => {
  const isNew = ({ section, change }: Change): boolean => section === 'listings' && change === 'new'
  const unknown = new Set(changes.filter(isNew).map(({ to = '' }) => to))
  const lastDays = new Map<string, Day>()
  for (const day of earlier.toReversed()) {
    if (unknown.size === 0) break
    const ids = await readListed(history, day)
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

/** The symbols and ISINs of a recorded master list; undefined if the day has none. */
const readListed = async ({ root, reader, warn }: ListedHistory, day: Day): Promise<ReadonlySet<string> | undefined> => {
  const entry = (await readUndamaged(root, day, warn))?.entries[MASTER_MAP]
  if (entry === undefined) return undefined
  return new Set((JSON.parse(await text(reader.read(entry))) as readonly Stock[]).flatMap(({ Symbol: symbol, ISIN }) => [symbol, ISIN]))
}
