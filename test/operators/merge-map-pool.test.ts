import { defer, NEVER, Observable, of, range, Subject, tap, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { mergeMapPool, type WorkerSlot } from '../../src/operators/merge-map-pool.js'
import { itWithMarbles } from '../support/marbles.js'

/** Subscribes to a request once its item has a worker. */
const request = <T>(slot: WorkerSlot, request$: Observable<T>): Observable<T> =>
  new Observable((subscriber) => slot.acquire(() => subscriber.add(request$.subscribe(subscriber))))

/** Work that the test controls: `begun` lists the started items in order. */
const works = () => {
  const begun: number[] = []
  const ends = new Map<number, Subject<string>>()
  const work = (item: number, slot: WorkerSlot): Observable<string> =>
    request(
      slot,
      defer(() => {
        begun.push(item)
        const end$ = new Subject<string>()
        ends.set(item, end$)
        return end$
      }),
    )
  const end = (item: number): void => {
    ends.get(item)?.next(`${item} done`)
    ends.get(item)?.complete()
  }
  return { begun, work, end, ends }
}

describe('mergeMapPool', () => {
  itWithMarbles('emits the values of the work, and completes when all work has completed', (m) => {
    const source = m.cold('a-b|')
    const work = m.cold('--(x|)')
    m.expect(source.pipe(mergeMapPool(() => work, 2))).toBeObservable('--x-(x|)')
  })

  itWithMarbles('passes on an error of the source, and of the work', (m) => {
    const failure = new Error('broken')
    m.expect(m.cold('-#', undefined, failure).pipe(mergeMapPool(() => of(1), 2))).toBeObservable('-#', undefined, failure)
    m.expect(m.cold('-a').pipe(mergeMapPool(() => throwError(() => failure), 2))).toBeObservable('-#', undefined, failure)
  })

  it('works on as many items at a time as there are workers, and starts the others in order', () => {
    const { begun, work, end } = works()
    const got: string[] = []
    range(0, 5)
      .pipe(mergeMapPool(work, 2))
      .subscribe((done) => got.push(done))
    expect(begun).toEqual([0, 1])
    end(1)
    expect(begun).toEqual([0, 1, 2])
    end(0)
    end(2)
    expect(begun).toEqual([0, 1, 2, 3, 4])
    expect(got).toEqual(['1 done', '0 done', '2 done'])
  })

  it('starts nothing without capacity, and continues when there is some', () => {
    const { begun, work, end } = works()
    const freed$ = new Subject<void>()
    let isFree = true
    range(0, 4)
      .pipe(mergeMapPool(work, 2, { isFree: () => isFree, freed$, backlog: 1 }))
      .subscribe()
    isFree = false
    end(0)
    end(1)
    expect(begun).toEqual([0, 1])
    freed$.next()
    expect(begun).toEqual([0, 1])
    isFree = true
    freed$.next()
    expect(begun).toEqual([0, 1, 2, 3])
  })

  it('starts further items while one waits for something else than a request, up to the backlog', () => {
    const begun: number[] = []
    range(0, 100)
      .pipe(
        mergeMapPool((item) => NEVER.pipe(tap({ subscribe: () => begun.push(item) })), 2, {
          isFree: () => true,
          freed$: NEVER,
          backlog: 3,
        }),
      )
      .subscribe()
    expect(begun).toHaveLength(2 + 3)
  })

  it('aborts active work and starts nothing more after it is unsubscribed or has failed', () => {
    for (const stop of [
      (subscription: { unsubscribe: () => void }) => subscription.unsubscribe(),
      (_: unknown, fail: () => void) => fail(),
    ]) {
      const { begun, work, ends } = works()
      const subscription = range(0, 6)
        .pipe(mergeMapPool(work, 3))
        .subscribe({ error: () => undefined })
      stop(subscription, () => ends.get(1)?.error(new Error('broken')))
      expect(begun).toEqual([0, 1, 2])
      expect([...ends.values()].some(({ observed }) => observed)).toBe(false)
    }
  })

  it('neither grows the stack nor slows down with a long list of synchronous work', () => {
    let sum = 0
    range(1, 200_000)
      .pipe(mergeMapPool((item) => of(item), 3))
      .subscribe((item) => {
        sum += item
      })
    expect(sum).toBe(20_000_100_000)
  })

  it('does not grow the stack when a long queue of synchronous work follows active work', () => {
    const first$ = new Subject<number>()
    let count = 0
    range(0, 50_000)
      .pipe(mergeMapPool((item, slot) => request(slot, item < 3 ? first$ : of(item)), 3))
      .subscribe(() => {
        count += 1
      })
    expect(count).toBe(0)
    first$.complete()
    expect(count).toBe(49_997)
  })
})
