import { defer, Observable } from 'rxjs'
import { BadAnswer, HttpError, Throttled } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import { deadline } from '../operators/deadline.js'
import { retryFailures } from '../operators/retry-failures.js'
import type { Slot } from '../operators/slot.js'
import type { Watch } from './drift.js'
import type { AnyEndpoint, Endpoint } from './endpoint.js'
import type { Gates } from './gate/gates.js'
import type { HostGate } from './gate/host-gate.js'
import { transferOn } from './gate/line.js'
import { type RequestEnd, reading } from './reading.js'
import { requestsTo } from './request.js'
import { retryAfterMs } from './retry-after.js'
import type { HttpReply, HttpRequest, Transport } from './transport.js'

/**
 * Asks the provider. Emits the answer once, or errors with what is left after the retries; it is the only place that retries, and
 * what it repeats is one request. Unsubscribing aborts the request.
 */
export type Ask = <Input, Answer>(endpoint: Endpoint<Input, Answer>, input: NoInfer<Input>, how?: AskHow) => Observable<Answer>

export interface AskHow {
  /** There is another source to turn to: while the host is away the request fails at once instead of waiting for it. */
  readonly failFast?: boolean
}

/** An answer may take so many times the longest silence in all. */
const TOTAL_FACTOR = 6

export interface AskOptions {
  readonly transport: Transport
  readonly settings: Settings
  /** Of all streams of the run: they share what a host allows. */
  readonly gates: Gates
  /** The longest time without a byte that one attempt is granted, six times as long in all; waiting for the host's gate is none of it. */
  readonly timeoutMs: number
  readonly random: () => number
  /** The current instant, epoch milliseconds; dates in `Retry-After` count from it. */
  readonly clock: () => number
  /** Looks at the shape of what a call answers. */
  readonly drift?: (endpoint: AnyEndpoint) => Watch | undefined
  /** Whether the items are a few lists, not stocks or indices. */
  readonly isList?: boolean
  readonly tell: (what: 'requested' | 'retried' | 'rate-limited') => void
  /** Hears how each request ended. */
  readonly watch?: ((end: RequestEnd) => void) | undefined
}

/** How an item asks: with its worker, which is free again as soon as its answers are in, before they are read. */
export const createAsk = ({
  transport,
  settings,
  gates,
  timeoutMs,
  random,
  clock,
  tell,
  drift,
  watch,
  isList = false,
}: AskOptions): ((slot: Slot, whom?: string) => Ask) => {
  const { retries, throttleRetries, backoffMs, throttleMaxMs: longestPauseMs } = settings
  const policy = { retries, throttleRetries, backoffMs, longestPauseMs, random }
  const known = new Map<AnyEndpoint, Known>()
  const knownOf = (endpoint: AnyEndpoint): Known => {
    const one = known.get(endpoint) ?? { request: requestsTo(endpoint, settings, timeoutMs), gate: gates.of(endpoint) }
    known.set(endpoint, one)
    return one
  }
  const accepted = (reply: HttpReply): HttpReply => {
    if (reply.status === 200 && reply.body.length === 0) throw new BadAnswer('empty', 'the body is empty')
    if (reply.status === 200) return reply
    const askedForMs = retryAfterMs(reply.retryAfter, clock())
    if (reply.status !== 429) throw new HttpError(reply.status, askedForMs)
    tell('rate-limited')
    throw new Throttled(askedForMs)
  }
  return (slot, whom = '') =>
    (endpoint, input, { failFast = false } = {}) => {
      const { request: requestFor, gate } = knownOf(endpoint)
      const request = requestFor(input)
      const asker = { item: whom, isList, idleMs: timeoutMs, failFast }
      return new Observable((subscriber) => {
        const { hold, give } = slot.use()
        let sent = 0
        const attempt$ = defer(() => {
          if (sent++ > 0) tell('retried')
          tell('requested')
          // No subject: what each request holds while it waits is copied by every collection of young memory.
          let inTime = (): void => undefined
          const arrived$ = new Observable<void>((waiting) => {
            inTime = () => waiting.next()
          })
          const arrived = (): void => {
            inTime()
            // A host that is just coming back is asked again for what it owes before it is asked for more.
            if (!gate.isInTrouble()) give()
          }
          const transfer = transferOn(gates.line)
          return transport({ ...request, arrived, transfer }).pipe(
            deadline({ idleMs: timeoutMs, totalMs: timeoutMs * TOTAL_FACTOR, transfer, arrived$ }),
            reading(endpoint, (reply) => answerOf(endpoint, accepted(reply), input, drift?.(endpoint), whom), { clock, watch }),
          )
        })
        hold(gate.through(attempt$, asker)).pipe(retryFailures(policy)).subscribe(subscriber)
        subscriber.add(give)
      })
    }
}

interface Known {
  readonly request: (input: unknown) => HttpRequest
  readonly gate: HostGate
}

const answerOf = <Input, Answer>(
  endpoint: Endpoint<Input, Answer>,
  reply: HttpReply,
  input: Input,
  drift: Watch | undefined,
  whom: string,
): Answer => {
  const answer = endpoint.readBytes?.(reply.body)
  if (answer === undefined) return endpoint.read(textOf(reply, endpoint), input, drift?.of(whom))
  drift?.asExpected()
  return answer
}

/** Where nothing told the length of a body, a cut JSON or page still shows by its missing end; a CSV that lost its last lines looks whole. */
const textOf = ({ body, isUnframed }: HttpReply, { type }: Pick<AnyEndpoint, 'type'>): string => {
  if (isUnframed && type === 'text/csv') throw new BadAnswer('truncated', 'the CSV may be cut: nothing tells its length')
  return decoded(body)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

const decoded = (body: Uint8Array): string => {
  try {
    return utf8.decode(body)
  } catch {
    throw new BadAnswer('encoding', 'the body is not UTF-8')
  }
}
