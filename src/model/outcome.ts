import type { Status } from './errors.js'
import type { Day } from './trading-day.js'

/** One piece of a stream's work: a stock, an index, a list. `fileName` is safe and unique within the stream. */
export interface Item<T = unknown> {
  /** What people call it: the symbol, or the list's name. */
  readonly key: string
  /** Its place in the list it came from; one-file outputs keep that order. */
  readonly rank: number
  readonly fileName: string
  readonly value: T
}

/** The rows of an item, which may be walked any number of times. An array is one. */
export interface RowList<R = unknown> extends Iterable<R> {
  readonly length: number
  /** The rows as lines of CSV, where they came from the provider's bytes as such. Never changed. */
  readonly csv?: Uint8Array
}

/** What an item's work brought home. */
export interface Found<R = unknown> {
  readonly status: 'success' | 'skipped' | 'empty'
  readonly rows: RowList<R>
  /** Why the rows may be fewer than the provider holds: a path or a page that failed. */
  readonly degraded?: string
  /** The kind of that failure, as of `CollectError.code`. */
  readonly code?: string
  /** Whether that path or page failed for a reason that may be gone later. */
  readonly isTemporary?: boolean
  /** The rows are all that there is: they take the place of what is stored. */
  readonly whole?: boolean
  /** Why a stored file is replaced as a whole or repaired. */
  readonly remark?: string
  /** The day of the newest candle that the item then has, stored before or found now. */
  readonly newest?: Day
}

/** An item whose work has ended, well or not. */
export interface Settled<R = unknown> {
  readonly item: Item
  readonly status: Status
  readonly rows: RowList<R>
  readonly degraded?: string
  readonly whole?: boolean
  readonly remark?: string
  /** The day of the newest candle of a series. */
  readonly newest?: Day
  /** Why it failed; absent on `success`, `skipped` and `empty`. */
  readonly reason?: string
  /** The kind of failure, as of `CollectError.code`: of `reason`, or of `degraded`. */
  readonly code?: string
  /** Whether what failed, wholly or in part, may succeed later. */
  readonly isTemporary?: boolean
}

/** A settled item as an app is handed it. */
export interface Collected<R = unknown> extends Settled<R> {
  readonly rows: readonly R[]
}

/** Rows were asked for and came; none at all is `empty`. */
export const found = <R>(rows: RowList<R>, degraded?: string): Found<R> => ({
  status: rows.length > 0 ? 'success' : 'empty',
  rows,
  ...(degraded === undefined ? {} : { degraded }),
})

/** What is stored is all there is: nothing had to be asked, or nothing came since. */
export const skipped: Found<never> = { status: 'skipped', rows: [] }

/** Whether the provider answered for this item, so that what it said replaces what was known. */
export const isAnswered = ({ status }: { readonly status: Status }): boolean => status === 'success' || status === 'empty'

/** Whether something that was asked for did not arrive. */
export const isLost = ({ status }: { readonly status: Status }): boolean => !['success', 'empty', 'skipped'].includes(status)
