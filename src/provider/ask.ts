import { defer, Observable } from 'rxjs'
import { BadAnswer, HttpError, Throttled } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import { deadline } from '../operators/deadline.js'
import { retryFailures } from '../operators/retry-failures.js'
import type { Slot } from '../operators/slot.js'
import type { ShapeWatch } from './drift.js'
import type { AnyEndpoint, Endpoint } from './endpoint.js'
import type { Gates } from './gate/gates.js'
import type { HostGate } from './gate/host-gate.js'
import { createTransfer } from './gate/network-link.js'
import { decodeReply, type RequestEnd } from './reading.js'
import { requestsTo } from './request.js'
import { parseRetryAfter } from './retry-after.js'
import type { HttpReply, HttpRequest, Transport } from './transport.js'

/**
 * Sends one request to the provider. Emits the answer once, or errors with the last failure after the retries. This is the only place that
 * retries, and it repeats one request, never a whole item. Unsubscribing aborts the request.
 */
export type Ask = <Input, Answer>(endpoint: Endpoint<Input, Answer>, input: NoInfer<Input>, how?: AskOptions) => Observable<Answer>

export interface AskOptions {
  /** The caller has another source: fail at once while the host's circuit is open, instead of waiting. */
  readonly failFast?: boolean
}

/** The total timeout is this multiple of the idle timeout. */
const TOTAL_FACTOR = 6

export interface AskDependencies {
  readonly transport: Transport
  readonly settings: Settings
  /** Shared by all streams of the run. */
  readonly gates: Gates
  /** Idle timeout of one attempt (no byte received); the total timeout is six times as long. Time in the limiter's queue does not count. */
  readonly timeoutMs: number
  readonly random: () => number
  /** The current instant, epoch milliseconds; the base of `Retry-After`. */
  readonly clock: () => number
  /** The drift check of an endpoint's answers. */
  readonly drift?: (endpoint: AnyEndpoint) => ShapeWatch | undefined
  /** The items are a few lists, not stocks or indices. */
  readonly isList?: boolean
  readonly tell: (type: 'requested' | 'retried' | 'rate-limited') => void
  /** Receives the end of each request. */
  readonly watch?: ((end: RequestEnd) => void) | undefined
}

/** Creates the request function of an item. Its worker slot is released as soon as the answers have arrived, before they are decoded. */
export const createAsk = ({
  transport,
  settings,
  gates: limiters,
  timeoutMs,
  random,
  clock,
  tell: onRequestEvent,
  drift,
  watch,
  isList = false,
}: AskDependencies): ((slot: Slot, item?: string) => Ask) => {
  const { retries, throttleRetries, backoffMs, throttleMaxMs: longestPauseMs } = settings
  const policy = { retries, throttleRetries, backoffMs, longestPauseMs, random }
  const prepared = new Map<AnyEndpoint, PreparedEndpoint>()
  const prepare = (endpoint: AnyEndpoint): PreparedEndpoint => {
    const target = prepared.get(endpoint) ?? { request: requestsTo(endpoint, settings, timeoutMs), limiter: limiters.of(endpoint) }
    prepared.set(endpoint, target)
    return target
  }
  const acceptReply = (reply: HttpReply): HttpReply => {
    if (reply.status === 200 && reply.body.length === 0) throw new BadAnswer('empty', 'the body is empty')
    if (reply.status === 200) return reply
    const pauseMs = parseRetryAfter(reply.retryAfter, clock())
    if (reply.status !== 429) throw new HttpError(reply.status, pauseMs)
    onRequestEvent('rate-limited')
    throw new Throttled(pauseMs)
  }
  return (slot, item = '') =>
    (endpoint, input, { failFast = false } = {}) => {
      const { request: toRequest, limiter } = prepare(endpoint)
      const request = toRequest(input)
      const options = { item, isList, idleMs: timeoutMs, failFast }
      return new Observable((subscriber) => {
        const use = slot.use()
        let sent = 0
        const attempt$ = defer(() => {
          if (sent++ > 0) onRequestEvent('retried')
          onRequestEvent('requested')
          // No Subject: every minor GC would copy the state that each waiting request keeps.
          let notifyArrival = (): void => undefined
          const arrived$ = new Observable<void>((observer) => {
            notifyArrival = () => observer.next()
          })
          const arrived = (): void => {
            notifyArrival()
            // While the host recovers, retries of started items go before requests of new ones.
            if (!limiter.isInTrouble()) use.give()
          }
          const transfer = createTransfer(limiters.line)
          return transport({ ...request, arrived, transfer }).pipe(
            deadline({ idleMs: timeoutMs, totalMs: timeoutMs * TOTAL_FACTOR, transfer, arrived$ }),
            decodeReply(endpoint, (reply) => readAnswer(endpoint, acceptReply(reply), input, drift?.(endpoint), item), { clock, watch }),
          )
        })
        use.hold(limiter.through(attempt$, options)).pipe(retryFailures(policy)).subscribe(subscriber)
        subscriber.add(use.give)
      })
    }
}

interface PreparedEndpoint {
  readonly request: (input: unknown) => HttpRequest
  readonly limiter: HostGate
}

const readAnswer = <Input, Answer>(
  endpoint: Endpoint<Input, Answer>,
  reply: HttpReply,
  input: Input,
  drift: ShapeWatch | undefined,
  item: string,
): Answer => {
  const answer = endpoint.readBytes?.(reply.body)
  if (answer === undefined) return endpoint.read(readText(reply, endpoint), input, drift?.of(item))
  drift?.asExpected()
  return answer
}

/** Without a stated length, truncated JSON or HTML still lacks its end, but a CSV that lost its last lines looks complete. */
const readText = ({ body, isUnframed }: HttpReply, { type }: Pick<AnyEndpoint, 'type'>): string => {
  if (isUnframed && type === 'text/csv') throw new BadAnswer('truncated', 'the CSV may be incomplete: the reply states no length')
  return decodeUtf8(body)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

const decodeUtf8 = (body: Uint8Array): string => {
  try {
    return utf8.decode(body)
  } catch {
    throw new BadAnswer('encoding', 'the body is not UTF-8')
  }
}
