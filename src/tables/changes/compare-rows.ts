import type { Row } from '../../model/row.js'
import type { ROW_CHANGES } from '../../model/settings.js'

/** What happened to a row from one state to the next. */
export interface RowChange<R = Row> {
  readonly change: (typeof ROW_CHANGES)[number]
  /** The row, or the last one that it was. */
  readonly row: R
  /** The earlier row of one that has changed, else the row. */
  readonly from: R
}

/**
 * The rows that entered and changed, in their order, then those that left. `columns`: those whose change
 * counts; all if absent.
 */
export const compareRows = <R extends object>(
  before: ReadonlyMap<string, R>,
  after: ReadonlyMap<string, R>,
  columns?: readonly string[],
): readonly RowChange<R>[] => [
  ...[...after].flatMap(([key, row]): readonly RowChange<R>[] => {
    const from = before.get(key)
    if (from === undefined) return [{ change: 'entered', row, from: row }]
    return listChangedColumns(from as Row, row as Row, columns).length === 0
      ? []
      : [{ change: 'changed', row, from }]
  }),
  ...[...before].flatMap(([key, row]): readonly RowChange<R>[] =>
    after.has(key) ? [] : [{ change: 'left', row, from: row }],
  ),
]

export const listChangedColumns = (
  from: Row,
  to: Row,
  columns: readonly string[] = [...new Set([...Object.keys(from), ...Object.keys(to)])],
): readonly string[] => columns.filter((column) => toComparable(from[column]) !== toComparable(to[column]))

export const toRowKey = (row: Row, columns: readonly string[]): string =>
  JSON.stringify(columns.map((column) => toComparable(row[column])))

/** Sums of floating numbers differ in their last digits with the order of their terms. */
const toComparable = (value: unknown): string =>
  typeof value === 'number' ? value.toPrecision(9) : JSON.stringify(value ?? null)
