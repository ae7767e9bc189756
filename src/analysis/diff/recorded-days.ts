import { join } from 'node:path'
import { MASTER_MAP } from '../../market/listings.js'
import { UsageError } from '../../model/errors.js'
import type { RecordedDocuments } from '../../model/history.js'
import { getOrAdd } from '../../model/map.js'
import { isRow, type Row } from '../../model/row.js'
import type { Stock } from '../../model/stock.js'
import type { Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { createHistoryRequest } from '../../pipeline/history-request.js'
import { type ChosenList, describeAnswer, findAnswer } from '../../storage/history/choose.js'
import { readSeen } from '../../storage/history/first-seen.js'
import { createListReader } from '../../storage/history/lists.js'
import type { History, Warn } from '../../storage/history/record.js'
import { createOutputMatcher } from '../../storage/output-files.js'
import { ALL_RECORDS as ALL, toRecordKey } from '../../storage/seen-records.js'
import { createRecordReader, readTable } from '../../storage/table-rows.js'
import { type FileVersions, noteDamage, readDocument, type TwoStates } from './two-states.js'

/** Two recorded days to compare. */
export interface ComparedDays {
  readonly from: Day
  /** The present if absent. */
  readonly to: Day | undefined
  readonly streams: readonly StreamDefinition[]
  readonly exchange: string
  /** Gets what the answer for a list lacks, and the damaged days, which are left out. */
  readonly warn: Warn
}

/**
 * A folder on two recorded days, or one and now. `countLost`: how many new records of single stocks are no longer in their file, so that their
 * text is unknown.
 *
 * @throws UsageError if a day has no list of stocks
 * @throws DamagedFileError if the record of one of the days is damaged
 */
export const openDays = async (history: History, days: ComparedDays): Promise<TwoStates & { readonly countLost: () => number }> => {
  const { from, to, streams, exchange, warn } = days
  const plan = streams.map((stream) => ({ stream, state: 'waiting' }) as const)
  const { documents, tables } = createHistoryRequest(plan, { exchange })
  const notes: string[] = []
  const readList = createRecordedLists(
    history,
    tables.map(({ table }) => table),
    days,
  )
  const seen = await openSeenDocuments(history, { documents, from, to, warn, notes })
  const master = await readList(MASTER_MAP)
  const toStocks = (list: readonly Row[] | undefined, day: Day | undefined): readonly Stock[] => {
    if (list !== undefined) return list as unknown as readonly Stock[]
    throw new UsageError(`the record of ${day} has no list of stocks, so nothing can be compared with it; choose another day`)
  }
  return {
    before: toStocks(master.before, from),
    after: toStocks(master.after, to),
    beforeDay: from,
    notes,
    isSame: (file) => seen.has(file) === false,
    read: async (file, earlier = file) => {
      if (seen.has(file) !== undefined) return seen.read(file, earlier)
      const { gap, before, after } = await readList(file)
      // Without a warning, unknown would read as "no change".
      if (gap !== undefined) warn(gap)
      return before === undefined || after === undefined ? undefined : { before, after }
    },
    countLost: seen.countLost,
  }
}

/** Creates a function that reads a list of both days. `gap`: why it is not of these days. */
const createRecordedLists = (history: History, tables: readonly Table[], { from, to, warn }: ComparedDays) => {
  const readRows = createListReader(history, warn)
  const findAnswers = (day: Day): ReadonlyMap<string, ChosenList> =>
    new Map(
      tables.flatMap(({ name }) => {
        const chosen = findAnswer(history, name, { day, warn })
        if (chosen?.record.timing === 'late') warn(`${name}: ${describeAnswer(chosen, chosen.record.day)}`)
        return chosen ? [[name, chosen] as const] : []
      }),
    )
  const [before, after] = [findAnswers(from), to === undefined ? undefined : findAnswers(to)]
  return async (file: string) => {
    const table = tables.find(({ files }) => files.some(({ path }) => path === file))
    if (table === undefined) return {}
    const [earlier, later] = [before.get(table.name), after?.get(table.name)]
    const toRecords = createRecordReader(table)
    const read = async (chosen: ChosenList | undefined): Promise<readonly Row[] | undefined> => {
      const rows = chosen && (await readRows(chosen.list))
      return rows && toRecords(rows).get(file)?.records
    }
    // Like a record, as which the present files have times in another form.
    const now = after === undefined ? await readTable(history.root, table) : undefined
    const gap = describeGap(file, [earlier?.record.day, later?.record.day, from, to], later !== undefined || now !== undefined)
    return { gap, before: await read(earlier), after: after === undefined ? now && toRecords(now).get(file)?.records : await read(later) }
  }
}

const describeGap = (
  file: string,
  [earlier, later, from, to]: readonly [Day | undefined, Day | undefined, from: Day, to: Day | undefined],
  isThereLater: boolean,
): string | undefined => {
  if (earlier === undefined)
    return isThereLater ? `${file} was not compared: neither ${from} nor an earlier day has a record of it` : undefined
  if (later !== undefined && later <= from) return `${file} was not compared: no day after ${from} and up to ${to} has a record of it`
  if (earlier < from) return `${file} was compared with its record of ${earlier}: ${from} has none`
  return later === to ? undefined : `${file} was compared up to its record of ${later}: ${to} has none`
}

interface SeenContext extends Pick<ComparedDays, 'from' | 'to' | 'warn'> {
  readonly documents: readonly RecordedDocuments[]
  readonly notes: string[]
}

/**
 * The files of single stocks. The days do not have these files, but the day on which each record of them appeared; the text is that of the
 * present file. A record that appeared on none of the days was there before.
 */
const openSeenDocuments = async (history: History, { documents, from, to = '9999', warn, notes }: SeenContext) => {
  const seen = await readSeenDays(history, from, warn)
  const kinds = documents.map((kind) => ({ ...kind, isOf: createOutputMatcher([kind.pattern]) }))
  let lost = 0
  /** The records of a file that were there before the first day, and those that appeared until the last one. */
  const split = (file: string, { lists, identity }: RecordedDocuments) => {
    const document = readDocument(join(history.root, file))
    if (!isRow(document)) return undefined
    const days = seen.get(file) ?? new Map<string, Day>()
    const rows = lists.flatMap((list) =>
      [document[list] ?? []]
        .flat()
        .filter(isRow)
        .map((row): KeyedRow => ({ key: toRecordKey(row, identity), list, row })),
    )
    const dayOf = ({ key }: KeyedRow): Day | undefined => days.get(key) ?? days.get(ALL)
    const present = new Set(rows.map(({ key }) => key))
    return {
      document,
      before: rows.filter((row) => dayOf(row) === undefined),
      fresh: rows.filter((row) => (dayOf(row) ?? '9999') <= to),
      /** All its records appeared at once. */
      isNew: days.has(ALL),
      lost: [...days].filter(([key, day]) => key !== ALL && day <= to && !present.has(key)).length,
    }
  }
  const compare = (file: string, earlier: string, kind: RecordedDocuments): FileVersions | undefined => {
    const now = split(file, kind)
    if (now === undefined) return undefined
    // A renamed stock has its records of before in the file of its earlier symbol.
    const before = [...now.before, ...((earlier === file ? undefined : split(earlier, kind))?.before ?? [])]
    const known = new Set(before.map(({ key }) => key))
    lost += now.lost
    const toDocument = (rows: readonly KeyedRow[]): Row => ({
      ...now.document,
      ...Object.fromEntries(kind.lists.map((list) => [list, rows.filter((one) => one.list === list).map(({ row }) => row)])),
    })
    const fresh = now.fresh.filter(({ key }) => !known.has(key))
    return { before: before.length === 0 && now.isNew ? undefined : toDocument(before), after: toDocument([...fresh, ...before]) }
  }
  const find = (file: string): RecordedDocuments | undefined => kinds.find(({ isOf }) => isOf(file))
  return {
    /** Whether a file of a stock has new records; undefined for another file. */
    has: (file: string): boolean | undefined => find(file) && seen.has(file),
    read: (file: string, earlier: string): FileVersions | undefined => {
      const kind = find(file)
      return kind && noteDamage(file, notes, () => compare(file, earlier, kind))
    },
    countLost: () => lost,
  }
}

interface KeyedRow {
  readonly key: string
  readonly list: string
  readonly row: Row
}

/** The days after a day on which the records of each file appeared, by key: the first day of a key, the last one of `ALL_RECORDS`. */
const readSeenDays = async (history: History, after: Day, warn: Warn): Promise<ReadonlyMap<string, ReadonlyMap<string, Day>>> => {
  const all = await readSeen(history, warn)
  const rows = all.map(({ file, key, day }) => [String(file), String(key), String(day)] as const)
  const seen = new Map<string, Map<string, Day>>()
  for (const [file, key, day] of rows.filter((row) => row[2] > after).sort((one, other) => (one[2] < other[2] ? -1 : 1))) {
    const known = getOrAdd(seen, file, () => new Map<string, Day>())
    if (key === ALL || !known.has(key)) known.set(key, day)
  }
  return seen
}
