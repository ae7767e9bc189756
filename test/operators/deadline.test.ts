import { describe, it } from 'vitest'
import { NothingAnswered, TransportError } from '../../src/model/errors.js'
import { deadline } from '../../src/operators/deadline.js'
import { marbles } from '../support/marbles.js'

const late = new TransportError('deadline', 'no whole answer within 5 ms')

describe('deadline', () => {
  it(
    'hands on a value that comes in time',
    marbles((m) => {
      const source = m.cold<string>('---(a|)')
      const expected = '             ---(a|)'

      m.expect(source.pipe(deadline(5))).toBeObservable(expected)
      m.expect(source).toHaveSubscriptions('^--!')
    }),
  )

  it(
    'errors when no value has come by then, and lets go of the source',
    marbles((m) => {
      const source = m.cold<string>('-------(a|)')
      const subs = '                 ^----!'
      const expected = '             -----#'

      m.expect(source.pipe(deadline(5))).toBeObservable(expected, undefined, late)
      m.expect(source).toHaveSubscriptions(subs)
    }),
  )

  it(
    'errors on a source that never answers',
    marbles((m) => {
      const source = m.cold<string>('-')
      const subs = '                 ^----!'
      const expected = '             -----#'

      m.expect(source.pipe(deadline(5))).toBeObservable(expected, undefined, late)
      m.expect(source).toHaveSubscriptions(subs)
    }),
  )

  it(
    'ends with the arrival of a value that is handed on later',
    marbles((m) => {
      const source = m.cold<string>('-------(a|)')
      const arrived = m.cold('       ---x')
      const expected = '             -------(a|)'

      m.expect(source.pipe(deadline(5, arrived))).toBeObservable(expected)
      m.expect(source).toHaveSubscriptions('^------!')
    }),
  )

  it(
    'bounds the first value only',
    marbles((m) => {
      const source = m.cold<string>('--a---------b|')
      const expected = '             --a---------b|'

      m.expect(source.pipe(deadline(5))).toBeObservable(expected)
      m.expect(source).toHaveSubscriptions('^------------!')
    }),
  )

  it(
    'ends with an empty source',
    marbles((m) => {
      const source = m.cold<string>('--|')
      const expected = '             --|'

      m.expect(source.pipe(deadline(5))).toBeObservable(expected)
      m.expect(source).toHaveSubscriptions('^-!')
    }),
  )

  it(
    'hands on an error as it is',
    marbles((m) => {
      const error = new NothingAnswered('no tier')
      const source = m.cold<string>('--#', undefined, error)
      const expected = '             --#'

      m.expect(source.pipe(deadline(5))).toBeObservable(expected, undefined, error)
      m.expect(source).toHaveSubscriptions('^-!')
    }),
  )

  it(
    'lets go of the source when it is unsubscribed, and says nothing later',
    marbles((m) => {
      const source = m.cold<string>('----(a|)')
      const unsub = '                --!'
      const subs = '                 ^-!'
      const expected = '             ---'

      m.expect(source.pipe(deadline(5)), unsub).toBeObservable(expected)
      m.expect(source).toHaveSubscriptions(subs.trim())
    }),
  )

  it(
    'counts anew for each subscription',
    marbles((m) => {
      const source = m.cold<string>('----(a|)')
      const bounded = source.pipe(deadline(5))

      m.expect(bounded, '   ^').toBeObservable('       ----(a|)')
      m.expect(bounded, '   ---^').toBeObservable('    -------(a|)')
      m.expect(source).toHaveSubscriptions(['^---!', '---^---!'])
    }),
  )
})
