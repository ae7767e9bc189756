import {
  concat,
  defer,
  finalize,
  from,
  ignoreElements,
  map,
  merge,
  type Observable,
  of,
  Subject,
  throwError,
  timer,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import { mergeMapWithPauses, type Pause } from '../../src/operators/merge-map-with-pauses.js'
import { itWithMarbles } from '../support/marbles.js'

const after = (ms: number, value: string): Observable<string> => timer(ms).pipe(map(() => value))
const then = (wait$: Observable<unknown>, value$: Observable<string>): Observable<string> =>
  concat(wait$.pipe(ignoreElements()), value$)

/** Work of 4 ms; `a` pauses for 3 ms after its first 2 ms. */
const work = (value: string, pause: Pause): Observable<string> =>
  value === 'a' ? then(concat(timer(2), pause(timer(3))), after(2, value)) : after(4, value)

describe('mergeMapWithPauses', () => {
  itWithMarbles('is mergeMap with that many workers where nothing pauses', (m) => {
    const source = m.cold('(bcd|)')
    const expected = '     ----(bc)(d|)'

    m.expect(source.pipe(mergeMapWithPauses(work, 2))).toBeObservable(expected)
    m.expect(source).toHaveSubscriptions('(^!)')
  })

  itWithMarbles('gives the worker of paused work to the next value, and goes on after the pause', (m) => {
    // a pauses from 2 to 5; b works from 2 to 6, c from 6 to 10.
    const source = m.cold('(abc|)')
    const expected = '     ------ba--(c|)'

    m.expect(source.pipe(mergeMapWithPauses(work, 1))).toBeObservable(expected)
  })

  itWithMarbles('gives a worker away once, however many pauses the work has, together or in turn', (m) => {
    let [active, most] = [0, 0]
    const each = (value: string, pause: Pause): Observable<string> =>
      defer(() => {
        if (value === 'a')
          return then(concat(merge(pause(timer(1)), pause(timer(2))), pause(timer(1))), of(value))
        active += 1
        most = Math.max(most, active)
        return after(2, value).pipe(
          map((one) => {
            active -= 1
            return one
          }),
        )
      })

    m.expect(m.cold('(abc|)').pipe(mergeMapWithPauses(each, 1))).toBeObservable('--ba(c|)')
    m.flush()
    expect(most).toBe(1)
  })

  itWithMarbles('does not hold up work that waits for paused work', (m) => {
    const shared$ = new Subject<void>()
    const each = (value: string, pause: Pause): Observable<string> =>
      value === 'a'
        ? then(pause(timer(3)), of(value)).pipe(finalize(() => shared$.complete()))
        : then(shared$, of(value))

    m.expect(m.cold('(abc|)').pipe(mergeMapWithPauses(each, 2))).toBeObservable('---(abc|)')
  })

  itWithMarbles('ends work and pauses when it is unsubscribed', (m) => {
    const active = m.cold('----------b')
    const each = (value: string, pause: Pause) => (value === 'a' ? then(pause(timer(3)), of(value)) : active)

    m.expect(m.cold('(ab|)').pipe(mergeMapWithPauses(each, 1)), '--!').toBeObservable('-')
    m.expect(active).toHaveSubscriptions('^-!')
  })

  itWithMarbles('errors with the work, active or paused, and unsubscribes all other', (m) => {
    const other = m.cold('----------b')
    const each = (value: string, pause: Pause) =>
      value === 'a'
        ? then(
            pause(timer(3)),
            throwError(() => 'lost'),
          )
        : other

    m.expect(m.cold('(ab|)').pipe(mergeMapWithPauses(each, 2))).toBeObservable('---#', undefined, 'lost')
    m.expect(other).toHaveSubscriptions('^--!')
  })

  itWithMarbles('works within work of its own kind', (m) => {
    const inner = (value: string): Observable<string> =>
      of(value, value).pipe(mergeMapWithPauses((one) => of(one), 1))

    m.expect(m.cold('a---(b|)').pipe(mergeMapWithPauses(inner, 1))).toBeObservable('(aa)(bb|)')
  })

  it.each(['ends', 'pauses'])('does not grow the stack with a long list of work that %s at once', (what) => {
    let sum = 0
    const each = (n: number, pause: Pause) => (what === 'ends' ? of(n) : pause(of(n)))
    from(Array(100_000).keys())
      .pipe(mergeMapWithPauses(each, 3))
      .subscribe((n) => (sum += n))
    expect(sum).toBe(4_999_950_000)
  })

  it('does not grow the stack when such a list follows work that takes time', () => {
    const first$ = new Subject<number>()
    let count = 0
    from(Array(50_000).keys())
      .pipe(mergeMapWithPauses((n, pause: Pause) => (n === 0 ? first$ : n % 2 ? of(n) : pause(of(n))), 1))
      .subscribe(() => (count += 1))
    first$.complete()
    expect(count).toBe(49_999)
  })
})
