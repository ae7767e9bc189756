import { finalize, mergeMap, NEVER, Observable, type OperatorFunction, Subject } from 'rxjs'
import { createWorkerSlot, type WorkerSlot } from './worker-slot.js'

/** Capacity for results that are not yet stored. While there is none, no further item starts. */
export interface Capacity {
  readonly isFree: () => boolean
  /** Emits when there may be capacity again. */
  readonly freed$: Observable<unknown>
}

/** Compact the queue every 1,000 items: `shift()` for each item is O(n). */
const COMPACT_AFTER = 1_000

const UNLIMITED: Capacity = { isFree: () => true, freed$: NEVER }

/**
 * `mergeMap` with a pool of workers, in the order of the items. An item may release its worker before it finishes; if it needs one again,
 * it goes before new items. The cost per queued item is constant, and synchronous work does not grow the stack. The source must complete:
 * it is read as fast as it emits.
 */
export const mergeMapPool =
  <T, R>(work: (item: T, slot: WorkerSlot) => Observable<R>, workers: number, room = UNLIMITED): OperatorFunction<T, R> =>
  (item$) =>
    new Observable((subscriber) => {
      const waiting: T[] = []
      const returning = new Set<() => void>()
      const pulled$ = new Subject<T>()
      let [next, busy, isPulling, isComplete] = [0, 0, false, false]
      const pullOne = (): boolean => {
        const [resume] = returning
        const hasNext = next < waiting.length && room.isFree()
        if (subscriber.closed || busy >= workers || (resume === undefined && !hasNext)) return false
        busy += 1
        if (resume) {
          returning.delete(resume)
          resume()
        } else {
          const item = waiting[next] as T
          next += 1
          if (next === COMPACT_AFTER) {
            waiting.splice(0, next)
            next = 0
          }
          pulled$.next(item)
        }
        return true
      }
      const pull = (): void => {
        if (isPulling) return
        isPulling = true
        while (pullOne());
        isPulling = false
        if (isComplete && next === waiting.length) pulled$.complete()
      }
      const pool = {
        wait: (start: () => void) => {
          returning.add(start)
          pull()
          return () => returning.delete(start)
        },
        free: () => {
          busy -= 1
          pull()
        },
      }
      const workOn = (item: T): Observable<R> => {
        const slot = createWorkerSlot(pool)
        return work(item, slot).pipe(finalize(slot.release))
      }
      pulled$.pipe(mergeMap(workOn)).subscribe(subscriber)
      subscriber.add(room.freed$.subscribe(pull))
      subscriber.add(
        item$.subscribe({
          next: (item) => {
            waiting.push(item)
            pull()
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            isComplete = true
            pull()
          },
        }),
      )
    })
