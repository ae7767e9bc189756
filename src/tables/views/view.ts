import type { ColumnDisplay, SqlType, Unit } from '../../model/row-schema.js'
import type { ShownColumn } from '../../model/table.js'

/** A column of a view: its SQL, and what the other columns of tables have. */
export interface ViewColumn extends ShownColumn, ColumnDisplay {
  readonly sql: string
}

export interface ViewFacts {
  readonly name: string
  /** What a row is. */
  readonly about: string
  /** The tables and views that it reads. */
  readonly needs: readonly string[]
  readonly columns: readonly ViewColumn[]
  /** Common table expressions, without WITH. */
  readonly with?: readonly string[]
  readonly from: string
  /** Whether it is computed once for a statement, because views read it several times. It must be small. */
  readonly isShared?: boolean
}

export interface View extends Pick<ViewFacts, 'name' | 'needs' | 'columns' | 'isShared'> {
  readonly comment: string
  readonly shape: 'view'
  readonly sql: string
  /** The same view with the named columns, and those that cost nothing. */
  readonly narrow?: (isNamed: (column: string) => boolean) => View
}

/** The day that snapshots, such as price bands, are about. NULL without a record of a run. */
export const RUN_DAY = "CAST(getvariable('run_day') AS DATE)"

const UNITS: Readonly<Record<string, Unit>> = { pct: '%', inr: '₹', cr: '₹ crore' }

/** The unit that a name ends in: so do the names of columns of views, and of results. */
export const unitOf = (name: string): Unit | undefined => UNITS[name.replace(/.*_/, '')]

/** A column; its SQL is its name unless given. */
export const col = (name: string, type: SqlType, comment: string, sql = name): ViewColumn => {
  const unit = unitOf(name)
  return { name, type, comment, sql, ...(unit && { unit }) }
}

type ColumnMaker = (name: string, comment: string, sql?: string) => ViewColumn

const columnOf =
  (type: SqlType): ColumnMaker =>
  (name, comment, sql) =>
    col(name, type, comment, sql)
/** Columns by their type in SQL: DOUBLE, VARCHAR, BIGINT and DATE. */
export const numberColumn = columnOf('DOUBLE')
export const stringColumn = columnOf('VARCHAR')
export const wholeColumn = columnOf('BIGINT')
export const dayColumn = columnOf('DATE')

/** A column of a change, whose sign matters. */
export const changing = <C extends ViewColumn>(column: C): C => ({ ...column, isChange: true })

/** A number whose sums are the same in any order, so that the rows of the days before stay equal. */
export const exact = (number: string): string => `TRY_CAST(${number} AS DECIMAL(38, 9))`

export const defineView = ({ about, needs, with: tables = [], from, ...facts }: ViewFacts): View => ({
  ...facts,
  needs: [...new Set(needs)],
  comment: about,
  shape: 'view',
  sql: `${tables.length === 0 ? '' : `WITH ${tables.join(', ')} `}SELECT ${facts.columns.map(buildColumn).join(', ')} ${from}`,
})

const buildColumn = ({ name, type, sql }: ViewColumn): string => {
  const value = `CAST(${sql} AS ${type})`
  // No infinite value and no NaN, such as that of a division by zero.
  return `${type === 'DOUBLE' ? `if(isfinite(${value}), ${value}, NULL)` : value} AS "${name}"`
}

/** The columns that every view starts with. */
export const identity = (day: ViewColumn | string, from = ''): readonly ViewColumn[] => [
  stringColumn('isin', 'ISIN of the stock; NULL if no list names it', `${from}isin`),
  stringColumn('symbol', 'trading symbol', `${from}symbol`),
  typeof day === 'string' ? dayColumn('day', day, `${from}day`) : day,
]

/** The change in percent; NULL unless the earlier value is positive: the growth of a loss has no meaning. */
export const growth = (now: string, before: string): string =>
  `CASE WHEN ${before} > 0 THEN 100 * (${now} / ${before} - 1) END`

export interface ScreenerColumn extends ViewColumn {
  /** The groups that its SQL reads, beside the identity; its own if absent. */
  readonly reads?: readonly GroupName[]
}

export type GroupName =
  | 'price'
  | 'history'
  | 'session'
  | 'reason'
  | 'technical'
  | 'known'
  | 'indicator'
  | 'results'
  | 'valuation'
  | 'holders'
  | 'reaction'
  | 'lists'
  | 'latest'
  | 'delivery'

export interface ScreenerGroup {
  readonly title: string
  readonly needs: readonly string[]
  /** Common table expressions; the one with the name of the group has one row for each ISIN. */
  readonly with: readonly string[]
  /** Its alias in the columns. */
  readonly alias: string
  readonly columns: readonly ScreenerColumn[]
}

/** A column that reads other groups than its own. */
export const reading = (reads: readonly GroupName[], column: ViewColumn): ScreenerColumn => ({
  ...column,
  reads,
})
