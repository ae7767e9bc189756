import { DamagedFileError } from '../../../model/errors.js'
import type { RecordedTable } from '../../../model/history.js'
import { getOrAdd } from '../../../model/map.js'
import type { Day } from '../../../model/trading-day.js'
import type { ChosenList } from '../../../storage/history/choose.js'
import { createListReader, describeRows } from '../../../storage/history/lists.js'
import type { History } from '../../../storage/history/record.js'
import { createRecordReader, type FileRecords } from '../../../storage/row-records.js'
import type { Finding } from '../finding.js'
import { checkColumns } from './columns.js'
import type { ListCheck } from './list-check.js'
import { checkMembers } from './members.js'
import { checkFigures } from './restated.js'
import { type ContentDay, findUnchanged } from './unchanged.js'

export interface RecordedList {
  readonly recorded: RecordedTable
  readonly days: readonly ChosenList[]
  readonly isSession: (day: Day) => boolean
}

interface FileChecks {
  readonly checks: readonly ListCheck[]
  readonly contents: ContentDay[]
}

/** Compares the recorded days of a table, file by file. */
export const verifyList = async (history: History, { recorded, days, isSession }: RecordedList): Promise<readonly Finding[]> => {
  const { table } = recorded
  const read = createListReader(history)
  const toRecords = createRecordReader(table)
  const files = new Map<string, FileChecks>()
  const damages = new Map<string, Finding>()
  const addFile = (file: string, day: Day, { records, content }: Pick<FileRecords, 'records'> & { readonly content: string }): void => {
    const { checks, contents } = getOrAdd(files, file, (): FileChecks => ({ checks: createChecks(file, recorded), contents: [] }))
    for (const check of checks) check.addDay(day, records)
    if (isSession(day)) contents.push({ day, content })
  }
  for (const { record, list } of days) {
    try {
      for (const [file, { records, rows }] of toRecords(await read(list)))
        addFile(file, record.day, { records, content: table.files.length === 1 ? list.content : describeRows(table, rows).content })
    } catch (error) {
      if (!(error instanceof DamagedFileError)) throw error
      const file = error.message.split(' ')[0] ?? ''
      damages.set(file, { check: 'files', severity: 'error', day: record.day, file, detail: error.message })
    }
  }
  const found = [...files].flatMap(([file, { checks, contents }]) => [
    ...checks.flatMap((check) => check.finish()),
    ...findUnchanged(file, contents),
  ])
  return [...damages.values(), ...found]
}

const createChecks = (file: string, { table, stream }: RecordedTable): readonly ListCheck[] => [
  checkColumns(file),
  ...(stream === 'fundamental-data' ? [checkFigures(file)] : []),
  ...(table.name === 'master' || stream === 'all-indices' ? [checkMembers(file, 'warning')] : []),
  // The exchange may put a stock under surveillance again.
  ...(stream === 'surveillance-lists' ? [checkMembers(file, 'info')] : []),
]
