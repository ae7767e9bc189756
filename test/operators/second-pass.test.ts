import { concat, EMPTY, NEVER, type Observable, of, throwError } from 'rxjs'
import { describe, expect, vi } from 'vitest'
import { secondPass } from '../../src/operators/item-outcome.js'
import { itWithMarbles } from '../support/marbles.js'

/** Capital letters are withheld; the second pass emits them as small letters. */
const capital = (letter: string): string | undefined => (letter === letter.toUpperCase() ? letter : undefined)

describe('secondPass', () => {
  itWithMarbles('passes on results at once, and works on withheld items after the first pass', (m) => {
    const first = m.cold('   -aB-cD-|')
    const again = m.cold('          --x-(y|)')
    const retry = vi.fn(() => again)

    m.expect(first.pipe(secondPass(capital, retry))).toBeObservable('-a--c----x-(y|)')
    m.expect(again).toHaveSubscriptions('-------^---!')
    m.flush()
    expect(retry.mock.calls).toStrictEqual([[['B', 'D']]])
  })

  itWithMarbles('has no second pass if nothing is withheld, if the source is empty, or during the first pass', (m) => {
    const retry = vi.fn(() => of('x'))

    m.expect(m.cold('-a-b-|').pipe(secondPass(capital, retry))).toBeObservable('-a-b-|')
    m.expect(EMPTY.pipe(secondPass(capital, retry))).toBeObservable('|')
    m.expect(NEVER.pipe(secondPass(capital, retry))).toBeObservable('-')
    m.expect(concat(of('B'), NEVER).pipe(secondPass(capital, retry))).toBeObservable('-')
    m.flush()
    expect(retry).not.toHaveBeenCalled()
  })

  itWithMarbles('errors with either pass; no second pass after a first one that failed', (m) => {
    const bug = new TypeError('a bug')
    const retry = vi.fn(() => of('x'))
    m.expect(m.cold('-B-#', undefined, bug).pipe(secondPass(capital, retry))).toBeObservable('---#', undefined, bug)
    m.expect(m.cold('-B|').pipe(secondPass(capital, () => m.cold<string>('-#', undefined, bug)))).toBeObservable('---#', undefined, bug)
    m.flush()
    expect(retry).not.toHaveBeenCalled()
  })

  itWithMarbles('unsubscribes the active pass when it is unsubscribed', (m) => {
    const [first, again] = [m.cold('-B-|'), m.cold('----x|')]
    m.expect(first.pipe(secondPass(capital, () => again)), '--!').toBeObservable('-')
    m.expect(first).toHaveSubscriptions('                 ^-!')
    m.expect(again).toHaveSubscriptions([])
    const [other, later] = [m.cold('-B-|'), m.cold('----x|')]
    m.expect(other.pipe(secondPass(capital, () => later)), '-----!').toBeObservable('-')
    m.expect(later).toHaveSubscriptions('                         ---^-!')
  })

  itWithMarbles('errors with the error of a callback that throws', (m) => {
    const bug = new TypeError('a bug')
    const thrower = (): string => {
      throw bug
    }
    m.expect(of('B').pipe(secondPass(thrower, (): Observable<string> => EMPTY))).toBeObservable('#', undefined, bug)
    m.expect(of('B').pipe(secondPass(capital, (): Observable<string> => of(thrower())))).toBeObservable('#', undefined, bug)
    m.expect(of('B').pipe(secondPass(capital, (): Observable<string> => throwError(() => bug)))).toBeObservable('#', undefined, bug)
  })

  itWithMarbles('has separate items for each subscription', (m) => {
    const result = of('a', 'B').pipe(secondPass(capital, (items) => of(items.join('').toLowerCase())))
    m.expect(result).toBeObservable('(ab|)')
    m.expect(result).toBeObservable('(ab|)')
  })
})
