import { join } from 'node:path'
import type { RecordedTable } from '../../model/history.js'
import { type Day, toInstant } from '../../model/trading-day.js'
import { disk } from '../../storage/disk.js'
import { statFile } from '../../storage/file-system.js'
import { chooseEachDay, describeAnswer, findAnswer } from '../../storage/history/choose.js'
import { createListReader } from '../../storage/history/lists.js'
import { type History, leaveOutDamaged, type Warn } from '../../storage/history/record.js'
import type { PreviousOutputs } from '../../storage/previous-outputs.js'
import { createRecordReader, readTable, type TableRow } from '../../storage/table-rows.js'
import type { Change } from './change.js'
import type { FileComparison } from './file-comparison.js'

interface ListsOfDay {
  readonly tables: readonly RecordedTable[]
  readonly target: string
  /** Gets the damaged earlier days, which are left out. */
  readonly warn: Warn
}

/** Lists in a folder, and the day whose record has each of them; none for the present ones. */
interface WrittenLists extends PreviousOutputs {
  readonly recordedOn: ReadonlyMap<string, Day>
}

/** Writes each list as of a recorded day into a folder. @throws DamagedFileError if that day is damaged */
export const writeLists = async (history: History, day: Day, { tables, target, warn }: ListsOfDay): Promise<WrittenLists> => {
  const written = new Map<string, Day>()
  const read = createListReader(history, warn)
  await disk.mkdir(target)
  for (const { table } of tables) {
    const chosen = findAnswer(history, table.name, { day, warn })
    if (chosen === undefined) continue
    if (chosen.record.timing === 'late') warn(`${table.name}: ${describeAnswer(chosen, chosen.record.day)}`)
    await writeRecords({ table, target }, await read(chosen.list))
    for (const { path } of table.files) written.set(path, chosen.record.day)
  }
  return { root: target, outputs: [...written.keys()], recordedOn: written, asOf: new Date(toInstant(day)).toISOString() }
}

/** Writes the present lists into a folder in the same form: a record has times in another one than an answer. */
export const writePresentLists = async (root: string, { tables, target }: Omit<ListsOfDay, 'warn'>): Promise<string> => {
  await disk.mkdir(target)
  for (const { table } of tables) {
    const rows = await readTable(root, table)
    if (rows) await writeRecords({ table, target }, rows)
  }
  return target
}

const writeRecords = async (
  { table, target }: Pick<RecordedTable, 'table'> & { readonly target: string },
  rows: readonly TableRow[],
): Promise<void> => {
  for (const [path, { records }] of createRecordReader(table)(rows)) await disk.writeFile(join(target, path), JSON.stringify(records))
}

/** Two recorded days, and the days whose records have their lists; without `until`, the present. */
interface ComparedDays {
  readonly since: Day
  readonly until: Day | undefined
  readonly before: WrittenLists
  readonly after: WrittenLists | undefined
  /** The folder with the later lists. */
  readonly now: string
}

/** Warns of lists that are compared without a record of their day: without a warning, unknown would read as "no change". */
export const warnOfGaps = (lists: FileComparison, days: ComparedDays, warn: Warn): FileComparison => ({
  ...lists,
  readVersions: (file, earlier) => {
    const gap = describeGap(file, days)
    if (gap !== undefined) warn(gap)
    return lists.readVersions(file, earlier)
  },
})

const describeGap = (file: string, { since, until, before, after, now }: ComparedDays): string | undefined => {
  const [from, to] = [before.recordedOn.get(file), after?.recordedOn.get(file)]
  if (from === undefined)
    return statFile(join(now, file)) === undefined
      ? undefined
      : `${file} was not compared: neither ${since} nor an earlier day has a record of it`
  if (to !== undefined && to <= since) return `${file} was not compared: no day after ${since} and up to ${until} has a record of it`
  if (from < since) return `${file} was compared with its record of ${from}: ${since} has none`
  return to === until ? undefined : `${file} was compared up to its record of ${to}: ${until} has none`
}

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
