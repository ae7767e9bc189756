import { map, type OperatorFunction } from 'rxjs'

/**
 * Sorts each list by a text key, greatest first (newest first for dates). Stable: rows with the same key keep their order.
 *
 * @example rows$.pipe(sortDescending(({ date }) => date))
 */
export const sortDescending = <R>(keyOf: (row: R) => string): OperatorFunction<readonly R[], readonly R[]> =>
  map((rows) =>
    rows
      .map((row) => ({ row, key: keyOf(row) }))
      .sort((one, other) => (one.key < other.key ? 1 : one.key > other.key ? -1 : 0))
      .map(({ row }) => row),
  )
