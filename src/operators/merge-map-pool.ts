import {
  AsyncSubject,
  defer,
  finalize,
  ignoreElements,
  mergeMap,
  NEVER,
  type Observable,
  type OperatorFunction,
  of,
  switchMap,
  takeUntil,
  tap,
} from 'rxjs'

/** Capacity for results that are not yet stored. While there is none, no further item starts. */
export interface Capacity {
  readonly isFree: () => boolean
  /** Emits when there may be capacity again. */
  readonly freed$: Observable<unknown>
  /** Items that may wait for a worker, besides those that have one; at least 1, or synchronous work would grow the stack. */
  readonly backlog: number
}

/** The worker of one item. The item has it from the start until all its requests have finished, and again for each further request. */
export interface WorkerSlot {
  /** For one request of the item, including its retries. */
  readonly use: () => SlotUse
  /** The item does other work for now: its worker becomes free unless a request is active. */
  readonly releaseIfIdle: () => void
  /** The item has finished. */
  readonly release: () => void
}

export interface SlotUse {
  /** Subscribes as soon as the item has a worker; at once if it has one. */
  readonly acquire: <T>(request$: Observable<T>) => Observable<T>
  /** The request has finished. If it was the last active one of the item, the worker becomes free. */
  readonly release: () => void
}

/** The workers that items share. */
export interface WorkerPool {
  /** Emits once a worker is free, which it takes; unsubscribing leaves the queue. Items that need a worker again go before new items. */
  readonly acquire: (isReturning: boolean) => Observable<void>
  readonly release: () => void
}

const UNLIMITED: Capacity = { isFree: () => true, freed$: NEVER, backlog: 1 }

/**
 * `mergeMap` with a pool of workers, in the order of the items. An item may release its worker before it finishes, so that decoding and
 * storing do not keep the next request waiting; if it needs a worker again, it goes before new items. Synchronous work does not grow the
 * stack.
 */
export const mergeMapPool =
  <T, R>(work: (item: T, slot: WorkerSlot) => Observable<R>, workers: number, room = UNLIMITED): OperatorFunction<T, R> =>
  (item$) =>
    defer(() => {
      const pool = createWorkerPool(workers, room.isFree)
      const processItem = (item: T): Observable<R> => {
        const slot = createWorkerSlot(pool)
        return pool.acquire(false).pipe(
          // Work that sends no request when it begins waits for something else: its worker takes another item meanwhile.
          tap({ complete: slot.releaseIfIdle }),
          // `finalize` inside: outside, it would run before the request is unsubscribed, and the next one would start too early.
          switchMap(() => work(item, slot).pipe(finalize(slot.release))),
        )
      }
      return item$.pipe(
        mergeMap(processItem, workers + room.backlog),
        // Unsubscribed before the items are: a worker that one of them releases must not start another.
        takeUntil(room.freed$.pipe(tap(pool.handOut), ignoreElements(), finalize(pool.close))),
      )
    })

const createWorkerPool = (workers: number, isRoomFree: () => boolean) => {
  const returning = new Set<AsyncSubject<void>>()
  const starting = new Set<AsyncSubject<void>>()
  let freeWorkers = workers
  let isHandingOut = false
  const findNext = (): AsyncSubject<void> | undefined => {
    const [first] = returning.size > 0 || !isRoomFree() ? returning : starting
    return first
  }
  /** A loop, not recursion: synchronous work must not grow the stack. */
  const handOut = (): void => {
    if (isHandingOut) return
    isHandingOut = true
    for (let next = findNext(); next !== undefined && freeWorkers > 0; next = findNext()) {
      freeWorkers -= 1
      returning.delete(next)
      starting.delete(next)
      next.next()
      next.complete()
    }
    isHandingOut = false
  }
  const acquire = (isReturning: boolean): Observable<void> =>
    defer(() => {
      const queue = isReturning ? returning : starting
      const turn$ = new AsyncSubject<void>()
      queue.add(turn$)
      handOut()
      return turn$.pipe(finalize(() => queue.delete(turn$)))
    })
  const release = (): void => {
    freeWorkers += 1
    handOut()
  }
  const close = (): void => {
    freeWorkers = Number.NEGATIVE_INFINITY
  }
  return { acquire, release, handOut, close }
}

/** For an item outside of a pool. */
const OWN_WORKER: WorkerPool = { acquire: () => of(undefined), release: () => undefined }

/** The slot of an item that has just got a worker. */
export const createWorkerSlot = (pool: WorkerPool = OWN_WORKER): WorkerSlot => {
  let hasWorker = true
  let uses = 0
  const freeWorker = (): void => {
    if (!hasWorker) return
    hasWorker = false
    pool.release()
  }
  const use = (): SlotUse => {
    let isInUse = false
    const begin = <T>(request$: Observable<T>): Observable<T> => {
      if (!isInUse) uses += 1
      isInUse = true
      return request$
    }
    const beginWithWorker = <T>(request$: Observable<T>): Observable<T> => {
      // Another request of this item may have waited too: one worker is enough.
      if (hasWorker) pool.release()
      hasWorker = true
      return begin(request$)
    }
    return {
      acquire: (request$) =>
        defer(() => (hasWorker ? begin(request$) : pool.acquire(true).pipe(switchMap(() => beginWithWorker(request$))))),
      release: () => {
        if (!isInUse) return
        isInUse = false
        uses -= 1
        if (uses === 0) freeWorker()
      },
    }
  }
  const releaseIfIdle = (): void => {
    if (uses === 0) freeWorker()
  }
  return { use, releaseIfIdle, release: freeWorker }
}
