import {
  concat,
  defer,
  from,
  ignoreElements,
  map,
  merge,
  type Observable,
  of,
  take,
  throwError,
  timer,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import { mergeMapWithPauses, type Pause } from '../../src/operators/merge-map-with-pauses.js'
import { itWithMarbles } from '../support/marbles.js'

/** Work of 4 ms; `a` pauses for 3 ms after its first 2 ms. */
const work = (value: string, pause: Pause): Observable<string> =>
  value === 'a'
    ? concat(timer(2), pause(3), timer(2)).pipe(ignoreElements(), (rest$) => concat(rest$, of(value)))
    : timer(4).pipe(map(() => value))

describe('mergeMapWithPauses', () => {
  itWithMarbles('is mergeMap with that many workers where nothing pauses', (m) => {
    const source = m.cold('(bcd|)')
    const expected = '     ----(bc)(d|)'

    m.expect(source.pipe(mergeMapWithPauses(work, 2))).toBeObservable(expected)
    m.expect(source).toHaveSubscriptions('(^!)')
  })

  itWithMarbles(
    'gives the worker of paused work to the next value, and lines the work up behind the others',
    (m) => {
      //                        a pauses at 2; b 2-6, c 6-10; a has waited since 5, and ends after 2 ms more
      const source = m.cold('(abc|)')
      const expected = '     ------b---c-(a|)'

      m.expect(source.pipe(mergeMapWithPauses(work, 1))).toBeObservable(expected)
    },
  )

  itWithMarbles('goes on with paused work at once where a worker is free', (m) => {
    const source = m.cold('(ab|)')
    const expected = '     ----b--(a|)'

    m.expect(source.pipe(mergeMapWithPauses(work, 2))).toBeObservable(expected)
  })

  itWithMarbles('needs one worker for two requests of a value that pause', (m) => {
    const both = (value: string, pause: Pause) =>
      value === 'a'
        ? concat(merge(pause(2), pause(5)).pipe(ignoreElements()), of(value))
        : timer(4).pipe(map(() => value))
    // Both wait for the end of b at 4; the longer one goes on with the worker that the shorter one got.
    m.expect(m.cold('(abc|)').pipe(mergeMapWithPauses(both, 1))).toBeObservable('----b---(ca|)')
  })

  itWithMarbles('pauses as often as the work says', (m) => {
    const twice = (value: string, pause: Pause) =>
      concat(concat(pause(2), timer(1), pause(2)).pipe(ignoreElements()), of(value))

    m.expect(m.cold('(a|)').pipe(mergeMapWithPauses(twice, 1))).toBeObservable('-----(a|)')
  })

  itWithMarbles('ends work and pauses when it is unsubscribed', (m) => {
    const active = m.cold('----------b')
    const each = (value: string, pause: Pause) => (value === 'a' ? pause(3) : active)

    m.expect(m.cold('(ab|)').pipe(mergeMapWithPauses(each, 1)), '--!').toBeObservable('-')
    m.expect(active).toHaveSubscriptions('^-!')
  })

  itWithMarbles('errors with the work, active or paused, and unsubscribes all other', (m) => {
    const other = m.cold('----------b')
    const each = (value: string, pause: Pause) =>
      value === 'a'
        ? pause(3).pipe((rest$) =>
            concat(
              rest$.pipe(ignoreElements()),
              throwError(() => 'lost'),
            ),
          )
        : other

    m.expect(m.cold('(ab|)').pipe(mergeMapWithPauses(each, 2))).toBeObservable('---#', undefined, 'lost')
    m.expect(other).toHaveSubscriptions('^--!')
  })

  itWithMarbles('skips the turn of work that has ended while it stood in line', (m) => {
    let begun = 0
    const each = (value: string, pause: Pause) =>
      defer(() => {
        begun += 1
        // The pause of a ends at 2, while b has the worker; a ends at 3 all the same.
        return value === 'a' ? merge(pause(2), timer(3).pipe(map(() => value))).pipe(take(1)) : timer(6)
      }).pipe(map(() => value))

    m.expect(m.cold('(ab|)').pipe(mergeMapWithPauses(each, 1))).toBeObservable('---a--(b|)')
    m.flush()
    expect(begun).toBe(2)
  })

  itWithMarbles('works within work of its own kind', (m) => {
    const inner = (value: string): Observable<string> =>
      of(value, value).pipe(mergeMapWithPauses((one) => of(one), 1))

    m.expect(m.cold('a---(b|)').pipe(mergeMapWithPauses(inner, 1))).toBeObservable('(aa)(bb|)')
  })

  it('does not grow the stack with a long list of work that ends at once', () => {
    let sum = 0
    from(Array(100_000).keys())
      .pipe(mergeMapWithPauses((n) => of(n), 3))
      .subscribe((n) => (sum += n))
    expect(sum).toBe(4_999_950_000)
  })
})
