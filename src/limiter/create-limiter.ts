import { catchError, defer, finalize, identity, type MonoTypeOperatorFunction, type Observable } from 'rxjs'
import { CollectError, HostClosedError, ThrottledError, UsageError } from '../model/errors.js'
import { type Optional, omitUndefined } from '../model/row.js'
import { checkOperatorOptions } from '../operators/request-errors.js'
import { RETRY_DEFAULTS, retryFailures } from '../operators/retry-failures.js'
import type { LimiterSettings } from './backoff.js'
import { createStopwatch, type HostContext, ItemFailures, Limiter, NetworkLink } from './limiter.js'
import { computeMaxInFlight, computeRate } from './rate.js'
import { isDown, isRefusing, renewPatience } from './state.js'
import { through } from './through.js'

/** How a limiter is at one instant. */
export interface LimiterReading {
  /** Requests that were sent and have no complete reply yet. */
  readonly inFlight: number
  /** Requests in the queue. A request of an endpoint that waits for its host counts for both. */
  readonly waiting: number
  /** The most requests in flight; infinite if not limited. */
  readonly maxInFlight: number
  /** The most requests a second; infinite if not limited. */
  readonly maxPerSecond: number
  /** No request is sent for now: a back-off, or an open circuit. */
  readonly isHeld: boolean
  /** The circuit breaker; `half-open` while one request checks whether the host works again. */
  readonly circuit: 'closed' | 'half-open' | 'open'
}

export const readLimiter = ({ state, waiting }: Limiter, now: number): LimiterReading => ({
  inFlight: state.inFlight,
  waiting,
  maxInFlight: computeMaxInFlight(state.rate, now),
  maxPerSecond: computeRate(state.rate, now),
  isHeld: isDown(state) || isRefusing(state, now),
  circuit: !isDown(state) ? 'closed' : state.isProbing ? 'half-open' : 'open',
})

/** Options of `createLimiter`; all may be left out. */
export interface LimiterOptions {
  /** The most requests in flight. Default: no limit of its own; `mergeMap` has one. */
  readonly maxInFlight: number
  /** The most requests a second. Default: none; the limiter finds that of the host by its refusals. */
  readonly maxRate: number
  /** Pause after a refusal without `Retry-After`, milliseconds; doubles each time. Default: 2,000. */
  readonly throttleMs: number
  /** No pause is longer, even if `Retry-After` requests it. Default: 60,000. */
  readonly throttleMaxMs: number
  /** How often one request is sent again after a refusal. Default: 8. */
  readonly throttleRetries: number
  /** How long the host may refuse every request before they fail, milliseconds. Default: 120,000. */
  readonly throttleGiveUpMs: number
  /** How long an outage is waited for before requests fail, milliseconds. Default: 300,000. */
  readonly downMs: number
  /**
   * What an error is: an error of this package, or one that says nothing about the host. Default:
   * `toRequestError`.
   */
  readonly classify: (error: unknown) => unknown
}

/** What one host allows, for all pipelines that send to it. */
export interface RequestLimiter {
  /**
   * Subscribes to the source, one request, when the host may be asked, and learns from its end. After a
   * refusal (`ThrottledError`) or in an outage the request is sent again when the host works again, and all
   * others wait meanwhile. When the limiter gives up, the request fails with a `HostClosedError`. Any other
   * failure passes: put `retryFailures()` behind it. Each `pipe` is a request of its own.
   */
  readonly through: <T>() => MonoTypeOperatorFunction<T>
  /** Reads the limiter now. */
  readonly status: () => LimiterReading
}

const { classify, throttleRetries, throttleMs, throttleMaxMs, retries, backoffMs } = RETRY_DEFAULTS
const LIMITER_DEFAULTS: LimiterOptions & Pick<LimiterSettings, 'retries' | 'backoffMs'> = {
  maxInFlight: Number.POSITIVE_INFINITY,
  maxRate: Number.POSITIVE_INFINITY,
  throttleGiveUpMs: 120_000,
  downMs: 300_000,
  classify,
  throttleRetries,
  throttleMs,
  throttleMaxMs,
  retries,
  backoffMs,
}

/** Work that begins after so long a rest has all patience again. */
const REST_MS = 10_000
/** Failures are counted by request; so many requests are distinguished. */
const MAX_REQUEST_NAMES = 1_000

/**
 * Creates the limiter of one host. A single refusal delays its own request; when they cluster, the limiter
 * holds every request, lets one probe, and then stays just below the rate at which the host refused. Several
 * failures in a row open its circuit: requests wait instead of failing. Create it once for each host, outside
 * of the pipelines that share it.
 *
 * @throws UsageError for an unknown option, or a number that is not 0 or more (`maxInFlight`, `maxRate`: more
 * than 0)
 * @example
 * const host = createLimiter({ maxInFlight: 10, maxRate: 50 })
 * from(urls).pipe(mergeMap((url) => fromFetch(url).pipe(tap(rejectStatus), host.through(), retryFailures()), 15))
 */
export const createLimiter = (options: Optional<LimiterOptions> = {}): RequestLimiter => {
  checkOperatorOptions('createLimiter', options, Object.keys(LIMITER_DEFAULTS))
  const settings = { ...LIMITER_DEFAULTS, ...omitUndefined(options) }
  const { maxInFlight, maxRate, classify } = settings
  for (const [name, value] of Object.entries({ maxInFlight, maxRate }))
    if (value === 0) throw new UsageError(`createLimiter: ${name} is 0; use a number above 0`)
  const now = createStopwatch()
  const open = (name: string, limits: object): Limiter => new Limiter({ name, settings, now, ...limits })
  const [endpoint, limiter] = [open('requests', {}), open('the host', { maxInFlight, maxRate })]
  const host: HostContext = {
    limiter,
    endpoints: [endpoint],
    itemFailures: new ItemFailures(),
    link: new NetworkLink(),
    now,
    settings,
  }
  let active = 0
  let restsSince = 0
  let count = 0
  const begin = (): (() => void) => {
    if (active === 0 && now() - restsSince >= REST_MS)
      for (const one of [endpoint, limiter]) one.state = renewPatience(one.state, now())
    active += 1
    return () => {
      active -= 1
      restsSince = now()
    }
  }
  const onlyRefusals = {
    retries: 0,
    throttleRetries: settings.throttleRetries,
    hasLimiter: true,
    classify: identity,
  }
  return {
    through:
      <T>() =>
      (source$: Observable<T>) => {
        const request = { item: String(count++ % MAX_REQUEST_NAMES), classify }
        return defer(() =>
          source$.pipe(
            through({ endpoint, host, levels: [endpoint, limiter] }, request),
            retryFailures(onlyRefusals),
            catchError((last: unknown) => {
              throw toFinalError(last)
            }),
            finalize(begin()),
          ),
        )
      },
    status: () => combineReadings(readLimiter(endpoint, now()), readLimiter(limiter, now())),
  }
}

export const combineReadings = (own: LimiterReading, all: LimiterReading): LimiterReading => {
  const isWorse = own.isHeld || own.maxPerSecond < all.maxPerSecond
  return {
    ...all,
    waiting: own.waiting + all.waiting,
    isHeld: own.isHeld || all.isHeld,
    maxPerSecond: isWorse ? own.maxPerSecond : all.maxPerSecond,
  }
}

/** All waiting is done here: `retryFailures` must not wait, and send the request, as often again. */
const toFinalError = (error: unknown): unknown => {
  if (!(error instanceof CollectError) || error.verdict !== 'wait') return error
  const { request, response, causes } = error
  const status = error instanceof ThrottledError ? 'rate_limit' : 'error'
  return new HostClosedError(status, error.message, { request, response, causes, cause: error })
}
