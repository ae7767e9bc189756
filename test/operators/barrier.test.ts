import { EmptyError, Observable, of, SequenceError } from 'rxjs'
import { describe } from 'vitest'
import { barrier } from '../../src/operators/barrier.js'
import { itWithMarbles } from '../support/marbles.js'

describe('barrier', () => {
  itWithMarbles('emits an empty list at once without branches', (m) => {
    m.expect(barrier([])).toBeObservable('(e|)', { e: [] })
  })

  itWithMarbles('emits every value in the order of the branches once the slowest has ended', (m) => {
    const slow = m.cold<string>('  -----a--|')
    const quick = m.cold<string>(' (b|)')
    const middle = m.cold<string>('--c|')
    const expected = '             --------(x|)'

    m.expect(barrier([slow, quick, middle])).toBeObservable(expected, { x: ['a', 'b', 'c'] })
    m.expect(slow).toHaveSubscriptions('  ^-------!')
    m.expect(quick).toHaveSubscriptions(' (^!)')
    m.expect(middle).toHaveSubscriptions('^--!')
  })

  itWithMarbles('emits a record of branches as a record, with the type of each value', (m) => {
    const branches = { prices: m.cold<number>('--(a|)', { a: 5 }), news: of('text') }
    const whole: Observable<{ prices: number; news: string }> = barrier({
      prices: branches.prices,
      news: branches.news,
    })

    m.expect(whole).toBeObservable('--(x|)', { x: { prices: 5, news: 'text' } })
  })

  itWithMarbles('errors if a branch fails, and unsubscribes the others', (m) => {
    const bug = new TypeError('a bug')
    const failing = m.cold<string>('--#', undefined, bug)
    const slow = m.cold<string>('   -----a|')
    const subs = '                  ^-!'
    const expected = '              --#'

    m.expect(barrier([slow, failing])).toBeObservable(expected, undefined, bug)
    m.expect(slow).toHaveSubscriptions(subs)
    m.expect(failing).toHaveSubscriptions(subs)
  })

  itWithMarbles('errors if a branch completes without a value, instead of completing silently', (m) => {
    const empty = m.cold<string>('--|')
    const slow = m.cold<string>(' -----a|')
    const subs = '                ^-!'
    const expected = '            --#'

    m.expect(barrier([slow, empty])).toBeObservable(expected, undefined, new EmptyError())
    m.expect(slow).toHaveSubscriptions(subs)
    m.expect(empty).toHaveSubscriptions(subs)
  })

  itWithMarbles('errors if a branch emits two values', (m) => {
    const twice = m.cold<string>('-a-b-|')
    const expected = '            ---#'

    m.expect(barrier([twice])).toBeObservable(
      expected,
      undefined,
      new SequenceError('Too many matching values'),
    )
    m.expect(twice).toHaveSubscriptions('^--!')
  })

  itWithMarbles('unsubscribes every branch when it is unsubscribed', (m) => {
    const one = m.cold<string>('  ----a|')
    const other = m.cold<string>('-----b|')
    const unsub = '               --!'
    const subs = '                ^-!'

    m.expect(barrier([one, other]), unsub).toBeObservable('-')
    m.expect(one).toHaveSubscriptions(subs)
    m.expect(other).toHaveSubscriptions(subs)
  })

  itWithMarbles('errors if a branch throws on subscription', (m) => {
    const bug = new TypeError('a bug')
    const throwing = new Observable<string>(() => {
      throw bug
    })

    m.expect(barrier([of('a'), throwing])).toBeObservable('#', undefined, bug)
  })
})
