import { asyncScheduler } from 'rxjs'
import { TransportError } from '../../model/errors.js'
import type { Transfer } from '../../operators/deadline.js'

/** The way to all hosts of a run: how fast it is tells a slow line from a host that is away. Instants are epoch milliseconds. */
export interface Line {
  /** When the last bytes came, from whichever host. */
  bytesAt: number
  /** Answers to requests that were served. */
  served: number
  /** Time from a request to its whole answer, smoothed; undefined before the first. */
  answerMs: number | undefined
}

export const newLine = (): Line => ({ bytesAt: 0, served: 0, answerMs: undefined })

/** The weight of the newest answer. */
const SMOOTHING = 0.1
/** A line whose answers take this share of the time-out is so full that some take longer. */
const SATURATED_SHARE = 1 / 4

export const noteAnswer = (line: Line, ms: number): void => {
  line.served += 1
  line.answerMs = line.answerMs === undefined ? ms : line.answerMs + SMOOTHING * (ms - line.answerMs)
}

/** Whether a request that brought nothing for `idleMs` was slowed down by others on the same line: bytes come, and every answer is slow. */
export const isSaturated = ({ bytesAt, answerMs }: Line, idleMs: number, now: number): boolean =>
  bytesAt > now - idleMs && (answerMs === undefined || answerMs > idleMs * SATURATED_SHARE)

/** A request that ran out of time on a full line is not its host's fault: fewer of them are sent at once, and it is sent again. */
export const slowIfSaturated = (error: unknown, line: Line, idleMs: number): unknown => {
  if (!(error instanceof TransportError) || error.reason !== 'deadline' || !isSaturated(line, idleMs, asyncScheduler.now())) return error
  const { message, hasBegun, asked } = error
  const slow = new TransportError('slow', `${message.replace(/^deadline: /, '')} on a line that is full`, { cause: error, hasBegun })
  return asked === undefined ? slow : Object.assign(slow, { asked })
}

/** The transfer of one answer, whose bytes count for the line as well. */
export const transferOn = (line: Line): Transfer => {
  let bytesAt = 0
  return {
    get bytesAt() {
      return bytesAt
    },
    set bytesAt(at) {
      bytesAt = at
      if (at < Number.POSITIVE_INFINITY) line.bytesAt = at
    },
  }
}
