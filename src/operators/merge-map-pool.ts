import { NEVER, Observable, type OperatorFunction } from 'rxjs'

/** Capacity for results that are not yet stored. While there is none, no further item starts. */
export interface Capacity {
  readonly isFree: () => boolean
  /** Emits when there may be capacity again. */
  readonly freed$: Observable<unknown>
  /** Items that may be active without a worker, besides those that have one. */
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
  /** Calls `start` once an item has got a worker again, at once or later. The returned function leaves the queue. */
  readonly acquire: (start: () => void) => () => void
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
    new Observable((subscriber) => {
      const items = createQueue<T>()
      let active = 0
      let hasEnded = false
      const completeIfDone = (): void => {
        if (hasEnded && active === 0 && items.isEmpty()) subscriber.complete()
      }
      const begin = (): void => {
        active += 1
        const slot = createWorkerSlot(pool)
        let hasCompleted = false
        const observer = {
          next: (value: R) => subscriber.next(value),
          error: fail,
          complete: () => {
            hasCompleted = true
          },
        }
        const subscription = work(items.take(), slot).subscribe(observer)
        subscriber.add(subscription)
        // Not in `complete`: the request is unsubscribed after that, and the next one would start too early.
        subscription.add(() => {
          if (!hasCompleted) return
          active -= 1
          slot.release()
          completeIfDone()
        })
        // Work that sends no request when it begins waits for something else: its worker takes another item meanwhile.
        slot.releaseIfIdle()
      }
      const fail = (error: unknown): void => subscriber.error(error)
      const mayBegin = (): boolean => !items.isEmpty() && active < workers + room.backlog && room.isFree()
      const pool = createWorkerPool(workers, () => (mayBegin() ? begin : undefined), fail)
      // Closed before the items are unsubscribed: a worker that one of them releases must not start another.
      subscriber.add(pool.close)
      subscriber.add(room.freed$.subscribe(pool.handOut))
      const add = (item: T): void => {
        items.add(item)
        pool.handOut()
      }
      const end = (): void => {
        hasEnded = true
        completeIfDone()
      }
      subscriber.add(item$.subscribe({ next: add, error: fail, complete: end }))
    })

/** A queue without `shift`, which moves the whole list for each element. */
const createQueue = <T>() => {
  const list: T[] = []
  let from = 0
  return {
    isEmpty: (): boolean => from === list.length,
    add: (element: T): void => void list.push(element),
    take: (): T => {
      const element = list[from] as T
      from += 1
      if (from === list.length) from = list.length = 0
      return element
    },
  }
}

/** Hands free workers to items that need one again, then to new ones. */
const createWorkerPool = (workers: number, findNew: () => (() => void) | undefined, fail: (error: unknown) => void) => {
  const returning = new Set<() => void>()
  let freeWorkers = workers
  let isHandingOut = false
  const takeReturning = (): (() => void) | undefined => {
    const [start] = returning
    if (start) returning.delete(start)
    return start
  }
  /** A loop, not recursion: synchronous work must not grow the stack. */
  const handOut = (): void => {
    if (isHandingOut) return
    isHandingOut = true
    try {
      while (freeWorkers > 0) {
        const start = (returning.size > 0 ? takeReturning() : undefined) ?? findNew()
        if (start === undefined) break
        freeWorkers -= 1
        start()
      }
    } catch (error) {
      fail(error)
    }
    isHandingOut = false
  }
  return {
    handOut,
    acquire: (start: () => void): (() => void) => {
      returning.add(start)
      handOut()
      return () => returning.delete(start)
    },
    release: (): void => {
      freeWorkers += 1
      handOut()
    },
    close: (): void => {
      freeWorkers = Number.NEGATIVE_INFINITY
    },
  }
}

/** For an item outside of a pool. */
const OWN_WORKER: WorkerPool = {
  acquire: (start) => {
    start()
    return () => undefined
  },
  release: () => undefined,
}

/** The slot of an item that has just got a worker. */
export const createWorkerSlot = (pool: WorkerPool = OWN_WORKER): WorkerSlot => {
  let hasWorker = true
  let uses = 0
  const freeWorker = (): void => {
    if (!hasWorker) return
    hasWorker = false
    pool.release()
  }
  const releaseIfIdle = (): void => {
    if (uses === 0) freeWorker()
  }
  const use = (): SlotUse => {
    let isInUse = false
    const begin = (): void => {
      if (!isInUse) uses += 1
      isInUse = true
    }
    const release = (): void => {
      if (!isInUse) return
      isInUse = false
      uses -= 1
      releaseIfIdle()
    }
    const acquire = <T>(request$: Observable<T>): Observable<T> =>
      new Observable((subscriber) => {
        if (hasWorker) {
          begin()
          return request$.subscribe(subscriber)
        }
        return pool.acquire(() => {
          // Another request of this item may have waited too: one worker is enough.
          if (hasWorker) pool.release()
          hasWorker = true
          begin()
          request$.subscribe(subscriber)
        })
      })
    return { acquire, release }
  }
  return { use, releaseIfIdle, release: freeWorker }
}
