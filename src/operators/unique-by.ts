import { defer, map, type OperatorFunction, reduce } from 'rxjs'

/**
 * Reduces rows to a list with one row per key, in the order of first appearance; emits on completion. The first row of a key wins unless
 * `replaces` prefers a later one, which then takes its position.
 *
 * @example from(rows).pipe(uniqueBy(({ id }) => id, (later, current) => later.date > current.date))
 */
export const uniqueBy =
  <R>(keyOf: (row: R) => string, replaces: (later: R, current: R) => boolean = () => false): OperatorFunction<R, readonly R[]> =>
  (row$) =>
    defer(() => {
      const rows = new Map<string, R>()
      const addRow = (_: typeof rows, row: R): typeof rows => {
        const key = keyOf(row)
        const current = rows.get(key)
        return current === undefined || replaces(row, current) ? rows.set(key, row) : rows
      }
      return row$.pipe(reduce(addRow, rows))
    }).pipe(map((rows) => [...rows.values()]))
