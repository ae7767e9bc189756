import { Observable } from 'rxjs'

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
  /** Waits for a worker; the returned function cancels. */
  readonly wait: (start: () => void) => () => void
  readonly free: () => void
}

/** The slot of an item that has just got a worker. */
export const createWorkerSlot = (pool: WorkerPool): WorkerSlot => {
  let hasWorker = true
  let uses = 0
  const freeWorker = (): void => {
    if (!hasWorker) return
    hasWorker = false
    pool.free()
  }
  const use = (): SlotUse => {
    let isInUse = false
    return {
      acquire: (request$) =>
        new Observable((subscriber) => {
          const start = (): void => {
            if (!isInUse) uses += 1
            isInUse = true
            subscriber.add(request$.subscribe(subscriber))
          }
          if (hasWorker) return start()
          return pool.wait(() => {
            // Another request of this item may have waited too: one worker is enough.
            if (hasWorker) pool.free()
            hasWorker = true
            start()
          })
        }),
      release: () => {
        if (!isInUse) return
        isInUse = false
        uses -= 1
        if (uses === 0) freeWorker()
      },
    }
  }
  const freeIfIdle = (): void => {
    if (uses === 0) freeWorker()
  }
  return { use, releaseIfIdle: freeIfIdle, release: freeWorker }
}
