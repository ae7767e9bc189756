import { omitUndefined } from '../model/row.js'
import type { ColumnDisplay, Unit } from '../model/row-schema.js'
import type { Columned } from '../model/table.js'
import type { ResultColumn } from './result-values.js'
import { unitOf } from './views/view.js'

/** A column of a result, as people read it. */
export interface DisplayedColumn extends Pick<ResultColumn, 'name' | 'isNumber'> {
  /** Its name in words, with its unit: `close ₹`. */
  readonly title: string
  readonly unit?: Unit
  /** It is a change: its sign matters. */
  readonly isChange?: true
}

/** Of columns that several tables have. */
const TITLES: Readonly<Record<string, string>> = { isin: 'ISIN', url: 'document' }

const UNIT_WORD = /_(?:pct|percent|inr|cr)$/

/**
 * How the columns of a result are shown: as the tables and views of the statement describe theirs of that
 * name. A name that the statement gives says its unit itself.
 */
export const displayColumns = (
  columns: readonly ResultColumn[],
  used: readonly Columned[],
): readonly DisplayedColumn[] => {
  const known = new Map<string, ColumnDisplay>(
    used.flatMap((table) => table.columns.map((column) => [column.name, column])),
  )
  return columns.map(({ name, isNumber }) => {
    const { unit, isChange, title } = known.get(name) ?? ({ unit: unitOf(name) } as const)
    const words = TITLES[name] ?? name.replace(UNIT_WORD, '').replaceAll('_', ' ')
    return omitUndefined({
      name,
      isNumber,
      title: title ?? (unit ? `${words} ${unit}` : words),
      unit,
      isChange,
    })
  })
}
