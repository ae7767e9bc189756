import { createHash } from 'node:crypto'
import {
  asyncScheduler,
  defer,
  finalize,
  map,
  mergeMap,
  NEVER,
  type Observable,
  of,
  tap,
  throwError,
  timer,
} from 'rxjs'
import type { AnyEndpoint } from '../http/endpoint.js'
import type { HttpReply, HttpRequest, Transport } from '../http/transport.js'
import { TransportError } from '../model/errors.js'
import { getOrAdd } from '../model/map.js'
import type { Random, SampleMarket } from '../model/market.js'
import type { Host } from '../model/settings.js'
import { buildAnswer } from '../simulator/answers.js'
import { createRateLimits } from '../simulator/conditions.js'
import { createRouter } from '../simulator/router.js'
import { falsify, WRONG_ANSWERS, type WrongAnswer } from './wrong-answers.js'

/** What can go wrong with a request. Each wrong answer is one that a check can find. */
export const NETWORK_FAULTS = [
  'status', // 500, 502, 503 or 504
  'throttled', // a single 429, with or without Retry-After
  'limit', // a token bucket for each host
  'reset', // the connection ends before the reply
  'torn', // the connection ends within the reply
  'hanging', // no byte arrives
  'slow', // some seconds until the reply
  'dns',
  'tls', // the handshake fails
  'not-found', // a 404
  'interim', // interim answers and nothing else, or a 101
  'truncated', // a 200 with half a body
  'html', // a 200 with a page
  'empty', // a 200 without a body
  'wrong', // a 200 with JSON of another shape
  ...WRONG_ANSWERS,
  'outage', // a host refuses, answers 503 or is silent for a while
] as const
type NetworkFault = (typeof NETWORK_FAULTS)[number]

/** The provider as one run sees it. */
export type Network = ReturnType<typeof createNetwork>

export interface NetworkOptions {
  readonly random: Random
  readonly hosts: readonly Host[]
  /** The right answers at an instant, epoch milliseconds. */
  readonly answersAt: (now: number) => Answers
  /** The most requests at once, by endpoint. */
  readonly limits: ReadonlyMap<string, number>
  readonly kinds: ReadonlySet<string>
  /** The share of requests that something happens to. */
  readonly share: number
  /** What is known of the stored files, see `falsify`. */
  readonly stored: Pick<Parameters<typeof falsify>[1], 'isFollowing' | 'unsteady'>
}

const SINGLE_FAULTS = NETWORK_FAULTS.filter((kind) => kind !== 'limit' && kind !== 'outage')
const OUTAGES = ['refused', 'unavailable', 'silent'] as const

const reply = (
  status: number,
  body: string | Buffer = '',
  more: Partial<HttpReply> = {},
): HttpReply & { readonly body: Buffer } => ({
  status,
  ...more,
  body: typeof body === 'string' ? Buffer.from(body) : body,
})

const replyAfter = (ms: number, answer: HttpReply): Observable<HttpReply> => timer(ms).pipe(map(() => answer))

const failAfter = (
  ms: number,
  reason: 'reset' | 'dns' | 'connect' | 'tls',
  hasBegun = false,
): Observable<never> =>
  timer(ms).pipe(mergeMap(() => throwError(() => new TransportError(reason, 'simulated', { hasBegun }))))

/**
 * The right answers of a session, each made once for a market. @throws an error for a request that the
 * contract does not have
 */
export const createAnswers = (endpoints: readonly AnyEndpoint[]) => {
  const route = createRouter(endpoints)
  const accept = ({ method, url, headers, body = '' }: HttpRequest) => {
    const { hostname, pathname, search } = new URL(url)
    const fields = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const request = route({ method, url: `/${hostname}${pathname}${search}`, headers: fields, body })
    if (request.kind !== 'accepted')
      throw new Error(`a request against the contract: ${method} ${url} ${body}`)
    return { ...request, answers: new Map<SampleMarket, ReturnType<typeof create>>() }
  }
  const create = (endpoint: AnyEndpoint, input: unknown, market: SampleMarket) => {
    const { status, body, broken } = buildAnswer(endpoint, input, market)
    if (broken !== undefined) throw new Error(broken)
    return { reply: reply(status, body), endpoint: endpoint.name }
  }
  const known = new Map<string, ReturnType<typeof accept>>()
  return (marketOf: (endpoint: string) => SampleMarket) => (request: HttpRequest) => {
    const { endpoint, input, answers } = getOrAdd(known, `${request.url} ${request.body ?? ''}`, () =>
      accept(request),
    )
    const market = marketOf(endpoint.name)
    return getOrAdd(answers, market, () => create(endpoint, input, market))
  }
}

export type Answers = ReturnType<ReturnType<typeof createAnswers>>

/** What a fault makes of a good answer. */
const damage = (
  kind: NetworkFault,
  good: HttpReply,
  { ms, random }: { readonly ms: number; readonly random: Random },
): Observable<HttpReply> => {
  const later = (wrong: HttpReply) => replyAfter(ms, wrong)
  switch (kind) {
    case 'status':
      return later(reply(random.pick([500, 502, 503, 504])))
    case 'throttled':
      return later(reply(429, '', random.chance(0.5) ? { retryAfter: String(random.int(1, 3)) } : {}))
    case 'reset':
      return failAfter(ms, 'reset')
    case 'torn':
      return failAfter(ms, 'reset', true)
    case 'dns':
    case 'tls':
      return failAfter(ms, kind)
    case 'not-found':
      return later(reply(404))
    case 'interim':
      return random.chance(0.5) ? NEVER : later(reply(101))
    case 'hanging':
      return NEVER
    case 'slow':
      return replyAfter(random.int(1_000, 9_000), good)
    case 'truncated':
      return later({
        ...good,
        body: good.body.subarray(0, random.int(1, Math.max(1, good.body.length - 3))),
        isUnframed: true,
      })
    case 'html':
      return later(
        reply(200, '<!doctype html><title>Sorry</title><p>Try again later.</p>', {
          contentType: 'text/html',
        }),
      )
    case 'empty':
      return later(reply(200))
    default:
      return later(reply(200, random.pick(['null', '{"error":"internal"}', '"ok"', '17'])))
  }
}

/** No deadline applies once the reply is there; it is decoded in a later turn. */
const arrive = ({ transfer }: HttpRequest, reply$: Observable<HttpReply>): Observable<HttpReply> =>
  reply$.pipe(
    mergeMap((received) => {
      if (received.status !== 200) return of(received)
      if (transfer) transfer.isComplete = true
      return replyAfter(0, received)
    }),
  )

const respondInOutage = (kind: (typeof OUTAGES)[number], ms: number): Observable<HttpReply> => {
  if (kind === 'silent') return NEVER
  return kind === 'refused' ? failAfter(ms, 'connect') : replyAfter(ms, reply(503))
}

const planOutages = (now: number, hosts: readonly Host[], random: Random) => {
  const starts = Array.from({ length: random.int(0, 3) }, () => now + random.int(0, 3_000))
  return starts.map((from) => {
    const host = hosts[random.int(0, hosts.length - 1)]
    return { host, kind: random.pick(OUTAGES), from, to: from + random.int(1_000, 60_000) }
  })
}

const isWrongAnswer = (kind: NetworkFault): kind is WrongAnswer =>
  (WRONG_ANSWERS as readonly string[]).includes(kind)

/** Watches for requests that no run may send. */
const createRequestCheck = (limits: ReadonlyMap<string, number>, kinds: ReadonlySet<string>) => {
  const violations: string[] = []
  const inFlight = new Map<string, number>()
  const pausedUntil = new Map<string, number>()
  const violate = (text: string): void => void (violations.length < 20 && violations.push(text))
  /** What the simulated provider refuses, the product may take for a failure of the item. */
  const findEndpoint = (request: HttpRequest, answer: Answers) => {
    try {
      return answer(request).endpoint
    } catch (error) {
      violate(String(error))
      throw error
    }
  }
  return {
    violations,
    observe: (request: HttpRequest, answer: Answers, reply$: Observable<HttpReply>) => {
      const endpoint = findEndpoint(request, answer)
      const key = `${request.url} ${request.body ?? ''}`
      const running = (inFlight.get(endpoint) ?? 0) + 1
      inFlight.set(endpoint, running)
      if (running > (limits.get(endpoint) ?? 0)) violate(`${running} requests of ${endpoint} at once`)
      const early = (pausedUntil.get(key) ?? 0) - asyncScheduler.now()
      // A clock that is set forwards ends a pause.
      if (early > 0 && !kinds.has('clock'))
        violate(`${endpoint} again ${early} ms before its Retry-After is over`)
      let isOpen = true
      const close = () => {
        if (isOpen) inFlight.set(endpoint, (inFlight.get(endpoint) ?? 0) - 1)
        isOpen = false
      }
      return reply$.pipe(
        tap(({ status, retryAfter }) => {
          // Now, because the reply may lead to the next request at once.
          close()
          if (status === 429 && retryAfter !== undefined)
            pausedUntil.set(key, asyncScheduler.now() + Number(retryAfter) * 1_000)
        }),
        finalize(close),
      )
    },
    reset: () => {
      inFlight.clear()
      pausedUntil.clear()
    },
  }
}

/** The outages and limits of a start, from now on. */
const planHindrances = (
  kinds: NetworkOptions['kinds'],
  hosts: NetworkOptions['hosts'],
  random: NetworkOptions['random'],
) => {
  const outages = kinds.has('outage') ? planOutages(asyncScheduler.now(), hosts, random) : []
  const limit = { perSecond: random.int(20, 200), burst: random.int(5, 50) }
  return { outages, exceeds: createRateLimits(kinds.has('limit') ? { '*': limit } : {}, asyncScheduler.now) }
}

/**
 * The simulated provider behind a network with faults; time comes from RxJS' schedulers. Each request has a
 * latency of its own, so that the order of the answers differs from seed to seed.
 */
export const createNetwork = ({ random, hosts, answersAt, limits, kinds, share, stored }: NetworkOptions) => {
  const faults = new Map<NetworkFault, number>()
  const digest = createHash('sha256')
  const before = new Map<string, Buffer>()
  let [requests, isFaultFree] = [0, false]
  let answer = answersAt(asyncScheduler.now())
  let { outages, exceeds } = planHindrances(new Set(), hosts, random)
  const singles = SINGLE_FAULTS.filter((kind) => kinds.has(kind))
  const count = <T>(kind: NetworkFault, made: T): T => {
    faults.set(kind, (faults.get(kind) ?? 0) + 1)
    return made
  }
  const requestCheck = createRequestCheck(limits, kinds)
  const transport: Transport = (request) =>
    defer(() => arrive(request, requestCheck.observe(request, answer, respond(request))))
  const respond: Transport = (request) =>
    defer(() => {
      const now = asyncScheduler.now()
      const { method, url, body = '' } = request
      const { hostname } = new URL(url)
      requests += 1
      digest.update(`${now} ${method} ${url} ${body}\n`)
      const ms = random.int(5, 125)
      const { reply: good, endpoint } = answer(request)
      const other = before.get(endpoint)
      before.set(endpoint, good.body)
      if (isFaultFree) return replyAfter(ms, good)
      const outage = outages.find(({ host, from, to }) => host === hostname && from <= now && now < to)
      if (outage) return respondInOutage(count('outage', outage.kind), ms)
      if (exceeds(hostname)) return timer(ms).pipe(map(() => reply(count('limit', 429))))
      if (singles.length === 0 || !random.chance(share)) return replyAfter(ms, good)
      const kind = singles[random.int(0, singles.length - 1)] as NetworkFault
      // Without a file of today an archive has that of an earlier day, which is right.
      if (kind === 'not-found' && hostname === 'archive') return replyAfter(ms, good)
      if (!isWrongAnswer(kind)) return damage(count(kind, kind), good, { ms, random })
      const text = good.body.toString()
      const made =
        falsify(kind, { endpoint, request: body, text, other: other?.toString(), ...stored }) ?? text
      return timer(ms).pipe(map(() => (made === text ? good : reply(200, count(kind, made)))))
    })
  return {
    transport,
    faults,
    /** Requests that no run may send: too many at once, or before a pause is over. */
    violations: requestCheck.violations,
    requests: () => requests,
    /** A new process: it has no requests in flight, and knows of no pause. */
    connect: requestCheck.reset,
    /** Begins the answers, outages and limits of a start, at the instant of the clock. */
    begin: () => {
      answer = answersAt(asyncScheduler.now())
      ;({ outages, exceeds } = planHindrances(kinds, hosts, random))
    },
    stopFaults: () => {
      isFaultFree = true
    },
    /** Of all requests, with the instant of each. */
    digest: () => digest.copy().digest('hex'),
  }
}
