import { defer, map, type OperatorFunction, reduce } from 'rxjs'

/**
 * Reduces rows to a list with one row a key, in the order in which the keys came; emits at completion. The first row with a key is
 * kept unless `replaces` prefers a later one, which then takes its place.
 */
export const uniqueBy =
  <R>(keyOf: (row: R) => string, replaces: (later: R, kept: R) => boolean = () => false): OperatorFunction<R, readonly R[]> =>
  (row$) =>
    defer(() => {
      const rows = new Map<string, R>()
      const keep = (_: typeof rows, row: R): typeof rows => {
        const key = keyOf(row)
        const kept = rows.get(key)
        return kept === undefined || replaces(row, kept) ? rows.set(key, row) : rows
      }
      return row$.pipe(reduce(keep, rows))
    }).pipe(map((rows) => [...rows.values()]))
