import { type MonoTypeOperatorFunction, map, type OperatorFunction, tap } from 'rxjs'
import { RefusedError } from '../market/never-worse.js'
import { type Found, found } from '../model/outcome.js'
import type { Tools } from './define-stream.js'

/** The rows of an answer, and the total that it reports (`tot_rec`), if it does. */
export interface Counted<R> {
  readonly rows: readonly R[]
  readonly total?: number | undefined
}

/** Reads the reported total of an answer. */
export const totalOf = (value: unknown): number | undefined => {
  const total = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof total === 'number' && total >= 0 ? total : undefined
}

/**
 * Compares a list with its reported total. Errors with a `RefusedError` (`count`) if rows are missing, unless the run accepts that. A list
 * of as many rows as requested may be cut off, because one request returns no more: that is a warning, or, if its total is higher, the
 * reason why the list counts as incomplete.
 */
export const notCut = <R>(asked: number, { accepts, notice }: Pick<Tools, 'accepts' | 'notice'>): OperatorFunction<Counted<R>, Found<R>> =>
  map(({ rows, total = 0 }) => {
    const isFull = rows.length >= asked
    const records = `the list has ${inThousands(rows.length)} rows`
    if (rows.length >= total) {
      if (isFull) notice(`${records}${MORE}`)
      return found(rows)
    }
    const lacking = `${records} but reports a total of ${inThousands(total)}`
    if (accepts('count')) notice(`accepted although rows are missing: ${lacking}`)
    else if (isFull) return found(rows, `count: ${lacking}; one request returns no more`)
    else throw new RefusedError('count', lacking)
    return found(rows)
  })

/** Warns about a list of as many rows as requested, if its total is unknown. */
export const noticeIfFull = <R>(asked: number, { notice }: Pick<Tools, 'notice'>, list: string): MonoTypeOperatorFunction<readonly R[]> =>
  tap((rows) => {
    if (rows.length >= asked) notice(`${list}: the list has ${inThousands(rows.length)} rows${MORE}`)
  })

const MORE = ', the maximum of one request; more may exist'

const inThousands = (count: number): string => count.toLocaleString('en-US')
