import { type MonoTypeOperatorFunction, map, type OperatorFunction, tap } from 'rxjs'
import { RefusedError } from '../market/never-worse.js'
import { createResult, type ItemResult } from '../model/outcome.js'
import type { Tools } from './define-stream.js'

/** The rows of an answer, and the total that it reports (`tot_rec`), if it does. */
export interface CountedRows<R> {
  readonly rows: readonly R[]
  readonly total?: number | undefined
}

/** Reads the reported total of an answer. */
export const parseTotal = (value: unknown): number | undefined => {
  const total = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof total === 'number' && total >= 0 ? total : undefined
}

/**
 * Compares a list with its reported total. Errors with a `RefusedError` (`count`) if rows are missing, unless the run accepts that. A list
 * of as many rows as requested may be cut off, because one request returns no more: that is a warning, or, if its total is higher, the
 * reason why the list counts as incomplete.
 */
export const rejectTruncated = <R>(
  asked: number,
  { accepts, warn }: Pick<Tools, 'accepts' | 'warn'>,
): OperatorFunction<CountedRows<R>, ItemResult<R>> =>
  map(({ rows, total = 0 }) => {
    const isFull = rows.length >= asked
    const records = `the list has ${formatThousands(rows.length)} rows`
    if (rows.length >= total) {
      if (isFull) warn(`${records}${MORE_MAY_EXIST}`)
      return createResult(rows)
    }
    const lacking = `${records} but reports a total of ${formatThousands(total)}`
    if (accepts('count')) warn(`accepted although rows are missing: ${lacking}`)
    else if (isFull) return createResult(rows, `count: ${lacking}; one request returns no more`)
    else throw new RefusedError('count', lacking)
    return createResult(rows)
  })

/** Warns about a list of as many rows as requested, if its total is unknown. */
export const warnIfFull = <R>(asked: number, { warn }: Pick<Tools, 'warn'>, list: string): MonoTypeOperatorFunction<readonly R[]> =>
  tap((rows) => {
    if (rows.length >= asked) warn(`${list}: the list has ${formatThousands(rows.length)} rows${MORE_MAY_EXIST}`)
  })

const MORE_MAY_EXIST = ', the maximum of one request; more may exist'

const formatThousands = (count: number): string => count.toLocaleString('en-US')
