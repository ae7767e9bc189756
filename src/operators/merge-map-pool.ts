import { NEVER, Observable, type OperatorFunction } from 'rxjs'

/** Capacity for results that are not yet stored. While there is none, no further item starts. */
export interface Capacity {
  readonly isFree: () => boolean
  /** Emits when there may be capacity again. */
  readonly freed$: Observable<unknown>
  /** Items that may be active without a worker, besides those that have one. */
  readonly backlog: number
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
      /** Those from `next` on have not begun: `shift` would move the whole list for each. */
      const items: T[] = []
      let next = 0
      let active = 0
      let hasEnded = false
      const fail = (error: unknown): void => subscriber.error(error)
      const add = (item: T): void => {
        items.push(item)
        pool.handOut()
      }
      const begin = (item: T): void => {
        const slot = new WorkerSlot(pool)
        let hasCompleted = false
        const complete = (): void => {
          hasCompleted = true
        }
        const subscription = work(item, slot).subscribe({ next: (value) => subscriber.next(value), error: fail, complete })
        subscriber.add(subscription)
        // Not in `complete`: the request is unsubscribed after that, and the next one would start too early.
        subscription.add(() => {
          if (!hasCompleted) return
          active -= 1
          slot.end()
          if (hasEnded && active === 0) completeIfDone()
        })
        // Work that sends no request when it begins waits for something else: its worker takes another item meanwhile.
        slot.releaseIfIdle()
      }
      const beginNext = (): boolean => {
        if (next === items.length || active >= workers + room.backlog || !room.isFree()) return false
        active += 1
        next += 1
        begin(items[next - 1] as T)
        return true
      }
      const completeIfDone = (): void => {
        hasEnded = true
        if (active === 0 && next === items.length) subscriber.complete()
      }
      const pool = createWorkerPool(workers, beginNext, fail)
      // Closed before the items are unsubscribed: a worker that one of them releases must not start another.
      subscriber.add(pool.close)
      subscriber.add(room.freed$.subscribe(pool.handOut))
      subscriber.add(item$.subscribe({ next: add, error: fail, complete: completeIfDone }))
    })

/** Hands free workers to items that need one again, then to new ones. `beginNext` begins a new item, unless none may begin. */
const createWorkerPool = (workers: number, beginNext: () => boolean, fail: (error: unknown) => void) => {
  const returning = new Set<() => void>()
  let freeWorkers = workers
  let isHandingOut = false
  /** A loop, not recursion: synchronous work must not grow the stack. */
  const handOut = (): void => {
    if (isHandingOut) return
    isHandingOut = true
    try {
      while (freeWorkers > 0) {
        // Taken before: what begins may end at once, and release it.
        freeWorkers -= 1
        const [start] = returning.size > 0 ? returning : []
        if (start) {
          returning.delete(start)
          start()
        } else if (!beginNext()) {
          freeWorkers += 1
          break
        }
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

/**
 * The worker of one item. The item has it from the start until all its requests have finished, and again for each further request. Without a
 * pool, the item has its own.
 */
export class WorkerSlot {
  private hasWorker = true
  /** The active requests. */
  private uses = 0

  constructor(private readonly pool: WorkerPool = OWN_WORKER) {}

  /**
   * Calls `start` for one request as soon as the item has a worker, at once if it has one. The returned function leaves the queue; there is
   * none if the request has not waited.
   */
  acquire(start: () => void): (() => void) | undefined {
    if (this.hasWorker) {
      this.uses += 1
      start()
      return undefined
    }
    return this.pool.acquire(() => {
      // Another request of this item may have waited too: one worker is enough.
      if (this.hasWorker) this.pool.release()
      this.hasWorker = true
      this.uses += 1
      start()
    })
  }

  /** A request that was started has finished, with its retries. If it was the last active one of the item, the worker becomes free. */
  release(): void {
    this.uses -= 1
    this.releaseIfIdle()
  }

  /** The item does other work for now: its worker becomes free unless a request is active. */
  releaseIfIdle(): void {
    if (this.uses === 0) this.end()
  }

  /** The item has finished. */
  end(): void {
    if (!this.hasWorker) return
    this.hasWorker = false
    this.pool.release()
  }
}
