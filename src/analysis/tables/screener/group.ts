import type { ViewColumn } from '../view.js'

/** Columns of the screener from one source. */
export interface ScreenerGroup {
  /** What the columns are about. */
  readonly title: string
  readonly needs: readonly string[]
  /** Common table expressions; the one with the name of the group has one row for each ISIN. */
  readonly with: readonly string[]
  /** Its alias in the columns. */
  readonly alias: string
  readonly columns: readonly ViewColumn[]
}
