import { candleTables } from './candles.js'
import { marketTables } from './market.js'
import { stockTables } from './stocks.js'
import { EXTRA, type SqlType, type Table } from './table.js'

/** All tables of the data, in display order. */
export const catalogue: readonly Table[] = [...stockTables, ...marketTables, ...candleTables]

export interface ShownColumn {
  readonly name: string
  readonly type: SqlType
  readonly comment: string
}

/** All columns of a table, including `extra`. */
export const listColumns = ({ shape, columns }: Table): readonly ShownColumn[] => [
  ...columns.map(({ name, type, comment }) => ({ name, type, comment })),
  ...(shape === 'candles' ? [] : [EXTRA]),
]
