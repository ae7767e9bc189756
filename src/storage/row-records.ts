import type { Row } from '../model/row.js'
import type { TableColumn } from '../model/row-schema.js'
import { EXTRA, type Table } from '../model/table.js'
import { type TableRow, toValue } from './table-rows.js'

/** The rows of one file of a table, and the records of the provider that they stand for. */
export interface FileRecords {
  readonly rows: readonly TableRow[]
  readonly records: readonly Row[]
}

/**
 * Creates a function that turns rows into records, by the path of their file: fields under the names that the provider has for them, as far as
 * columns and `extra` have them. The same row is the same record. Times keep the form of the columns, so compare only such records.
 */
export const createRecordReader = ({ columns, files, lists }: Table): ((rows: readonly TableRow[]) => ReadonlyMap<string, FileRecords>) => {
  const label = columns.find(({ from }) => 'file' in from && from.file === 'label')
  const isOf = (row: TableRow, own = ''): boolean => label === undefined || row[label.name] === (label.convert?.value(own) ?? own)
  const toRecord = createRecordMaker(columns, lists?.[0])
  const known = new WeakMap<TableRow, Row>()
  const findRecord = (row: TableRow): Row => {
    const record = known.get(row) ?? toRecord(row)
    known.set(row, record)
    return record
  }
  return (all) =>
    new Map(
      files.map(({ path, label: own }) => {
        const rows = all.filter((row) => isOf(row, own))
        return [path, { rows, records: rows.map(findRecord) }]
      }),
    )
}

const createRecordMaker = (columns: readonly TableColumn[], list: string | undefined): ((row: TableRow) => Row) => {
  const readers = columns.flatMap((column) => {
    const { from, convert } = column
    const [key = '$'] = 'row' in from ? from.row : 'document' in from ? from.document : []
    return key.startsWith('$') || convert ? [] : [{ column, key, isOfRow: 'row' in from }]
  })
  return (row) => {
    const own: Record<string, unknown> = typeof row[EXTRA.name] === 'string' ? { ...JSON.parse(row[EXTRA.name] as string) } : {}
    const document: Record<string, unknown> = {}
    for (const { column, key, isOfRow } of readers) {
      const target = isOfRow ? own : document
      const stored = row[column.name] ?? null
      // An older file can lack the column, or have it with another type.
      const value = target[key] ?? (stored !== null && column.type === 'JSON' ? JSON.parse(String(stored)) : stored)
      if (value !== null) target[key] = column.type === 'JSON' ? value : (toValue(column, value) ?? value)
    }
    return list === undefined ? own : { ...document, [list]: [own] }
  }
}
