import { concat, EMPTY, NEVER, type Observable, of, throwError } from 'rxjs'
import { describe, expect, it, vi } from 'vitest'
import { secondPass } from '../../src/operators/second-pass.js'
import { marbles } from '../support/marbles.js'

/** Capital letters are withheld, and come out as the small letter in the second pass. */
const capital = (letter: string): string | undefined => (letter === letter.toUpperCase() ? letter : undefined)

describe('secondPass', () => {
  it(
    'passes what is not withheld at once, and works on the rest when the first pass has ended',
    marbles((m) => {
      const first = m.cold('   -aB-cD-|')
      const again = m.cold('          --x-(y|)')
      const asked = vi.fn(() => again)

      m.expect(first.pipe(secondPass(capital, asked))).toBeObservable('-a--c----x-(y|)')
      m.expect(again).toHaveSubscriptions('-------^---!')
      m.flush()
      expect(asked.mock.calls).toStrictEqual([[['B', 'D']]])
    }),
  )

  it(
    'has no second pass where nothing is withheld, of nothing, or while the first one goes on',
    marbles((m) => {
      const asked = vi.fn(() => of('x'))

      m.expect(m.cold('-a-b-|').pipe(secondPass(capital, asked))).toBeObservable('-a-b-|')
      m.expect(EMPTY.pipe(secondPass(capital, asked))).toBeObservable('|')
      m.expect(NEVER.pipe(secondPass(capital, asked))).toBeObservable('-')
      m.expect(concat(of('B'), NEVER).pipe(secondPass(capital, asked))).toBeObservable('-')
      m.flush()
      expect(asked).not.toHaveBeenCalled()
    }),
  )

  it(
    'errors with either pass; a first one that fails has no second',
    marbles((m) => {
      const bug = new TypeError('a bug')
      const asked = vi.fn(() => of('x'))
      m.expect(m.cold('-B-#', undefined, bug).pipe(secondPass(capital, asked))).toBeObservable('---#', undefined, bug)
      m.expect(m.cold('-B|').pipe(secondPass(capital, () => m.cold<string>('-#', undefined, bug)))).toBeObservable('---#', undefined, bug)
      m.flush()
      expect(asked).not.toHaveBeenCalled()
    }),
  )

  it(
    'lets go of whichever pass is under way when it is unsubscribed',
    marbles((m) => {
      const [first, again] = [m.cold('-B-|'), m.cold('----x|')]
      m.expect(first.pipe(secondPass(capital, () => again)), '--!').toBeObservable('-')
      m.expect(first).toHaveSubscriptions('                 ^-!')
      m.expect(again).toHaveSubscriptions([])
      const [other, later] = [m.cold('-B-|'), m.cold('----x|')]
      m.expect(other.pipe(secondPass(capital, () => later)), '-----!').toBeObservable('-')
      m.expect(later).toHaveSubscriptions('                         ---^-!')
    }),
  )

  it(
    'errors with what a callback throws',
    marbles((m) => {
      const bug = new TypeError('a bug')
      const thrower = (): string => {
        throw bug
      }
      m.expect(of('B').pipe(secondPass(thrower, (): Observable<string> => EMPTY))).toBeObservable('#', undefined, bug)
      m.expect(of('B').pipe(secondPass(capital, (): Observable<string> => of(thrower())))).toBeObservable('#', undefined, bug)
      m.expect(of('B').pipe(secondPass(capital, (): Observable<string> => throwError(() => bug)))).toBeObservable('#', undefined, bug)
    }),
  )

  it(
    'keeps the items of each subscription apart',
    marbles((m) => {
      const result = of('a', 'B').pipe(secondPass(capital, (items) => of(items.join('').toLowerCase())))
      m.expect(result).toBeObservable('(ab|)')
      m.expect(result).toBeObservable('(ab|)')
    }),
  )
})
