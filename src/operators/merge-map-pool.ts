import { finalize, mergeMap, NEVER, Observable, type OperatorFunction, Subject } from 'rxjs'
import { createWorkerSlot, type WorkerPool, type WorkerSlot } from './worker-slot.js'

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
      const state = createState<T>(workers, room, subscriber)
      const pool = createPool(state)
      const workOn = (item: T): Observable<R> => {
        const slot = createWorkerSlot(pool)
        return work(item, slot).pipe(finalize(slot.release))
      }
      state.pulled$.pipe(mergeMap(workOn)).subscribe(subscriber)
      subscriber.add(room.freed$.subscribe(() => pull(state)))
      subscriber.add(
        item$.subscribe({
          next: (item) => {
            state.waiting.push(item)
            pull(state)
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            state.isComplete = true
            pull(state)
          },
        }),
      )
    })

interface PoolState<T> {
  readonly workers: number
  readonly room: Capacity
  readonly subscriber: { readonly closed: boolean }
  /** The items that have not started are those from index `next` on. */
  readonly waiting: T[]
  next: number
  /** Started items that need a worker again. */
  readonly returning: Set<() => void>
  /** Emits the items that start. */
  readonly pulled$: Subject<T>
  busy: number
  isPulling: boolean
  isComplete: boolean
}

const createState = <T>(workers: number, room: Capacity, subscriber: { readonly closed: boolean }): PoolState<T> => ({
  ...{ workers, room, subscriber, waiting: [], next: 0, returning: new Set(), pulled$: new Subject() },
  ...{ busy: 0, isPulling: false, isComplete: false },
})

const createPool = <T>(state: PoolState<T>): WorkerPool => ({
  wait: (start) => {
    state.returning.add(start)
    pull(state)
    return () => state.returning.delete(start)
  },
  free: () => {
    state.busy -= 1
    pull(state)
  },
})

/** Gives the free workers to items. A loop, not recursion: synchronous work must not grow the stack. */
const pull = <T>(state: PoolState<T>): void => {
  if (state.isPulling) return
  state.isPulling = true
  while (pullOne(state));
  state.isPulling = false
  if (state.isComplete && state.next === state.waiting.length) state.pulled$.complete()
}

const pullOne = <T>(state: PoolState<T>): boolean => {
  const { waiting, returning, room, subscriber } = state
  const [resume] = returning
  const hasNext = state.next < waiting.length && room.isFree()
  if (subscriber.closed || state.busy >= state.workers || (resume === undefined && !hasNext)) return false
  state.busy += 1
  if (resume) {
    returning.delete(resume)
    resume()
  } else state.pulled$.next(takeNext(state))
  return true
}

const takeNext = <T>(state: PoolState<T>): T => {
  const item = state.waiting[state.next] as T
  state.next += 1
  if (state.next === COMPACT_AFTER) {
    state.waiting.splice(0, state.next)
    state.next = 0
  }
  return item
}
