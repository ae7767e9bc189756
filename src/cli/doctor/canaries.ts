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

/** Large stocks that have been listed for long, so that each has something of everything. */
const WELL_KNOWN = ['RELIANCE', 'TCS', 'HDFCBANK', 'INFY']

export interface CanaryContext extends Asking {
  /** "Now", epoch milliseconds. */
  readonly asOf: number
}

interface Known {
  /** What each endpoint showed, and what it answered. */
  readonly shown: Map<AnyEndpoint, { readonly canary: Canary; readonly answer$: Observable<unknown> }>
  /** The items that streams offer to others. */
  readonly offered: Map<string, readonly Item[]>
}

/**
 * One request to each endpoint of the streams, one after the other; emits what each showed. How it is asked, the streams' own work says:
 * it is begun for one item, and where an endpoint is a further source, begun again with the first one left out.
 */
export const canariesOf = (streams: readonly StreamDefinition[], context: CanaryContext): Observable<Canary> =>
  defer(() => {
    const known: Known = { shown: new Map(), offered: new Map() }
    const told = new Set<AnyEndpoint>()
    return from(streams).pipe(
      concatMap((stream) => {
        const item = itemOf(stream, known)
        const trying: Trying = { stream, known, context, last: undefined, reason: `needs ${stream.work.of}, which could not be had` }
        const fresh = stream.endpoints.filter((endpoint) => !told.has(endpoint))
        for (const endpoint of fresh) told.add(endpoint)
        const canaries = (): readonly Canary[] =>
          fresh.map((one) => known.shown.get(one)?.canary ?? { ...factsOf(stream, one), result: 'unasked', reason: trying.reason })
        return concat(
          item === undefined ? EMPTY : tries(trying, item, new Set()),
          defer(() => from(canaries())),
        )
      }),
    )
  })

const itemOf = ({ work }: StreamDefinition, { offered }: Known): Item | undefined => {
  if (work.of === undefined) return work.parts[0]
  const items = offered.get(work.of) ?? []
  return (work.of === MASTER ? WELL_KNOWN : []).flatMap((name) => items.find(({ key }) => key === name) ?? [])[0] ?? items[0]
}

/** A stream whose endpoints are tried. */
interface Trying {
  readonly stream: StreamDefinition
  readonly known: Known
  readonly context: CanaryContext
  /** What the work asked last. */
  last: AnyEndpoint | undefined
  /** Why it ended. */
  reason: string
}

const isDone = ({ stream, known }: Trying): boolean => stream.endpoints.every((endpoint) => known.shown.has(endpoint))

/** Begins the work, then again without what it came to, for as long as that may lead to endpoints that were not asked. */
const tries = (trying: Trying, item: Item, leftOut: ReadonlySet<AnyEndpoint>): Observable<never> =>
  concat(
    begun(trying, item, leftOut),
    defer(() => {
      const { last } = trying
      return isDone(trying) || last === undefined || leftOut.has(last) ? EMPTY : tries(trying, item, new Set([...leftOut, last]))
    }),
  )

const begun = (trying: Trying, item: Item, leftOut: ReadonlySet<AnyEndpoint>): Observable<never> =>
  defer(() => {
    const { stream, known, context } = trying
    const enough$ = new Subject<void>()
    trying.last = undefined
    trying.reason = 'what leads to it failed, or did not need it'
    const ask = (endpoint: AnyEndpoint, input: unknown): Observable<unknown> =>
      defer(() => {
        if (leftOut.has(endpoint)) return throwError(() => new NothingAnswered('left out, to see the next source'))
        trying.last = endpoint
        const before = known.shown.get(endpoint)
        // A day without a file: the day before is another try of the same.
        if (before !== undefined && before.canary.status !== 404) return before.answer$
        return shownBy(endpoint, input, { trying, item }).pipe(
          tap({ next: () => stream.offers === undefined && isDone(trying) && enough$.next() }),
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
        trying.reason = context.redact(messageOf(error))
        return EMPTY
      }),
      ignoreElements(),
    )
  })

/** Asks an endpoint, and keeps what that showed for whoever asks it again. */
const shownBy = (endpoint: AnyEndpoint, input: unknown, { trying, item }: { readonly trying: Trying; readonly item: Item }) => {
  const { stream, known, context } = trying
  const keep = (canary: Canary, answer$: Observable<unknown>): void => void known.shown.set(endpoint, { canary, answer$ })
  const missing = missingFor(endpoint, input, context)
  if (missing !== undefined) {
    const failure$ = throwError(() => new NothingAnswered(missing))
    keep({ ...factsOf(stream, endpoint), result: 'failed', reason: `${missing} is not set`, advice: `Set ${missing}.` }, failure$)
    return failure$
  }
  return new Observable((subscriber) => {
    let canary: Canary | undefined
    const answer$ = askOnce({ stream, endpoint, about: item.key }, input, context, (shown) => {
      canary = shown
    }).pipe(
      tap({
        next: (answer) => canary && keep(canary, of(answer)),
        error: (error: unknown) =>
          canary &&
          keep(
            canary,
            throwError(() => error),
          ),
      }),
    )
    return answer$.subscribe(subscriber)
  })
}

/** The setting without which an endpoint cannot be asked. */
const missingFor = ({ host, input: schema }: AnyEndpoint, input: unknown, { settings }: CanaryContext): string | undefined => {
  if (settings.urls[host] === undefined) return environmentNames[`urls.${host}`]
  return schema.safeParse(input).success ? undefined : 'what the request needs (see settings above)'
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
