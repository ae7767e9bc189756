import {
  AsyncSubject,
  catchError,
  defer,
  EMPTY,
  EmptyError,
  first,
  Observable,
  type Observer,
  type OperatorFunction,
  of,
  SequenceError,
  Subject,
  type Subscriber,
  Subscription,
  share,
  startWith,
  throwError,
} from 'rxjs'
import { createAsk, type WorkerSlot } from '../http/ask.js'
import { CollectError, formatError, isItemError, nameBug } from '../model/errors.js'
import type { Item, ItemOutcome, ItemResult } from '../model/outcome.js'
import { isListWork, type StreamDefinition, type Tools, toFilePath } from './define-stream.js'
import { type Activity, type Engine, type ItemContext, MAX_BACKLOG, type SharedWorkers, type Stage } from './run.js'

/** Works on all items in this process, `workers` items of a stream at a time. */
export const inProcess: Engine = {
  begin: (run) => {
    const again = { ...run, shared: oncePerSecondPass(run.shared) }
    return of({
      work: (stage) =>
        workOnItems(createItemWork(stage.stream, stage.isSecondPass ? again : run), { ...stage, shared: run.workersOf?.(stage.stream) }),
      finish: () => of(undefined),
    })
  },
}

/** The work on one item, with the worker for its requests. Emits once. */
export type ItemWork = (item: Item, slot: WorkerSlot) => Observable<ItemResult>

/** A stage of a run; outside of a run only its workers. Bugs name the stream. */
export type ItemStage = Pick<Stage, 'workers'> &
  Partial<Pick<Stage, 'stream' | 'findStored' | 'activeItems' | 'hasRoom'>> & { readonly shared?: SharedWorkers | undefined }

/**
 * Turns items into their outcomes: `mergeMap` with a pool of workers, in the order of the items. An item has a worker until its requests have
 * been answered, and again for each later request, before new items get one: decoding and storing keep no request waiting. The failure of an
 * item is an outcome. Errors beyond one item (a `stop` verdict, a bug, work that emits nothing or twice) end the run.
 *
 * @example item$.pipe(workOnItems(createItemWork(stream, run), { stream, workers: 20 }))
 */
export const workOnItems =
  (work: ItemWork, stage: ItemStage): OperatorFunction<Item, ItemOutcome> =>
  (item$) =>
    new Observable((subscriber) => new ItemPool(work, stage, subscriber).begin(item$))

/** The items of a stage, and the workers that they share. */
class ItemPool {
  /** Those from `next` on have not begun: `shift` would move the whole list for each. */
  private readonly items: Item[] = []
  private next = 0
  private active = 0
  private hasAllItems = false
  private freeWorkers: number
  /** Requests of items that had released their worker. */
  private readonly returning = new Set<() => void>()
  private isHandingOut = false

  constructor(
    readonly work: ItemWork,
    readonly stage: ItemStage,
    readonly subscriber: Subscriber<ItemOutcome>,
  ) {
    this.freeWorkers = stage.workers
    if (stage.shared) subscriber.add(stage.shared.add(this))
  }

  begin(item$: Observable<Item>): void {
    const { subscriber } = this
    // Closed before the items are unsubscribed: a worker that one of them releases must not start another.
    subscriber.add(() => {
      this.freeWorkers = Number.NEGATIVE_INFINITY
    })
    subscriber.add(this.stage.activeItems?.ended$.subscribe(() => this.handOut()))
    const add = (item: Item): void => {
      this.items.push(item)
      this.handOut()
    }
    const complete = (): void => {
      this.hasAllItems = true
      this.completeIfDone()
    }
    subscriber.add(item$.subscribe({ next: add, error: (error: unknown) => subscriber.error(error), complete }))
  }

  /** Calls `start` once there is a free worker: at once, or later and then returns a function that leaves the queue. */
  acquire(start: () => void): (() => void) | undefined {
    this.returning.add(start)
    this.handOut()
    return this.returning.has(start) ? () => this.returning.delete(start) : undefined
  }

  release(): void {
    this.freeWorkers += 1
    const { shared } = this.stage
    if (shared) {
      shared.free += 1
      // A pool that was left is not among them any more.
      if (shared.pools.size > Number(shared.pools.has(this))) shared.onReleased()
    }
    this.handOut()
  }

  private take(): void {
    this.freeWorkers -= 1
    const { shared } = this.stage
    if (shared === undefined) return
    shared.free -= 1
    if (shared.pools.size > 1) shared.onTaken(this)
  }

  end(item: ActiveItem): void {
    this.active -= 1
    item.releaseWorker()
    this.completeIfDone()
  }

  private completeIfDone(): void {
    if (this.hasAllItems && this.active === 0 && this.next === this.items.length) this.subscriber.complete()
  }

  /** Hands free workers to items that need one again, then to new ones. A loop, not recursion: synchronous work must not grow the stack. */
  handOut(): void {
    if (this.isHandingOut) return
    this.isHandingOut = true
    try {
      while (this.freeWorkers > 0 && this.stage.shared?.free !== 0) {
        const [start] = this.returning.size > 0 ? this.returning : []
        if (start) {
          // Taken before: what begins may end at once, and release it.
          this.take()
          this.returning.delete(start)
          start()
        } else if (!this.beginNext()) break
      }
    } catch (error) {
      this.subscriber.error(error)
    }
    this.isHandingOut = false
  }

  /** Begins the next item, if one may begin. That of an unfinished run which is stored needs no work. */
  private beginNext(): boolean {
    const { workers, findStored, activeItems, hasRoom } = this.stage
    if (this.next === this.items.length || this.active >= workers + MAX_BACKLOG || hasRoom?.() === false) return false
    const item = this.items[this.next++] as Item
    const stored = findStored?.(item)
    if (stored) {
      this.subscriber.next(stored)
      this.completeIfDone()
      return true
    }
    this.take()
    this.active += 1
    activeItems?.begin()
    new ActiveItem(item, this).begin()
    return true
  }
}

/**
 * One item at work, from its first request to its outcome. It observes its work and is the subscription of it; RxJS takes such an object as the
 * subscriber, without one of its own around it.
 */
class ActiveItem extends Subscription implements Observer<ItemResult>, WorkerSlot {
  private hasWorker = true
  private requests = 0
  private outcome: ItemOutcome | undefined
  private hasOutcome = false

  constructor(
    private readonly item: Item,
    private readonly pool: ItemPool,
  ) {
    super()
  }

  begin(): void {
    const { item, pool } = this
    pool.subscriber.add(this)
    try {
      pool.work(item, this).subscribe(this)
    } catch (error) {
      this.error(error)
    }
    // Not with the outcome: the request is unsubscribed after that, and the next one would start too early.
    this.add(() => {
      if (this.hasOutcome) pool.end(this)
      else this.releaseWorker()
    })
    // Work that sends no request when it begins waits for something else: its worker takes another item meanwhile.
    this.releaseIfIdle()
  }

  acquire(start: () => void): (() => void) | undefined {
    // A request that other items share goes on without the item that began it.
    if (this.hasWorker || this.closed) {
      this.requests += 1
      start()
      return undefined
    }
    return this.pool.acquire(() => {
      // Another request of this item may have waited too: one worker is enough.
      if (this.hasWorker) this.pool.release()
      this.hasWorker = true
      this.requests += 1
      start()
    })
  }

  release(): void {
    this.requests -= 1
    this.releaseIfIdle()
  }

  private releaseIfIdle(): void {
    if (this.requests === 0) this.releaseWorker()
  }

  releaseWorker(): void {
    if (!this.hasWorker) return
    this.hasWorker = false
    this.pool.release()
  }

  next(result: ItemResult): void {
    if (this.closed) return
    if (this.outcome === undefined) this.outcome = { item: this.item, ...result }
    else this.error(new SequenceError('Too many matching values'))
  }

  error(error: unknown): void {
    if (this.closed) return
    const { item, pool } = this
    const { stream } = pool.stage
    if (isItemError(error)) this.emit(toFailedOutcome(item, error))
    else pool.subscriber.error(stream ? nameBug(error, `the work of ${stream.name}`, item.key) : error)
  }

  complete(): void {
    if (this.closed) return
    if (this.outcome === undefined) this.error(new EmptyError())
    else this.emit(this.outcome)
  }

  private emit(outcome: ItemOutcome): void {
    // Forgotten at once: this object is in the old generation after a request, and would retain the rows until the next major GC.
    this.outcome = undefined
    this.hasOutcome = true
    this.pool.subscriber.next(outcome)
    this.unsubscribe()
  }
}

const toFailedOutcome = (item: Item, error: CollectError): ItemOutcome => {
  const { status, code, causes, isTemporary } = error
  const why = { reason: formatError(error), code, ...(causes.length > 0 ? { causes } : {}), ...(isTemporary ? { isTemporary } : {}) }
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
  const createAskOf = createAsk({
    transport: context.transport,
    settings: context.settings,
    stream: stream.name,
    limiters: context.limiters,
    timeoutMs: context.settings.timeoutsMs[stream.name] ?? stream.timeoutMs,
    isList: isListWork(stream.work),
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
  return (item, slot) =>
    stream.work.each(item, { ...tools, ask: createAskOf(slot, item.key) }, toFilePath(output, context.settings.exchange, item))
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
  return <T>(key: string, make: () => Observable<T>): Observable<T> => {
    const known = answers.get(key)
    if (known) return known as Observable<T>
    const answer$ = defer(make).pipe(share({ connector: () => new AsyncSubject<T>(), resetOnError: false, resetOnComplete: false }))
    answers.set(key, answer$)
    return answer$
  }
}

/** The same for second passes: reuses the answers of the first pass, and sends a request again if it failed for a temporary reason. */
export const oncePerSecondPass = (shared: Tools['shared']): Tools['shared'] => {
  const again = oncePerRun()
  return (key, make) =>
    shared(key, make).pipe(
      catchError((error: unknown) => (error instanceof CollectError && error.isTemporary ? again(key, make) : throwError(() => error))),
    )
}
