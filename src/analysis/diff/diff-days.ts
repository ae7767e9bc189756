import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from '../../model/errors.js'
import type { Day } from '../../model/trading-day.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { createHistoryRequest } from '../../pipeline/history-request.js'
import { chooseList, findUsedDay, listListedDays } from '../../storage/history/choose.js'
import { createListReader } from '../../storage/history/lists.js'
import { describeDamage, type History, leaveOutDamaged, openHistory, type Warn } from '../../storage/history/record.js'
import { checkFolder } from '../output-folder.js'
import type { Change } from './change.js'
import { warnOfGaps, writeLists, writePresentLists } from './day-lists.js'
import { compareOutputs, type Difference, type DiffOptions } from './diff.js'
import type { FileComparison } from './file-comparison.js'
import { addSeenDocuments } from './seen-documents.js'

export interface DayDiffOptions extends DiffOptions {
  readonly streams: readonly StreamDefinition[]
  readonly since: Day
  /** The present if absent. */
  readonly until?: Day | undefined
}

/**
 * Lists what changed in a folder since a recorded day, until another one or now. If a day has no record, the newest one before it counts. New
 * filings and news are those that appeared on the days in between; their text is that of the present files.
 *
 * @throws UsageError if the history begins after one of the days, or both have the same record
 * @throws DamagedFileError if the record of one of the two days is damaged; a note names other damaged days
 */
export const diffDays = async (root: string, { since, until, streams, ...options }: DayDiffOptions): Promise<Difference> => {
  await checkFolder(root)
  if (until !== undefined && until <= since) throw new UsageError(`${until} is not after ${since}; the earlier day comes first`)
  const history = await openHistory(root)
  const [from, to] = [findUsedDay(history, since), until === undefined ? undefined : findUsedDay(history, until)]
  if (from === to) throw new UsageError(`${since} and ${until} have the same record, that of ${from}; choose other days`)
  const work = await mkdtemp(join(tmpdir(), 'scripstream-diff-'))
  try {
    return await compareDays(history, { ...options, streams, from, to, work })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

const compareDays = async (
  history: History,
  {
    streams,
    from,
    to,
    work,
    ...options
  }: DiffOptions & { streams: readonly StreamDefinition[]; from: Day; to: Day | undefined; work: string },
): Promise<Difference> => {
  const { root } = history
  const days = listListedDays(history)
  const plan = streams.map((stream) => ({ stream, state: 'waiting' }) as const)
  const { documents, tables } = createHistoryRequest(plan, options)
  const warnings = new Set<string>()
  const warn = (text: string): void => void warnings.add(text)
  const previous = await writeLists(history, from, { tables, target: join(work, from), warn })
  const later = to === undefined ? undefined : await writeLists(history, to, { tables, target: join(work, `until ${to}`), warn })
  const [{ path: master = '' } = {}] = tables.find(({ table }) => table.name === 'master')?.table.files ?? []
  for (const [day, lists] of [
    [from, previous],
    [to, later],
  ] as const)
    if (lists && !lists.recordedOn.has(master))
      throw new UsageError(`the record of ${day} has no list of stocks, so nothing can be compared with it; choose another day`)
  const now = later?.root ?? (await writePresentLists(root, { tables, target: join(work, 'now') }))
  for (const { day = '', ...damage } of history.damages) if (day > from && (to === undefined || day < to)) warn(describeDamage(damage))
  let countLost = (): number => 0
  const extend = async (lists: FileComparison, notes: string[]): Promise<FileComparison> => {
    const compared = warnOfGaps(lists, { since: from, until: to, before: previous, after: later, now }, warn)
    const seen = await addSeenDocuments(history, compared, { files: documents, after: from, until: to, notes, warn })
    countLost = seen.countLost
    return seen
  }
  const { notes, counts, changes } = await compareOutputs(root, { previous, now, extend }, options)
  const read = createListingReader(history, warn)
  const earlier = days.filter((day) => day < from)
  const range = days.filter((day) => day > from && (to === undefined || day <= to))
  const listed = await addListingDays(read, range, await markReturned(read, earlier, changes))
  const lost = countLost()
  const between = range.filter((day) => day !== to).length
  return {
    folder: root,
    since: { day: from },
    ...(to === undefined ? {} : { day: to }),
    counts,
    notes: [
      ...notes,
      ...(lost === 0 ? [] : [`filings and news that are no longer in their files: ${lost}`]),
      ...(between === 0
        ? []
        : [
            `only the two ends are compared: what came and went in between is not listed (${between} recorded ${between === 1 ? 'day' : 'days'})`,
          ]),
      ...warnings,
    ],
    changes: listed,
  }
}

/** The symbols and ISINs of the master list of a day; undefined without a record of it. */
type ReadListed = (day: Day) => Promise<ReadonlySet<string> | undefined>

const isOfListing = ({ section }: Change): boolean => section === 'listings' || section === 'renames'

/** Adds the day to changes of the master list: the first recorded one from which on the stock is as it is at the end. */
const addListingDays = async (readListed: ReadListed, range: readonly Day[], changes: readonly Change[]): Promise<readonly Change[]> => {
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
const markReturned = async (readListed: ReadListed, earlier: readonly Day[], changes: readonly Change[]): Promise<readonly Change[]> => {
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
const createListingReader = (history: History, warn: Warn): ReadListed => {
  const read = createListReader(history, warn)
  return async (day) => {
    const chosen = chooseList(history.records, 'master', day)
    const rows = chosen && (await leaveOutDamaged(warn, () => read(chosen.list)))
    return rows && new Set(rows.flatMap(({ symbol, isin }) => [String(symbol), String(isin)]))
  }
}
