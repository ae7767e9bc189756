import {
  catchError,
  concat,
  concatMap,
  defer,
  EMPTY,
  from,
  ignoreElements,
  Observable,
  of,
  Subject,
  takeUntil,
  tap,
  throwError,
} from 'rxjs'
import { isLoss, messageOf, NothingAnswered } from '../../model/errors.js'
import type { Item } from '../../model/outcome.js'
import type { Row } from '../../model/row.js'
import { environmentNames } from '../../model/settings.js'
import { askedOnce } from '../../pipeline/asked-once.js'
import type { StreamDefinition, Tools } from '../../pipeline/define-stream.js'
import { MASTER } from '../../pipeline/work.js'
import type { AnyEndpoint } from '../../provider/endpoint.js'
import { type Asking, askOnce, type Canary, factsOf } from './canary.js'

/** Large stocks with a long history: each has data in every stream. */
const WELL_KNOWN = ['RELIANCE', 'TCS', 'HDFCBANK', 'INFY']

export interface CanaryContext extends Asking {
  /** "Now", epoch milliseconds. */
  readonly asOf: number
}

interface Known {
  /** The probe and the answer of each endpoint. */
  readonly probed: Map<AnyEndpoint, { readonly probe: Canary; readonly answer$: Observable<unknown> }>
  /** The items that streams offer to other streams. */
  readonly offered: Map<string, readonly Item[]>
}

/**
 * Sends one request to each endpoint of the streams, one after the other, and emits the results. The streams' own work makes the
 * requests: it runs for one item, and again without the first source if another endpoint is a fallback.
 */
export const canariesOf = (streams: readonly StreamDefinition[], context: CanaryContext): Observable<Canary> =>
  defer(() => {
    const known: Known = { probed: new Map(), offered: new Map() }
    const reported = new Set<AnyEndpoint>()
    return from(streams).pipe(
      concatMap((stream) => {
        const item = itemOf(stream, known)
        const attempt: Trying = { stream, known, context, last: undefined, reason: `needs ${stream.work.of}, which could not be fetched` }
        const fresh = stream.endpoints.filter((endpoint) => !reported.has(endpoint))
        for (const endpoint of fresh) reported.add(endpoint)
        const probes = (): readonly Canary[] =>
          fresh.map((one) => known.probed.get(one)?.probe ?? { ...factsOf(stream, one), result: 'unasked', reason: attempt.reason })
        return concat(
          item === undefined ? EMPTY : tries(attempt, item, new Set()),
          defer(() => from(probes())),
        )
      }),
    )
  })

const itemOf = ({ work }: StreamDefinition, { offered }: Known): Item | undefined => {
  if (work.of === undefined) return work.parts[0]
  const items = offered.get(work.of) ?? []
  return (work.of === MASTER ? WELL_KNOWN : []).flatMap((name) => items.find(({ key }) => key === name) ?? [])[0] ?? items[0]
}

/** The probing of the endpoints of one stream. */
interface Trying {
  readonly stream: StreamDefinition
  readonly known: Known
  readonly context: CanaryContext
  /** The endpoint of the last request. */
  last: AnyEndpoint | undefined
  /** Why the work ended. */
  reason: string
}

const isDone = ({ stream, known }: Trying): boolean => stream.endpoints.every((endpoint) => known.probed.has(endpoint))

/** Runs the work, then again without its last endpoint, as long as that may reach further endpoints. */
const tries = (attempt: Trying, item: Item, skipped: ReadonlySet<AnyEndpoint>): Observable<never> =>
  concat(
    begun(attempt, item, skipped),
    defer(() => {
      const { last } = attempt
      return isDone(attempt) || last === undefined || skipped.has(last) ? EMPTY : tries(attempt, item, new Set([...skipped, last]))
    }),
  )

const begun = (attempt: Trying, item: Item, skipped: ReadonlySet<AnyEndpoint>): Observable<never> =>
  defer(() => {
    const { stream, known, context } = attempt
    const enough$ = new Subject<void>()
    attempt.last = undefined
    attempt.reason = 'an earlier request failed, or did not need it'
    const ask = (endpoint: AnyEndpoint, input: unknown): Observable<unknown> =>
      defer(() => {
        if (skipped.has(endpoint)) return throwError(() => new NothingAnswered('skipped, to probe the next source'))
        attempt.last = endpoint
        const before = known.probed.get(endpoint)
        // A 404 is a day without a file: the work tries the day before.
        if (before !== undefined && before.probe.status !== 404) return before.answer$
        return listedBy(endpoint, input, { attempt, item }).pipe(
          tap({ next: () => stream.offers === undefined && isDone(attempt) && enough$.next() }),
        )
      })
    return defer(() => stream.work.each(item, toolsOf(ask as Tools['ask'], context), '')).pipe(
      takeUntil(enough$),
      tap(({ rows }) => {
        if (stream.offers)
          known.offered.set(
            stream.name,
            stream.offers([...rows] as readonly Row[], () => undefined),
          )
      }),
      catchError((error: unknown) => {
        if (!isLoss(error)) return throwError(() => error)
        attempt.reason = context.redact(messageOf(error))
        return EMPTY
      }),
      ignoreElements(),
    )
  })

/** Sends one request to an endpoint, and stores the result for later requests to it. */
const listedBy = (endpoint: AnyEndpoint, input: unknown, { attempt, item }: { readonly attempt: Trying; readonly item: Item }) => {
  const { stream, known, context } = attempt
  const store = (probe: Canary, answer$: Observable<unknown>): void => void known.probed.set(endpoint, { probe, answer$ })
  const missing = missingFor(endpoint, input, context)
  if (missing !== undefined) {
    const failure$ = throwError(() => new NothingAnswered(missing))
    store({ ...factsOf(stream, endpoint), result: 'failed', reason: `${missing} is not set`, advice: `Set ${missing}.` }, failure$)
    return failure$
  }
  return new Observable((subscriber) => {
    let probe: Canary | undefined
    const answer$ = askOnce({ stream, endpoint, about: item.key }, input, context, (probed) => {
      probe = probed
    }).pipe(
      tap({
        next: (answer) => probe && store(probe, of(answer)),
        error: (error: unknown) =>
          probe &&
          store(
            probe,
            throwError(() => error),
          ),
      }),
    )
    return answer$.subscribe(subscriber)
  })
}

/** The missing setting that an endpoint needs, if any. */
const missingFor = ({ host, input: schema }: AnyEndpoint, input: unknown, { settings }: CanaryContext): string | undefined => {
  if (settings.urls[host] === undefined) return environmentNames[`urls.${host}`]
  return schema.safeParse(input).success ? undefined : 'a required setting (see settings above)'
}

const toolsOf = (ask: Tools['ask'], { settings, asOf }: CanaryContext): Tools => ({
  ask,
  stored: { exists: () => of(false), tail: () => of(undefined), text: () => of(undefined), document: () => of(undefined) },
  settings,
  asOf,
  shared: askedOnce(),
  after: () => EMPTY,
  accepts: () => true,
  notice: () => undefined,
})
