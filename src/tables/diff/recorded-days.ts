import type { StreamDefinition } from '../../engine/define-stream.js'
import { createHistoryRequest } from '../../engine/session-request.js'
import { MASTER_MAP } from '../../market/listings.js'
import { UsageError } from '../../model/errors.js'
import type { Row } from '../../model/row.js'
import type { Stock } from '../../model/stock.js'
import type { Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import { type ChosenList, describeAnswer, findAnswer, nameTables } from '../../storage/history/choose.js'
import { createListReader } from '../../storage/history/lists.js'
import type { History, Warn } from '../../storage/history/record.js'
import { createRecordReader, readTable } from '../../storage/table-rows.js'
import { openSeenDocuments } from './seen-documents.js'
import type { TwoStates } from './two-states.js'

export interface ComparedDays {
  readonly from: Day
  readonly to: Day | undefined
  readonly streams: readonly StreamDefinition[]
  readonly exchange: string
  /** Gets what the answer for a list lacks, and the damaged days, which are left out. */
  readonly warn: Warn
}

/**
 * A folder on two recorded days, or one and now. `countLost`: how many new records of single stocks are no
 * longer in their file, so that their text is unknown.
 *
 * @throws UsageError if a day has no list of stocks
 * @throws DamagedFileError if the record of one of the days is damaged
 */
export const openDays = async (
  history: History,
  days: ComparedDays,
): Promise<TwoStates & { readonly countLost: () => number }> => {
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
    throw new UsageError(
      `the record of ${day} has no list of stocks, so nothing can be compared with it; choose another day`,
    )
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
const createRecordedLists = (
  history: History,
  tables: readonly Table[],
  { from, to, warn }: ComparedDays,
) => {
  const readRows = createListReader(history, warn)
  const findAnswers = (day: Day): ReadonlyMap<string, ChosenList> =>
    new Map(
      tables.flatMap(({ name }) => {
        const chosen = findAnswer(history, name, { day, warn })
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
    const isCompared = earlier !== undefined && (later ?? now) !== undefined
    for (const chosen of isCompared ? [earlier, later] : []) {
      const note = chosen && describeAnswer(chosen, chosen.record.day)
      if (note !== undefined) warn(nameTables([table.name], note))
    }
    const gap = describeGap(
      file,
      [earlier?.record.day, later?.record.day, from, to],
      later !== undefined || now !== undefined,
    )
    return {
      gap,
      before: await read(earlier),
      after: after === undefined ? now && toRecords(now).get(file)?.records : await read(later),
    }
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
