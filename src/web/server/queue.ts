import { UsageError } from '../../model/errors.js'
import type { QueryAnswer, QueryRequest } from '../api/query.js'

const MAX_RUNNING = 2

export type Work<Asked, Answer> = (asked: Asked, signal: AbortSignal) => Promise<Answer>

/** Answers a query. */
export type QueryRunner = Work<QueryRequest, QueryAnswer>

/** Lets two at a time run; the others wait for their turn, in order. One whose reader leaves gives up its place. */
export const queueWork = <Asked, Answer>(run: Work<Asked, Answer>, maxWaiting: number): Work<Asked, Answer> => {
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
  return async (asked, signal) => {
    if (signal.aborted) throw new UsageError('stopped')
    if (waiting.length >= maxWaiting) throw new UsageError(`${maxWaiting} queries are waiting already; stop one, or try again later`)
    if (running < MAX_RUNNING) running += 1
    else await waitForTurn(signal)
    try {
      return await run(asked, signal)
    } finally {
      // The next one takes the place over.
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
