import { EmptyError, Observable, of, SequenceError } from 'rxjs'
import { describe, it } from 'vitest'
import { barrier } from '../../src/operators/barrier.js'
import { marbles } from '../support/marbles.js'

describe('barrier', () => {
  it(
    'emits an empty list at once without branches',
    marbles((m) => {
      m.expect(barrier([])).toBeObservable('(e|)', { e: [] })
    }),
  )

  it(
    'emits every value in the order of the branches once the slowest has ended',
    marbles((m) => {
      const slow = m.cold<string>('  -----a--|')
      const quick = m.cold<string>(' (b|)')
      const middle = m.cold<string>('--c|')
      const expected = '             --------(x|)'

      m.expect(barrier([slow, quick, middle])).toBeObservable(expected, { x: ['a', 'b', 'c'] })
      m.expect(slow).toHaveSubscriptions('  ^-------!')
      m.expect(quick).toHaveSubscriptions(' (^!)')
      m.expect(middle).toHaveSubscriptions('^--!')
    }),
  )

  it(
    'errors if a branch fails, and unsubscribes the others',
    marbles((m) => {
      const bug = new TypeError('a bug')
      const failing = m.cold<string>('--#', undefined, bug)
      const slow = m.cold<string>('   -----a|')
      const subs = '                  ^-!'
      const expected = '              --#'

      m.expect(barrier([slow, failing])).toBeObservable(expected, undefined, bug)
      m.expect(slow).toHaveSubscriptions(subs)
      m.expect(failing).toHaveSubscriptions(subs)
    }),
  )

  it(
    'errors if a branch completes without a value, instead of completing silently',
    marbles((m) => {
      const empty = m.cold<string>('--|')
      const slow = m.cold<string>(' -----a|')
      const subs = '                ^-!'
      const expected = '            --#'

      m.expect(barrier([slow, empty])).toBeObservable(expected, undefined, new EmptyError())
      m.expect(slow).toHaveSubscriptions(subs)
      m.expect(empty).toHaveSubscriptions(subs)
    }),
  )

  it(
    'errors if a branch emits two values',
    marbles((m) => {
      const twice = m.cold<string>('-a-b-|')
      const expected = '            ---#'

      m.expect(barrier([twice])).toBeObservable(expected, undefined, new SequenceError('Too many matching values'))
      m.expect(twice).toHaveSubscriptions('^--!')
    }),
  )

  it(
    'unsubscribes every branch when it is unsubscribed',
    marbles((m) => {
      const one = m.cold<string>('  ----a|')
      const other = m.cold<string>('-----b|')
      const unsub = '               --!'
      const subs = '                ^-!'

      m.expect(barrier([one, other]), unsub).toBeObservable('-')
      m.expect(one).toHaveSubscriptions(subs)
      m.expect(other).toHaveSubscriptions(subs)
    }),
  )

  it(
    'errors if a branch throws on subscription',
    marbles((m) => {
      const bug = new TypeError('a bug')
      const throwing = new Observable<string>(() => {
        throw bug
      })

      m.expect(barrier([of('a'), throwing])).toBeObservable('#', undefined, bug)
    }),
  )
})
