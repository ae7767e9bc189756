import { asyncScheduler } from 'rxjs'
import { TransportError } from '../model/errors.js'
import type { Transfer } from '../operators/deadline.js'
import { type HealthSignal, inconclusive } from './health-signal.js'
import type { Limiter, Permit } from './limiter.js'
import { isDown, isRefusing, type LimiterSettings } from './state.js'

/** What the limiter needs to know of a request. */
export interface ScheduleOptions {
  /** The stock, index or list that it is for. */
  readonly item: string
  /** It is one of a few lists: no other items can show whether the failure is the host's or the item's. */
  readonly isList?: boolean
  /** The idle timeout of the request. */
  readonly idleMs: number
  /** The caller has another source: fail at once while the circuit is open. */
  readonly failFast?: boolean
  /** The request was refused and waits by itself: its worker can do other work. */
  readonly onOwnPause?: () => void
}

/** What the endpoints of a host share. */
export interface HostContext {
  readonly limiter: Limiter
  readonly endpoints: Limiter[]
  readonly itemFailures: ReturnType<typeof createItemFailures>
  readonly link: NetworkLink
  readonly now: () => number
  readonly settings: LimiterSettings
}

/** Who sends an attempt. */
export interface AttemptContext {
  readonly host: HostContext
  readonly endpoint: Limiter
  readonly options: ScheduleOptions
}

/** The signal of a failure for the limiters: none if the item fails by itself. No item is to blame for a host that cannot be reached. */
export const judgeFailure = (
  signal: HealthSignal,
  { host: { limiter, itemFailures }, endpoint: { name }, options: { item, isList = false } }: AttemptContext,
): HealthSignal => {
  if (signal.kind !== 'trouble' || signal.sign === 'unreachable') return signal
  const isOwn = itemFailures.isOwn(`${name} ${item}`, isList)
  if (!isOwn || limiter.state.backoff !== undefined) return signal
  return signal.sign === 'slow' ? { kind: 'slow' } : inconclusive
}

/** Returns the permits of an attempt: both limiters learn from its signal. */
export const releasePermits = (
  [endpointPermit, hostPermit]: readonly [Permit, Permit],
  signal: HealthSignal,
  { host, endpoint, options: { item, isList = false } }: AttemptContext,
): void => {
  const { limiter, itemFailures, link } = host
  if (signal.kind === 'answered') itemFailures.onAnswer(`${endpoint.name} ${item}`)
  const isHostFailure = signal.kind === 'trouble' && signal.sign !== 'item'
  const isOneItemEnough = link.served === 0 || (isHostFailure && (itemFailures.answers() === 0 || isList))
  if (signal.kind === 'refused' || signal.kind === 'non-answer') {
    endpoint.release(endpointPermit, { signal, item, isOneItemEnough: false })
    // One refusing endpoint backs off alone; a second one makes the whole host back off.
    const isForAll = isRefusing(endpoint.state, host.now()) && isOtherRefusing(host, endpoint)
    const hostSignal = signal.kind === 'refused' ? { ...signal, isCertain: true } : signal
    limiter.release(hostPermit, { signal: isForAll ? hostSignal : inconclusive, item, isOneItemEnough })
    return
  }
  limiter.release(hostPermit, { signal, item, isOneItemEnough, isList })
  const isForHost = signal.kind === 'slow' || (signal.kind === 'trouble' && isDown(limiter.state))
  endpoint.release(endpointPermit, { signal: isForHost ? inconclusive : signal, item, isOneItemEnough: isHostFailure && isList, isList })
}

const isOtherRefusing = ({ endpoints, now }: HostContext, endpoint: Limiter): boolean =>
  endpoints.some((other) => other !== endpoint && isRefusing(other.state, now()))

/** Tells the failures of single items from those of their host. */
export const createItemFailures = () => {
  /** The number of answers when an item last failed; -1 for items that fail by themselves. */
  const answersAtFailure = new Map<string, number>()
  let answers = 0
  return {
    /** Answers of the host so far. */
    answers: (): number => answers,
    onAnswer: (key: string): void => {
      answers += 1
      answersAtFailure.delete(key)
    },
    /**
     * Whether a failure is the item's own: it has failed before, and the host has answered others since. Such an item stays the cause of its
     * failures until it is answered; a list is judged anew each time, because few others show whether the host works.
     */
    isOwn: (key: string, isList: boolean): boolean => {
      const isOwn = (answersAtFailure.get(key) ?? answers) < answers
      answersAtFailure.set(key, isOwn && !isList ? -1 : answers)
      return isOwn
    },
  }
}

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
const isSaturated = ({ bytesAt, answerMs }: NetworkLink, idleMs: number, now: number): boolean =>
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
