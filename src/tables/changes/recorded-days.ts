import { MASTER_MAP } from '../../market/listings.js'
import type { Change } from '../../model/change.js'
import { UsageError } from '../../model/errors.js'
import { formatNumber, formatQuantity } from '../../model/format.js'
import { omitUndefined, type Row } from '../../model/row.js'
import type { Stock } from '../../model/stock.js'
import type { Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import {
  type ChosenList,
  chooseEachDay,
  describeAnswer,
  describeEarlier,
  findAnswer,
  findUsedDay,
  listListedDays,
  nameTables,
} from '../../storage/history/choose.js'
import { createListReader } from '../../storage/history/lists.js'
import {
  describeDamage,
  type History,
  leaveOutDamaged,
  openHistory,
  type Warn,
} from '../../storage/history/record.js'
import { createRecordReader, readTable } from '../../storage/table-rows.js'
import { openSeenDocuments } from './seen-documents.js'
import { listRecords, type TwoStates } from './two-states.js'

interface ComparedDays {
  readonly history: History
  readonly from: Day
  readonly to: Day | undefined
  /** Gets what the answer for a list lacks, and the damaged days, which are left out. */
  readonly warn: Warn
  readonly readRows: ReturnType<typeof createListReader>
}

/**
 * A folder on two recorded days, or on one and now. If a day has no record, the newest one before it counts.
 *
 * @throws UsageError if the history begins after one of the days, both have the same record, or one has no
 * list of stocks
 * @throws DamagedFileError if the record of one of the two days is damaged; a note names other damaged days
 */
export const openDays = async (
  root: string,
  { since, until }: { readonly since: Day; readonly until: Day | undefined },
  tables: readonly Table[],
): Promise<TwoStates> => {
  if (until !== undefined && until <= since)
    throw new UsageError(`${until} is not after ${since}; the earlier day comes first`)
  const history = await openHistory(root, tables)
  const [from, to] = [
    findUsedDay(history, since),
    until === undefined ? undefined : findUsedDay(history, until),
  ]
  if (from === to)
    throw new UsageError(`${since} and ${until} have the same record, that of ${from}; choose other days`)
  const [notes, warnings] = [new Set<string>(), new Set<string>()]
  const warn = (text: string): void => void warnings.add(text)
  const days = { history, from, to, warn, readRows: createListReader(history, warn) }
  const isBetween = (day: Day) => day > from && (to === undefined || day < to)
  const seen = await openSeenDocuments({ ...days, notes })
  const master = tables.find(({ files }) => files.some(({ path }) => path === MASTER_MAP))
  const stocks = master && (await readVersions(master, MASTER_MAP, days))
  const toStocks = (list: readonly Row[] | undefined, day: Day | undefined) => {
    if (list !== undefined) return list as unknown as readonly Stock[]
    throw new UsageError(
      `the record of ${day} has no list of stocks, so nothing can be compared with it; choose another day`,
    )
  }
  const [before, after] = [toStocks(stocks?.before, from), toStocks(stocks?.after, to)]
  for (const { day = '', ...damage } of history.damages)
    if (isBetween(day)) warnings.add(describeDamage(damage))
  for (const text of describeEarlier(history.earlier, from, until)) warnings.add(text)
  return {
    names: omitUndefined({ since: { day: from }, day: to }),
    before,
    after,
    isSame: ({ items }, file) => items !== undefined && !seen.has(file),
    read: async (table, file, earlier = file) => {
      if (table.items !== undefined) return seen.read(table, file, earlier)
      const { gap, before, after } = await readVersions(table, file, days)
      // Without a warning, unknown would read as "no change".
      if (gap !== undefined) warnings.add(gap)
      return before && after && { before: listRecords(table, before), after: listRecords(table, after) }
    },
    complete: (changes) => dateListings(changes, days),
    listNotes: () => {
      const [lost, between] = [seen.countLost(), listListedDays(history).filter(isBetween).length]
      const ends = 'only the two ends are compared: what came and went in between is not listed'
      return [
        ...notes,
        ...(lost === 0 ? [] : [`filings and news that are no longer in their files: ${formatNumber(lost)}`]),
        ...(between === 0 ? [] : [`${ends} (${formatQuantity(between, 'recorded day')})`]),
        ...warnings,
      ]
    },
  }
}

/** The records of a list on both days. `gap`: why it is not of these days. */
const readVersions = async (table: Table, file: string, days: ComparedDays) => {
  const { history, from, to, warn, readRows } = days
  const find = (day: Day) => findAnswer(history, table.name, { day, warn })
  const [earlier, later] = [find(from), to === undefined ? undefined : find(to)]
  const toRecords = createRecordReader(table)
  const read = async (chosen: ChosenList | undefined) =>
    chosen && toRecords(await readRows(chosen.list)).get(file)?.records
  // Like a record, as which the present files have times in another form.
  const now = to === undefined ? await readTable(history.root, table) : undefined
  const isCompared = earlier !== undefined && (later ?? now) !== undefined
  for (const chosen of isCompared ? [earlier, later] : []) {
    const note = chosen && describeAnswer(chosen, chosen.record.day)
    if (note !== undefined) warn(nameTables([table.name], note))
  }
  return {
    gap: describeGap(
      file,
      [earlier?.record.day, later?.record.day, from, to],
      later !== undefined || now !== undefined,
    ),
    before: await read(earlier),
    after: to === undefined ? now && toRecords(now).get(file)?.records : await read(later),
  }
}

const describeGap = (
  file: string,
  [earlier, later, from, to]: readonly [Day | undefined, Day | undefined, from: Day, to: Day | undefined],
  isThereLater: boolean,
): string | undefined => {
  if (earlier === undefined)
    return isThereLater
      ? `${file} was not compared: neither ${from} nor an earlier day has a record of it`
      : undefined
  if (later !== undefined && later <= from)
    return `${file} was not compared: no day after ${from} and up to ${to} has a record of it`
  if (earlier < from) return `${file} was compared with its record of ${earlier}: ${from} has none`
  return later === to ? undefined : `${file} was compared up to its record of ${later}: ${to} has none`
}

/**
 * Adds the day to changes of the master list: the first recorded one from which on the stock is as it is at
 * the end. A new stock that was listed on an earlier day is back. Reads recorded lists only if there is such
 * a change, and those before `from` only for a new stock.
 */
const dateListings = async (
  changes: readonly Change[],
  { history, from, to = '9999', warn, readRows }: ComparedDays,
): Promise<readonly Change[]> => {
  const isDated = ({ section }: Change) => section === 'listings' || section === 'renames'
  if (!changes.some(isDated)) return changes
  const lists: { readonly day: Day; readonly names: ReadonlySet<string> }[] = []
  const first = changes.some((one) => isDated(one) && one.change === 'new') ? '' : from
  for (const { record, list } of chooseEachDay(history, 'master', to).filter(
    (chosen) => chosen.record.day > first,
  )) {
    const rows = await leaveOutDamaged(warn, () => readRows(list))
    if (rows)
      lists.push({
        day: record.day,
        names: new Set(rows.flatMap(({ symbol, isin }) => [String(symbol), String(isin)])),
      })
  }
  const between = lists.filter(({ day }) => day > from)
  return changes.map((change) => {
    if (!isDated(change)) return change
    const { symbol, to: now = symbol, from: was = symbol } = change
    const place = between.findLastIndex(({ names }) =>
      change.change === 'left' ? names.has(was) : !names.has(now),
    )
    const since = between[place + 1]?.day
    const last =
      change.change === 'new'
        ? lists.findLast(({ day, names }) => day < from && names.has(now))?.day
        : undefined
    const detail =
      last === undefined
        ? change.detail
        : change.detail.replace(/ is new$/, `, last listed on ${last}, is back`)
    return omitUndefined({
      ...change,
      change: last === undefined ? change.change : 'back',
      day: since,
      detail: since === undefined ? detail : `${detail} since ${since}`,
    })
  })
}
