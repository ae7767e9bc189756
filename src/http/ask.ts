import { defer, type MonoTypeOperatorFunction, map, noop, type Observable, take } from 'rxjs'
import { type HostLimiter, LinkTransfer } from '../limiter/limiter.js'
import type { LimiterRegistry } from '../limiter/limiter-registry.js'
import { type LimitedRequest, type Pause, through } from '../limiter/through.js'
import { getOrAdd } from '../model/map.js'
import { createRedactor, type Redact } from '../model/redact.js'
import type { Settings } from '../model/settings.js'
import { deadline } from '../operators/deadline.js'
import { retryFailures } from '../operators/retry-failures.js'
import { type AgeRules, addExchange, createAgeCheck, decodeReply } from './answer.js'
import type { ShapeWatch } from './drift.js'
import type { AnyEndpoint, Endpoint } from './endpoint.js'
import {
  type ComparedAnswer,
  createEqualAnswers,
  type EqualAnswers,
  toComparedAnswer,
} from './equal-answers.js'
import { type AttemptWatch, createRequestBuilder, watchAttempts } from './request.js'
import type { CachedReply, HttpReply, HttpRequest, RequestWatch, Transport } from './transport.js'

/**
 * Sends one request to the provider. Emits the answer once, or errors with the last failure after the
 * retries. It repeats one request; whole items are repeated by the second pass of a stream only.
 * Unsubscribing aborts the request.
 */
export type Ask = <Input, Answer>(
  endpoint: Endpoint<Input, Answer>,
  input: NoInfer<Input>,
  how?: AskOptions,
) => Observable<Answer>

/** How to send one request; nothing is required. */
export interface AskOptions {
  /** The caller has another source: fail at once while the host's circuit is open, instead of waiting. */
  readonly failFast?: boolean | undefined
}

/** The total timeout is this multiple of the idle timeout. */
const TOTAL_FACTOR = 6

export interface AskDependencies extends AgeRules {
  readonly transport: Transport
  readonly settings: Settings
  readonly stream?: string
  /** Shared by all streams of the run. */
  readonly limiters: LimiterRegistry
  /**
   * Idle timeout of one attempt (no byte received); the total timeout is six times as long. Time in the
   * limiter's queue does not count.
   */
  readonly timeoutMs: number
  readonly random: () => number
  /** The drift check of an endpoint's answers. */
  readonly drift?: (endpoint: AnyEndpoint) => ShapeWatch | undefined
  /**
   * Refuses the same answer for different items: throws unless the run accepts it. Without it, items may have
   * the same.
   */
  readonly refuseEqual?: ((why: string) => void) | undefined
  /** The items are a few lists, not stocks or indices. */
  readonly isList?: boolean
  readonly onRequestEvent: (type: 'requested' | 'retried' | 'rate-limited', item?: string) => void
  readonly watch?: RequestWatch | undefined
}

/** An endpoint, as one stream requests it. */
interface EndpointRoute<Input, Answer> extends AskDependencies {
  readonly endpoint: Endpoint<Input, Answer>
  readonly limiter: HostLimiter
  readonly toRequest: (input: Input) => HttpRequest
  readonly shapes: ShapeWatch | undefined
  readonly redact: Redact
  readonly equal: EqualAnswers
  readonly checkAge: (cache: CachedReply | undefined) => void
}

/**
 * Creates the request function of an item: each request is an attempt behind the limiters of its endpoint and
 * host, retried. `pause` is how a refused request of the item waits.
 */
export const createAsk = (
  dependencies: AskDependencies,
): ((item?: string, pause?: Pause, earlierIsins?: readonly string[]) => Ask) => {
  const { settings, limiters, timeoutMs, random, drift, watch, clock } = dependencies
  const { refuseEqual = noop } = dependencies
  const { throttleGiveUpMs: _, downMs: __, ...policy } = limiters.policy
  const retry = retryFailures({ ...policy, random, hasLimiter: true })
  const redact = createRedactor(settings)
  const routes = new Map<AnyEndpoint, EndpointRoute<unknown, unknown>>()
  const open = (endpoint: AnyEndpoint): EndpointRoute<unknown, unknown> => ({
    ...dependencies,
    endpoint,
    redact,
    limiter: limiters.forEndpoint(endpoint),
    toRequest: createRequestBuilder(endpoint, settings, timeoutMs),
    shapes: drift?.(endpoint),
    equal: createEqualAnswers(() => behindCache.has(limiters)),
    checkAge: createAgeCheck(endpoint, dependencies),
  })
  return (item = '', pause, earlierIsins) =>
    <Input, Answer>(endpoint: Endpoint<Input, Answer>, input: Input, { failFast }: AskOptions = {}) =>
      defer(() => {
        const route = getOrAdd(routes, endpoint, () => open(endpoint)) as EndpointRoute<Input, Answer>
        const begin = (): Asked<Input> => ({
          input,
          item,
          earlierIsins,
          attempts: 0,
          watched: watch && watchAttempts(watch, endpoint, clock),
        })
        const send = (asked: Asked<Input>, how: Pick<LimitedRequest, 'failFast' | 'pause'>) =>
          limitedAttempt(route, asked, how).pipe(retry as MonoTypeOperatorFunction<Answer>)
        const asked = begin()
        const refuse = (why: string): void => {
          if (refuseEqual !== noop) behindCache.add(limiters)
          try {
            refuseEqual(why)
          } catch (error) {
            throw addExchange(error, route, asked)
          }
        }
        const sendAgain = (once = begin()) => send(once, { failFast: true }).pipe(map(() => once.compared))
        return send(asked, { failFast, pause }).pipe(
          route.equal.pass(() => asked.compared, { sendAgain, refuse }),
        )
      })
}

/** The providers that a cache which ignores requests was found before. */
const behindCache = new WeakSet<LimiterRegistry>()

/** One request, with its attempts so far. */
interface Asked<Input> {
  readonly input: Input
  readonly item: string
  readonly earlierIsins: readonly string[] | undefined
  attempts: number
  readonly watched: AttemptWatch | undefined
  /** What its answer is compared by. */
  compared?: ComparedAnswer | undefined
}

const limitedAttempt = <Input, Answer>(
  route: EndpointRoute<Input, Answer>,
  asked: Asked<Input>,
  how: Pick<LimitedRequest, 'failFast' | 'pause'>,
): Observable<Answer> => {
  const { limiter, equal, isList, timeoutMs, onRequestEvent } = route
  return attempt(route, asked).pipe(
    through(limiter, {
      ...how,
      item: asked.item,
      isList,
      idleMs: timeoutMs,
      classify: (error) => {
        equal.onFailure()
        return addExchange(error, route, asked)
      },
      onSend: () => {
        asked.attempts += 1
        if (asked.attempts > 1) onRequestEvent('retried', asked.item)
        onRequestEvent('requested')
      },
      onEnd: asked.watched?.end,
    }),
  )
}

/** One attempt per subscription: sends the request, and reads and checks its reply. */
const attempt = <Input, Answer>(
  route: EndpointRoute<Input, Answer>,
  asked: Asked<Input>,
): Observable<Answer> => {
  const { transport, limiters, redact, timeoutMs, clock, onRequestEvent } = route
  const { input, item, earlierIsins, watched } = asked
  return defer(() => {
    const transfer = new LinkTransfer(limiters.link)
    const request: HttpRequest = { ...route.toRequest(input), transfer }
    const send = (): Observable<HttpReply> => transport(request)
    const describe = () => ({ url: redact(request.url), item, attempt: asked.attempts - 1 })
    return (watched?.begin(send, describe) ?? send()).pipe(
      deadline({ idleMs: timeoutMs, totalMs: timeoutMs * TOTAL_FACTOR, transfer }),
      take(1),
      map((reply) => {
        watched?.onReply(reply)
        if (reply.status === 429) onRequestEvent('rate-limited')
        try {
          const answer = decodeReply(reply, input, { ...route, item, earlierIsins, now: clock() })
          route.checkAge(reply.cache)
          asked.compared = toComparedAnswer(reply, answer, request, { item, isList: route.isList })
          return answer
        } catch (error) {
          throw addExchange(error, route, asked, reply)
        }
      }),
    )
  })
}
