import { USUAL_CALENDAR } from '../../src/market/calendar.js'
import type { HistoryRequest } from '../../src/model/history.js'
import { listColumns, type Table } from '../../src/model/table.js'
import { findAnswer } from '../../src/storage/history/choose.js'
import { createListReader } from '../../src/storage/history/lists.js'
import { openHistory } from '../../src/storage/history/record.js'
import type { TableRow } from '../../src/storage/table-rows.js'

/** A request that records nothing, for tests that add tables. */
export const NO_HISTORY: HistoryRequest = {
  tables: [],
  documents: [],
  isLateAllowed: false,
  calendar: USUAL_CALENDAR,
  isSimulated: false,
  evidence: { streams: [], candles: [], trades: [], days: [] },
}

/** The rows that the record of that very day answers with; undefined without one. @throws DamagedFileError */
export const readRecordedList = async (
  root: string,
  table: string,
  day: string,
): Promise<readonly TableRow[] | undefined> => {
  const history = await openHistory(root)
  const chosen = findAnswer(history, table, { day, warn: () => undefined })
  return chosen?.record.day === day ? createListReader(history)(chosen.list) : undefined
}

/** The content of a row as text: two rows of a table are the same if their texts are. */
export const createRowText =
  (table: Table) =>
  (row: TableRow): string =>
    JSON.stringify(
      listColumns(table).map(({ name }) =>
        typeof row[name] === 'bigint' ? `${row[name]}n` : (row[name] ?? null),
      ),
    )
