import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from '../../model/errors.js'
import type { Stock } from '../../model/stock.js'
import { type Day, toInstant } from '../../model/trading-day.js'
import { MASTER_MAP } from '../../pipeline/known-stocks.js'
import { listDays, readEntryRows, readRecordedDay } from '../../storage/history/history-folder.js'
import type { PreviousOutputs } from '../../storage/previous-outputs.js'
import { findUsedDay } from '../history/as-of.js'
import { formatRows } from '../history/day-copies.js'
import { checkFolder } from '../output-folder.js'
import type { Change } from './change.js'
import { compareOutputs, type Difference, type DiffOptions } from './diff.js'

export interface DayDiffOptions extends DiffOptions {
  readonly since: Day
  /** The present if absent. */
  readonly until?: Day | undefined
}

/**
 * Lists how the lists of a folder changed since a recorded day, until another one or now. If a day has no record, the newest one before it
 * counts. Filings and news are not compared: the history knows when they appeared, but not their text.
 *
 * @throws UsageError if the history begins after one of the days
 */
export const diffDays = async (root: string, { since, until, ...options }: DayDiffOptions): Promise<Difference> => {
  await checkFolder(root)
  if (until !== undefined && until <= since) throw new UsageError(`${until} is not after ${since}; the earlier day comes first`)
  const days = await listDays(root)
  const [from, to] = [findUsedDay(root, days, since), until === undefined ? undefined : findUsedDay(root, days, until)]
  const work = await mkdtemp(join(tmpdir(), 'scripstream-diff-'))
  try {
    const previous = await writeLists(root, { days, day: from, target: join(work, from) })
    const now = to === undefined ? root : (await writeLists(root, { days, day: to, target: join(work, `until ${to}`) })).root
    const compared = await compareOutputs(root, { previous, now }, options)
    const changes = await markReturned(
      root,
      days.filter((day) => day < from),
      compared.changes,
    )
    const range = days.filter((day) => day > from && (to === undefined || day <= to))
    return {
      folder: root,
      since: { day: from },
      ...(to === undefined ? {} : { day: to }),
      ...compared,
      notes: [...compared.notes, 'filings and news: days have their lists only'],
      changes: await addListingDays(root, range, changes),
    }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Writes each list as of a day into a folder. */
const writeLists = async (
  root: string,
  { days, day, target }: { readonly days: readonly Day[]; readonly day: Day; readonly target: string },
): Promise<PreviousOutputs> => {
  const written = new Set<string>()
  await mkdir(target)
  for (const one of days.filter((other) => other <= day).toReversed())
    for (const [file, entry] of Object.entries((await readRecordedDay(root, one))?.entries ?? {})) {
      if (entry.format === undefined || written.has(file)) continue
      await writeFile(join(target, file), formatRows(await readEntryRows(root, one, entry), entry))
      written.add(file)
    }
  return { root: target, outputs: [...written], asOf: new Date(toInstant(day)).toISOString() }
}

const isOfListing = ({ section }: Change): boolean => section === 'listings' || section === 'renames'

/** Adds the day to changes of the master list: the first recorded one from which on the stock is as it is at the end. */
const addListingDays = async (root: string, range: readonly Day[], changes: readonly Change[]): Promise<readonly Change[]> => {
  if (!changes.some(isOfListing)) return changes
  const lists: (readonly [day: Day, ids: ReadonlySet<string>])[] = []
  for (const day of range) {
    const ids = await readListed(root, day)
    if (ids) lists.push([day, ids])
  }
  return changes.map((change) => {
    if (!isOfListing(change)) return change
    const isListed = change.change !== 'gone'
    const id = change.section === 'renames' ? (change.to ?? change.symbol) : ((isListed ? change.to : change.from) ?? '')
    const last = lists.findLastIndex(([, ids]) => ids.has(id) !== isListed)
    const day = lists[last + 1]?.[0]
    return day === undefined ? change : { ...change, day, detail: `${change.detail} since ${day}` }
  })
}

/** Stocks that are new, but were listed on a recorded day before, are back. */
const markReturned = async (root: string, earlier: readonly Day[], changes: readonly Change[]): Promise<readonly Change[]> => {
  const isNew = ({ section, change }: Change): boolean => section === 'listings' && change === 'new'
  const unknown = new Set(changes.filter(isNew).map(({ to = '' }) => to))
  const returned = new Set<string | undefined>()
  for (const day of earlier.toReversed()) {
    if (unknown.size === 0) break
    const ids = await readListed(root, day)
    for (const isin of unknown)
      if (ids?.has(isin)) {
        unknown.delete(isin)
        returned.add(isin)
      }
  }
  return changes.map((change) =>
    isNew(change) && returned.has(change.to)
      ? { ...change, change: 'back', detail: change.detail.replace(/ is new$/, ' is back') }
      : change,
  )
}

/** The symbols and ISINs of a recorded master list; undefined if the day has none. */
const readListed = async (root: string, day: Day): Promise<ReadonlySet<string> | undefined> => {
  const entry = (await readRecordedDay(root, day))?.entries[MASTER_MAP]
  if (entry === undefined) return undefined
  return new Set(((await readEntryRows(root, day, entry)) as readonly Stock[]).flatMap(({ Symbol: symbol, ISIN }) => [symbol, ISIN]))
}
