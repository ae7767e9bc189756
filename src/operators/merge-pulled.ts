import { finalize, mergeMap, NEVER, Observable, type OperatorFunction, Subject } from 'rxjs'
import { createSlot, type Slot } from './slot.js'

/** Room for what was worked on and is not yet put away: without it, no further item is begun. */
export interface Room {
  readonly isFree: () => boolean
  /** Emits when there may be room again. */
  readonly freed$: Observable<unknown>
}

/** What was taken is let go of, not one by one, which would move all that waits each time. */
const FORGOTTEN_AT_ONCE = 1_000

const ENDLESS: Room = { isFree: () => true, freed$: NEVER }

/**
 * `mergeMap` with so many workers, in the order in which the items came, that takes the next one when it can begin it. The work of an
 * item may give its worker away before it ends; if it wants one again, it comes before new items. What waits costs the same however
 * long the list is, and work that ends at once does not grow the stack. The list has to end: it is taken as fast as it comes.
 */
export const mergePulled =
  <T, R>(work: (item: T, slot: Slot) => Observable<R>, workers: number, room = ENDLESS): OperatorFunction<T, R> =>
  (item$) =>
    new Observable((subscriber) => {
      const waiting: T[] = []
      const returning = new Set<() => void>()
      const pulled$ = new Subject<T>()
      let [next, busy, isPulling, isWhole] = [0, 0, false, false]
      const pullOne = (): boolean => {
        const [back] = returning
        const hasNext = next < waiting.length && room.isFree()
        if (subscriber.closed || busy >= workers || (back === undefined && !hasNext)) return false
        busy += 1
        if (back) {
          returning.delete(back)
          back()
        } else {
          const item = waiting[next] as T
          next += 1
          if (next === FORGOTTEN_AT_ONCE) {
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
        if (isWhole && next === waiting.length) pulled$.complete()
      }
      const crew = {
        wait: (begin: () => void) => {
          returning.add(begin)
          pull()
          return () => returning.delete(begin)
        },
        free: () => {
          busy -= 1
          pull()
        },
      }
      const worked = (item: T): Observable<R> => {
        const slot = createSlot(crew)
        return work(item, slot).pipe(finalize(slot.leave))
      }
      pulled$.pipe(mergeMap(worked)).subscribe(subscriber)
      subscriber.add(room.freed$.subscribe(pull))
      subscriber.add(
        item$.subscribe({
          next: (item) => {
            waiting.push(item)
            pull()
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            isWhole = true
            pull()
          },
        }),
      )
    })
