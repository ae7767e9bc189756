import { defer, map, type OperatorFunction, reduce } from 'rxjs'

type Replaces<R> = (later: R, current: R) => boolean

/**
 * Reduces rows to a list with one row per key, in the order of first appearance; emits on completion. The
 * first row of a key wins unless `replaces` prefers a later one, which then takes its position.
 *
 * @example from(rows).pipe(uniqueBy(({ id }) => id, (later, current) => later.date > current.date))
 */
export const uniqueBy =
  <R>(
    keyOf: (row: R) => string,
    replaces: (later: R, current: R) => boolean = () => false,
  ): OperatorFunction<R, readonly R[]> =>
  (row$) =>
    defer(() => row$.pipe(reduce(addUnique(keyOf, replaces), new Map<string, R>()))).pipe(
      map((rows) => [...rows.values()]),
    )

/** The same for a list, without passing each of its rows through an Observable. */
export const keepUnique = <R>(
  rows: readonly R[],
  keyOf: (row: R) => string,
  replaces: Replaces<R>,
): readonly R[] => [...rows.reduce(addUnique(keyOf, replaces), new Map<string, R>()).values()]

const addUnique =
  <R>(keyOf: (row: R) => string, replaces: Replaces<R>) =>
  (rows: Map<string, R>, row: R): Map<string, R> => {
    const key = keyOf(row)
    const current = rows.get(key)
    return current === undefined || replaces(row, current) ? rows.set(key, row) : rows
  }

/**
 * Sorts each list by a text key, greatest first (newest first for dates). Stable: rows with the same key keep
 * their order.
 *
 * @example rows$.pipe(sortDescending(({ date }) => date))
 */
export const sortDescending = <R>(keyOf: (row: R) => string): OperatorFunction<readonly R[], readonly R[]> =>
  map((rows) => sortListDescending(rows, keyOf))

/** The same for a list. */
export const sortListDescending = <R>(rows: readonly R[], keyOf: (row: R) => string): readonly R[] =>
  rows
    .map((row) => ({ row, key: keyOf(row) }))
    .sort((one, other) => (one.key < other.key ? 1 : one.key > other.key ? -1 : 0))
    .map(({ row }) => row)
