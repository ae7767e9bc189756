import { candleTables } from './candles.js'
import { marketTables } from './market.js'
import { stockTables } from './stocks.js'
import { EXTRA, type SqlType, type Table } from './table.js'

/** All tables of the data, in the order in which they are shown. */
export const catalogue: readonly Table[] = [...stockTables, ...marketTables, ...candleTables]

export interface ShownColumn {
  readonly name: string
  readonly type: SqlType
  readonly comment: string
}

/** The columns that a table comes out with. */
export const columnsOf = ({ shape, columns }: Table): readonly ShownColumn[] => [
  ...columns.map(({ name, type, comment }) => ({ name, type, comment })),
  ...(shape === 'candles' ? [] : [EXTRA]),
]
