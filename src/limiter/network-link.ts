import { asyncScheduler } from 'rxjs'
import { TransportError } from '../model/errors.js'
import type { Transfer } from '../operators/deadline.js'

/** Measurements of the network link, shared by all hosts of a run. They tell a saturated link from a host that is down. */
export interface NetworkLink {
  /** When the last bytes arrived from any host, epoch milliseconds. */
  bytesAt: number
  /** Requests answered so far. */
  served: number
  /** Moving average (EWMA) of the time to a complete reply; undefined before the first. */
  answerMs: number | undefined
}

export const createNetworkLink = (): NetworkLink => ({ bytesAt: 0, served: 0, answerMs: undefined })

/** EWMA weight of the newest reply. */
const EWMA_WEIGHT = 0.1
/** Above this share of the timeout, the average reply time means that some requests time out by load alone. */
const SATURATED_SHARE = 1 / 4

export const recordReply = (link: NetworkLink, ms: number): void => {
  link.served += 1
  link.answerMs = link.answerMs === undefined ? ms : link.answerMs + EWMA_WEIGHT * (ms - link.answerMs)
}

/** Whether a saturated link explains a request without a byte for `idleMs`: other bytes arrive, and every reply is slow. */
export const isSaturated = ({ bytesAt, answerMs }: NetworkLink, idleMs: number, now: number): boolean =>
  bytesAt > now - idleMs && (answerMs === undefined || answerMs > idleMs * SATURATED_SHARE)

/** Turns a timeout on a saturated link into `slow`: the limiter lowers concurrency instead of blaming the host, and retries. */
export const reclassifyTimeout = (error: unknown, link: NetworkLink, idleMs: number): unknown => {
  if (!(error instanceof TransportError) || error.reason !== 'deadline' || !isSaturated(link, idleMs, asyncScheduler.now())) return error
  const { detail, hasBegun, request } = error
  return new TransportError('slow', `${detail} on a saturated network link`, { cause: error, hasBegun, request })
}

/** The transfer of one reply; its bytes also count for the link. */
export class LinkTransfer implements Transfer {
  isComplete = false
  private lastBytesAt = 0
  constructor(private readonly link: NetworkLink) {}

  get bytesAt(): number {
    return this.lastBytesAt
  }

  set bytesAt(at: number) {
    this.lastBytesAt = at
    if (at < Number.POSITIVE_INFINITY) this.link.bytesAt = at
  }
}
