import {
  defer,
  EMPTY,
  EmptyError,
  first,
  identity,
  ignoreElements,
  NEVER,
  Observable,
  type OperatorFunction,
  of,
  SequenceError,
  Subject,
  startWith,
  tap,
} from 'rxjs'
import { createAsk } from '../http/ask.js'
import { findNewestSession } from '../market/calendar.js'
import { refuse } from '../market/refusal-policy.js'
import { type CollectError, nameBug } from '../model/errors.js'
import type { Item, ItemOutcome, ItemResult } from '../model/outcome.js'
import { readOptions } from '../model/stream-options.js'
import { type Day, SESSION_END } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import { mergeMapWithPauses, type Pause } from '../operators/merge-map-with-pauses.js'
import { whenRoom } from '../operators/when-room.js'
import { DAYS, isListWork, type StreamDefinition, type Tools, toFilePath } from './define-stream.js'
import { oncePerSecondPass } from './once-per-run.js'
import { type Activity, type Engine, type ItemContext, MAX_BACKLOG, type Stage } from './run.js'

/** Works on all items in this process, `workers` items of a stream at a time. */
export const inProcess: Engine = {
  begin: (run) => {
    const forSecondPass = { ...run, shared: oncePerSecondPass(run.shared) }
    return of({
      work: (stage) =>
        workOnItems(createItemWork(stage.stream, stage.isSecondPass ? forSecondPass : run), stage),
      finish: () => of(undefined),
    })
  },
}

/** The work on one item, which may pause. Emits once. */
export type ItemWork = (item: Item, pause?: Pause) => Observable<ItemResult>

/**
 * A stage of a run; outside of a run only its workers. With `stream`, the error of a bug names the stream.
 */
export type ItemStage = Pick<Stage, 'workers'> &
  Partial<Pick<Stage, 'stream' | 'findStored' | 'activeItems' | 'isStopping'>>

/**
 * Turns items into their outcomes, `workers` at a time. The failure of an item is an outcome. Errors beyond
 * one item (a `stop` verdict, a bug, work that emits nothing or twice) end the run. No item begins while too
 * many pause or are being stored. The worker of an item that pauses takes another one.
 *
 * @example item$.pipe(workOnItems(createItemWork(stream, run), { stream, workers: 20 }))
 */
export const workOnItems =
  (
    work: ItemWork,
    { workers, stream, findStored, activeItems, isStopping }: ItemStage,
  ): OperatorFunction<Item, ItemOutcome> =>
  (item$) => {
    const waitForRoom =
      activeItems &&
      whenRoom<ItemOutcome>(() => activeItems.active < workers + MAX_BACKLOG, activeItems.ended$)
    const begin = (item: Item, pause: Pause): Observable<ItemOutcome> =>
      defer(() => {
        // A stream that is stopped does not complete: one that completes counts as finished.
        if (isStopping?.()) return NEVER
        activeItems?.begin()
        return work(item, pause)
      }).pipe(
        toOneOutcome(item),
        catchItemFailure(
          (reason, error) => of(toFailedOutcome(item, reason, error)),
          (error) => (stream ? nameBug(error, `the work of ${stream.name}`, item.key) : error),
        ),
      )
    const each = (item: Item, pause: Pause): Observable<ItemOutcome> => {
      const stored = findStored?.(item)
      return stored ? of(stored) : begin(item, pause).pipe(waitForRoom ?? identity)
    }
    return item$.pipe(mergeMapWithPauses(each, workers))
  }

/**
 * `single()` that lets go of its value: that of `single` stays in a closure, which is in the old generation
 * when an answer arrives, and keeps its rows until the next major GC (a run then takes 1.1 times the CPU).
 */
const toOneOutcome =
  (item: Item): OperatorFunction<ItemResult, ItemOutcome> =>
  (result$) =>
    new Observable((subscriber) => {
      let outcome: ItemOutcome | undefined
      const next = (result: ItemResult): void => {
        if (outcome) throw new SequenceError('Too many matching values')
        outcome = { item, ...result }
      }
      const complete = (): void => {
        if (outcome === undefined) throw new EmptyError()
        const only = outcome
        outcome = undefined
        subscriber.next(only)
      }
      result$.pipe(tap({ next, complete }), ignoreElements()).subscribe(subscriber)
    })

const toFailedOutcome = (item: Item, reason: string, error: CollectError): ItemOutcome => {
  const { status, code, causes, isTemporary } = error
  const why = {
    reason,
    code,
    ...(causes.length > 0 ? { causes } : {}),
    ...(isTemporary ? { isTemporary } : {}),
  }
  return { item, status, rows: [], ...why, error }
}

export const createActivity = (): Activity => {
  let active = 0
  const idle$ = new Subject<void>()
  return {
    isStopping: false,
    idle$: idle$.pipe(
      startWith(undefined),
      first(() => active === 0),
    ),
    createCounter: () => {
      const ended$ = new Subject<void>()
      const add = (change: number): void => {
        counter.active += change
        active += change
        if (active === 0) idle$.next()
      }
      const end = (): void => {
        add(-1)
        ended$.next()
      }
      const counter = { active: 0, begin: () => add(1), end, ended$, close: () => add(-counter.active) }
      return counter
    },
  }
}

export const createItemWork = (stream: StreamDefinition, context: ItemContext): ItemWork => {
  const tools = createTools(stream, context)
  const requested = { type: 'requested', stream: stream.name } as const
  const askOf = createAsk({
    transport: context.transport,
    settings: context.settings,
    stream: stream.name,
    limiters: context.limiters,
    timeoutMs: context.settings.timeoutsMs[stream.name] ?? stream.timeoutMs,
    isList: isListWork(stream.work),
    random: context.random,
    clock: context.clock,
    drift: context.drift.forStream(stream.name),
    onCached: tools.warn,
    isOld: (sentAt) => findClosed(sentAt, context) !== findClosed(context.clock(), context),
    // The file of a holiday may be that of the session before.
    refuseEqual: stream.work.of === DAYS ? undefined : (why) => refuse(tools, 'identity', why, 'cache'),
    onRequestEvent: (type, item) => {
      if (type === 'requested') context.emit(requested)
      else
        context.emit(
          item === undefined ? { type, stream: stream.name } : { type: 'retried', stream: stream.name, item },
        )
    },
    watch: context.watch?.(stream.name),
  })
  const [output] = stream.outputs
  return (item, pause) =>
    stream.work.each(
      item,
      {
        ...tools,
        earlierIsins: item.earlierIsins,
        ask: askOf(item.key, pause, item.earlierIsins),
        pause: pause ?? identity,
      },
      toFilePath(output, context.settings.exchange, item),
    )
}

/** The newest session that had ended. */
const findClosed = (instant: number, { calendar }: ItemContext): Day =>
  findNewestSession(instant, SESSION_END, calendar)

const createTools = (
  stream: StreamDefinition,
  context: ItemContext,
): Omit<Tools, 'ask' | 'pause' | 'earlierIsins'> => {
  const options = readOptions(context.settings, stream.name, stream.options ?? {})
  return {
    stored: context.storage.stored,
    settings: context.settings,
    // Read once, not for each item: they are those that the stream declares.
    options: () => options as never,
    asOf: context.asOf,
    accepts: (code) => context.accept.includes(code),
    shared: context.shared,
    after: (name) => {
      if (!stream.after?.includes(name))
        throw new Error(
          `${stream.name} waits for ${name} without declaring it; add after: ['${name}'] to its definition`,
        )
      return context.ended.get(name) ?? EMPTY
    },
    warn: (text) => context.emit({ type: 'warning', stream: stream.name, text }),
  }
}
