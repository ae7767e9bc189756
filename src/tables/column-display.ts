import type { ColumnDisplay } from '../model/row-schema.js'
import type { Table } from '../model/table.js'
import type { ResultColumn } from './result-values.js'
import { listViews } from './views/index.js'

/** A column of a result, as people read it. */
export interface DisplayedColumn extends Pick<ResultColumn, 'name' | 'isNumber'> {
  /** Its name in words, with its unit: `close ₹`. */
  readonly title: string
  readonly unit?: Unit
  /** It is a change: its sign matters. */
  readonly isChange?: true
}

type Unit = (typeof UNITS)[number][1]

/** A name ends in the unit of its values. */
const UNITS = [
  ['_pct', '%'],
  ['_inr', '₹'],
  ['_cr', '₹ crore'],
] as const

/** Of columns that several tables have. */
const TITLES: Readonly<Record<string, string>> = { isin: 'ISIN', url: 'document' }

/**
 * How the columns of a result are shown: as the table or view describes them that has a column of that name,
 * or by their names.
 */
export const displayColumns = (
  columns: readonly ResultColumn[],
  tables: readonly Table[],
): readonly DisplayedColumn[] => {
  const known = new Map<string, ColumnDisplay>()
  for (const table of [...tables, ...listViews(tables)])
    for (const { name, title, isChange } of table.columns)
      if (title !== undefined || isChange)
        known.set(name, { ...(title && { title }), ...(isChange && { isChange }) })
  return columns.map(({ name, isNumber }) => {
    const [end = '', unit] = UNITS.find(([suffix]) => name.endsWith(suffix)) ?? []
    const words = TITLES[name] ?? name.slice(0, name.length - end.length).replaceAll('_', ' ')
    return {
      name,
      isNumber,
      title: unit === undefined ? words : `${words} ${unit}`,
      ...(unit && { unit }),
      ...known.get(name),
    }
  })
}
