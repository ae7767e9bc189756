import { type MonoTypeOperatorFunction, map, type OperatorFunction, tap } from 'rxjs'
import { RefusedError } from '../market/never-worse.js'
import { type Found, found } from '../model/outcome.js'
import type { Tools } from './define-stream.js'

/** The rows of an answer, and how many the answer says that there are (`tot_rec`); nothing where it does not say. */
export interface Counted<R> {
  readonly rows: readonly R[]
  readonly total?: number | undefined
}

/** A count as a number, where an answer gives one. */
export const totalOf = (value: unknown): number | undefined => {
  const total = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof total === 'number' && total >= 0 ? total : undefined
}

/**
 * Lets a list pass that holds as many rows as it says. Errors with a `RefusedError` (`count`) if it holds fewer, unless the run accepts
 * that. A list of as many rows as were asked for is all that one request can bring: there may be more, which is a notice, or, where
 * its own count says so, the reason why it counts as incomplete.
 */
export const notCut = <R>(asked: number, { accepts, notice }: Pick<Tools, 'accepts' | 'notice'>): OperatorFunction<Counted<R>, Found<R>> =>
  map(({ rows, total = 0 }) => {
    const isFull = rows.length >= asked
    const records = `the list holds ${inThousands(rows.length)} rows`
    if (rows.length >= total) {
      if (isFull) notice(`${records}${MORE}`)
      return found(rows)
    }
    const lacking = `${records} and says that there are ${inThousands(total)}`
    if (accepts('count')) notice(`accepted although rows are missing: ${lacking}`)
    else if (isFull) return found(rows, `count: ${lacking}, but one request brings no more`)
    else throw new RefusedError('count', lacking)
    return found(rows)
  })

/** Tells of a list of as many rows as were asked for, where nothing says how many there are. */
export const noticeIfFull = <R>(asked: number, { notice }: Pick<Tools, 'notice'>, list: string): MonoTypeOperatorFunction<readonly R[]> =>
  tap((rows) => {
    if (rows.length >= asked) notice(`${list}: the list holds ${inThousands(rows.length)} rows${MORE}`)
  })

const MORE = ', as many as one request asks for: there may be more'

const inThousands = (count: number): string => count.toLocaleString('en-US')
