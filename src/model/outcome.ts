import type { CollectError, ErrorCode, FailureCause, Status } from './errors.js'
import type { Day } from './trading-day.js'

/**
 * One piece of a stream's work: a stock, an index, a list. `fileName` is safe and unique within the stream.
 */
export interface Item<T = unknown> {
  /** The symbol, or the list's name. */
  readonly key: string
  /** Its index in the list it came from; one-file outputs keep that order. */
  readonly rank: number
  readonly fileName: string
  readonly value: T
  /** The ISINs that the stock had in earlier lists. */
  readonly earlierIsins?: readonly string[]
}

/** The rows of an item; iterable more than once. An array is a `RowList`. */
export interface RowList<R = unknown> extends Iterable<R> {
  readonly length: number
  /** The rows as lines of CSV, if they are the provider's own bytes. Never changed. */
  readonly csv?: Uint8Array
}

/** The result of an item's work, if it did not fail. */
export interface ItemResult<R = unknown> {
  readonly status: 'success' | 'skipped' | 'empty'
  readonly rows: RowList<R>
  /** Why rows may be missing: a path or a page failed. */
  readonly degraded?: string
  /** The `CollectError.code` of `degraded`, or of the failure of the item. */
  readonly code?: ErrorCode
  /** The `CollectError.causes` of the same failure. */
  readonly causes?: readonly FailureCause[]
  /** Whether that failure may be gone later. */
  readonly isTemporary?: boolean
  /** The rows are complete and replace the stored ones. */
  readonly whole?: boolean
  /** Why a stored file is replaced as a whole or repaired. */
  readonly remark?: string
  /** The day of the only candle that is replaced; absent if all are, or none. */
  readonly onlyDay?: Day
  /**
   * The newest session of the item, stored earlier or fetched now: the day of its newest candle, or of its
   * file.
   */
  readonly newest?: Day
}

/** The outcome of an item, successful or failed. */
export interface ItemOutcome<R = unknown> extends Omit<ItemResult<R>, 'status'> {
  readonly item: Item
  readonly status: Status
  /** Why it failed; absent on `success`, `skipped` and `empty`. */
  readonly reason?: string
  /**
   * The error with which it failed, with its request, its response and its `cause`. Only if this process did
   * the work: an outcome of a fleet's worker has `reason`, `code` and `causes` alone.
   */
  readonly error?: CollectError
}

/** The statuses of an item that did not fail. */
type GoodStatus = ItemResult['status']

/**
 * The outcome of an item as an app receives it: its rows are an array. `status` tells whether it failed; only
 * then it has a `reason`, a `code`, and no rows.
 */
export type PublicOutcome<R = unknown> =
  | (Omit<ItemOutcome<R>, 'status' | 'rows' | 'reason' | 'error'> & {
      readonly status: GoodStatus
      readonly rows: readonly R[]
      readonly reason?: undefined
      readonly error?: undefined
    })
  | (Omit<ItemOutcome<R>, 'status' | 'rows'> & {
      readonly status: Exclude<Status, GoodStatus>
      readonly rows: readonly never[]
      readonly reason: string
      readonly code: ErrorCode
    })

export const toPublicOutcome = (outcome: ItemOutcome): PublicOutcome =>
  ({ ...outcome, rows: [...outcome.rows] }) as unknown as PublicOutcome

/** The result for fetched rows: `success`, or `empty` if there are none. */
export const createResult = <R>(rows: RowList<R>, degraded?: string): ItemResult<R> => ({
  status: rows.length > 0 ? 'success' : 'empty',
  rows,
  ...(degraded === undefined ? {} : { degraded }),
})

/** The stored rows are up to date: no request was needed, or it brought nothing new. */
export const skippedResult: ItemResult<never> = { status: 'skipped', rows: [] }

/** Whether the provider answered for this item, so that the answer replaces what is stored. */
export const isAnswered = ({ status }: { readonly status: Status }): boolean =>
  status === 'success' || status === 'empty'

export const isLost = ({ status }: { readonly status: Status }): boolean =>
  !['success', 'empty', 'skipped'].includes(status)
