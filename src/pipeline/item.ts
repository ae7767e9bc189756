import {
  AsyncSubject,
  catchError,
  defer,
  EMPTY,
  EmptyError,
  Observable,
  type OperatorFunction,
  of,
  SequenceError,
  share,
  take,
  throwError,
} from 'rxjs'
import { createAsk } from '../http/ask.js'
import { CollectError, formatError, isItemError, nameBug } from '../model/errors.js'
import { getOrAdd } from '../model/map.js'
import type { Item, ItemOutcome, ItemResult } from '../model/outcome.js'
import { mergeMapPool, type WorkerSlot } from '../operators/merge-map-pool.js'
import { type StreamDefinition, type Tools, toFilePath } from './define-stream.js'
import { type Engine, type ItemContext, MAX_BACKLOG } from './run.js'

/** Works on all items in this process, `workers` items of a stream at a time. */
export const inProcess: Engine = {
  begin: (run) => {
    const again = { ...run, shared: oncePerSecondPass(run.shared) }
    return of({
      work: ({ stream, workers, findStored, activeItems, hasRoom, isSecondPass }) => {
        const work = createItemWork(stream, isSecondPass ? again : run)
        const workOn = (item: Item, slot: WorkerSlot): Observable<ItemOutcome> => {
          const before = findStored(item)
          if (before !== undefined) return of(before)
          activeItems.begin()
          return work(item, slot)
        }
        return mergeMapPool(workOn, workers, { isFree: hasRoom, freed$: activeItems.ended$, backlog: MAX_BACKLOG })
      },
      finish: () => of(undefined),
    })
  },
}

/** Creates the work of a stream's items: each ends as one outcome. Only a failure that must stop the run is an error. */
export const createItemWork = (
  stream: StreamDefinition,
  context: ItemContext,
): ((item: Item, slot: WorkerSlot) => Observable<ItemOutcome>) => {
  const tools = createTools(stream, context)
  const requested = { type: 'requested', stream: stream.name } as const
  const createAskOf = createAsk({
    transport: context.transport,
    settings: context.settings,
    stream: stream.name,
    limiters: context.limiters,
    timeoutMs: context.settings.timeoutsMs[stream.name] ?? stream.timeoutMs,
    isList: stream.work.of === undefined,
    random: context.random,
    clock: context.clock,
    drift: context.drift.forStream(stream.name),
    onRequestEvent: (type, item) => {
      if (type === 'requested') context.emit(requested)
      else context.emit(item === undefined ? { type, stream: stream.name } : { type: 'retried', stream: stream.name, item })
    },
    watch: context.watch?.(stream.name),
  })
  const [output] = stream.outputs
  return (item, slot) => {
    const file = toFilePath(output, context.settings.exchange, item)
    return defer(() => stream.work.each(item, { ...tools, ask: createAskOf(slot, item.key) }, file)).pipe(toItemOutcome(item, stream.name))
  }
}

/**
 * Turns an item's work into one outcome: its result, or the status and reason of its failure. Errors beyond this item (a `stop` verdict, a
 * bug, work that emits nothing or twice) end the run; with `stream`, that of a bug names stream and item.
 */
export const toItemOutcome =
  (item: Item, stream?: string): OperatorFunction<ItemResult, ItemOutcome> =>
  (work$) =>
    new Observable((subscriber) => {
      let latest: ItemOutcome | undefined
      const end = (outcome: ItemOutcome): void => {
        subscriber.next(outcome)
        subscriber.complete()
      }
      const fail = (error: unknown): void => {
        if (isItemError(error)) end(toFailedOutcome(item, error))
        else subscriber.error(stream === undefined ? error : nameBug(error, `the work of ${stream}`, item.key))
      }
      // Two at most, so that endless work ends.
      return work$.pipe(take(2)).subscribe({
        next: (result) => {
          if (latest === undefined) latest = { item, ...result }
          else fail(new SequenceError('Too many matching values'))
        },
        error: (error: unknown) => {
          latest = undefined
          fail(error)
        },
        complete: () => {
          // Forgotten at once: this closure is in the old generation after a request, and would retain the rows until the next major GC.
          const outcome = latest
          latest = undefined
          if (outcome === undefined) fail(new EmptyError())
          else end(outcome)
        },
      })
    })

const toFailedOutcome = (item: Item, error: CollectError): ItemOutcome => {
  const { status, code, causes, isTemporary } = error
  const why = { reason: formatError(error), code, ...(causes.length > 0 ? { causes } : {}), ...(isTemporary ? { isTemporary } : {}) }
  return { item, status, rows: [], ...why, error }
}

const createTools = (stream: StreamDefinition, context: ItemContext): Omit<Tools, 'ask'> => ({
  stored: context.storage.stored,
  settings: context.settings,
  asOf: context.asOf,
  accepts: (code) => context.accept.includes(code),
  shared: context.shared,
  after: (name) => {
    if (!stream.after?.includes(name))
      throw new Error(`${stream.name} waits for ${name} without declaring it; add after: ['${name}'] to its definition`)
    return context.ended.get(name) ?? EMPTY
  },
  warn: (text) => context.emit({ type: 'warning', stream: stream.name, text }),
})

/** Runs each request once per run: the first caller sends it, later callers get the same answer or the same error. */
export const oncePerRun = (): Tools['shared'] => {
  const answers = new Map<string, Observable<unknown>>()
  return <T>(key: string, make: () => Observable<T>): Observable<T> =>
    getOrAdd(answers, key, () =>
      defer(make).pipe(share({ connector: () => new AsyncSubject(), resetOnError: false, resetOnComplete: false })),
    ) as Observable<T>
}

/** The same for second passes: reuses the answers of the first pass, and sends a request again if it failed for a temporary reason. */
export const oncePerSecondPass = (shared: Tools['shared']): Tools['shared'] => {
  const again = oncePerRun()
  return (key, make) =>
    shared(key, make).pipe(
      catchError((error: unknown) => (error instanceof CollectError && error.isTemporary ? again(key, make) : throwError(() => error))),
    )
}
