import { UsageError } from '../../model/errors.js'
import type { QueryAnswer, QueryRequest } from '../api/query.js'

const MAX_RUNNING = 2

/** Answers a query. */
export type QueryRunner = (request: QueryRequest, signal: AbortSignal) => Promise<QueryAnswer>

/**
 * The lines of a whole result as CSV. It throws a `UsageError` before the first one if the statement is
 * refused.
 */
export type CsvExport = (
  request: Pick<QueryRequest, 'sql' | 'day'>,
  signal: AbortSignal,
) => AsyncIterable<Uint8Array>

/**
 * Lets two at a time run; the others wait for their turn, in order. One whose reader leaves gives up its
 * place.
 */
export const createQueue = (maxWaiting: number) => {
  let running = 0
  const waiting: (() => void)[] = []
  const waitForTurn = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        waiting.splice(waiting.indexOf(begin), 1)
        reject(new UsageError('stopped'))
      }
      waiting.push(begin)
      signal.addEventListener('abort', leave, { once: true })
    })
  return async <Answer>(work: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> => {
    if (signal.aborted) throw new UsageError('stopped')
    if (waiting.length >= maxWaiting)
      throw new UsageError(`${maxWaiting} queries are waiting already; stop one, or try again later`)
    if (running < MAX_RUNNING) running += 1
    else await waitForTurn(signal)
    try {
      return await work()
    } finally {
      // The next one takes the place over.
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
