import type { ViewColumn } from '../view.js'

export interface ScreenerColumn extends ViewColumn {
  /** The groups that its SQL reads, beside the identity; its own if absent. */
  readonly reads?: readonly GroupName[]
}

export type GroupName =
  | 'price'
  | 'history'
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
export const reading = (reads: readonly GroupName[], column: ViewColumn): ScreenerColumn => ({ ...column, reads })
