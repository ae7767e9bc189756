import { ignoreElements, merge, type Observable, tap, timer } from 'rxjs'
import { describe, it } from 'vitest'
import { TransportError } from '../../src/model/errors.js'
import { deadline, type Transfer } from '../../src/operators/deadline.js'
import { marbles } from '../support/marbles.js'

const late = new TransportError('deadline', 'no whole answer within 5 ms')

describe('deadline', () => {
  it(
    'passes on a value that arrives in time',
    marbles((m) => {
      const source = m.cold<string>('---(a|)')
      const expected = '             ---(a|)'

      m.expect(source.pipe(deadline({ idleMs: 5 }))).toBeObservable(expected)
      m.expect(source).toHaveSubscriptions('^--!')
    }),
  )

  it(
    'errors if no value arrived in time, and unsubscribes the source',
    marbles((m) => {
      const source = m.cold<string>('-------(a|)')
      const subs = '                 ^----!'
      const expected = '             -----#'

      m.expect(source.pipe(deadline({ idleMs: 5 }))).toBeObservable(expected, undefined, late)
      m.expect(source).toHaveSubscriptions(subs)
    }),
  )

  it(
    'stops when a value has arrived, even if it is emitted later',
    marbles((m) => {
      const source = m.cold<string>('-------(a|)')
      const transfer: Transfer = { bytesAt: 0 }
      const arrive$ = timer(3).pipe(
        tap(() => {
          transfer.isComplete = true
        }),
        ignoreElements(),
      )
      const expected = '             -------(a|)'

      m.expect(merge(source, arrive$).pipe(deadline({ idleMs: 5, transfer }))).toBeObservable(expected)
      m.expect(source).toHaveSubscriptions('^------!')
    }),
  )

  it(
    'limits the first value only',
    marbles((m) => {
      const source = m.cold<string>('--a---------b|')
      const expected = '             --a---------b|'

      m.expect(source.pipe(deadline({ idleMs: 5 }))).toBeObservable(expected)
      m.expect(source).toHaveSubscriptions('^------------!')
    }),
  )

  it(
    'unsubscribes the source when it is unsubscribed, and does not error later',
    marbles((m) => {
      const source = m.cold<string>('----(a|)')
      const unsub = '                --!'
      const subs = '                 ^-!'
      const expected = '             ---'

      m.expect(source.pipe(deadline({ idleMs: 5 })), unsub).toBeObservable(expected)
      m.expect(source).toHaveSubscriptions(subs.trim())
    }),
  )

  describe('of a reply with progress', () => {
    const bounded = (source: Observable<string>, noted: Observable<number>) => {
      const transfer: Transfer = { bytesAt: 0 }
      const noting = noted.pipe(
        tap((at) => {
          transfer.bytesAt = at
        }),
        ignoreElements(),
      )
      return merge(source, noting as Observable<never>).pipe(deadline({ idleMs: 5, totalMs: 20, transfer }))
    }
    const at = Object.fromEntries(Array.from({ length: 26 }, (_, frame) => [String.fromCharCode(97 + frame), frame])) as Record<
      string,
      number
    >
    const error = (message: string, hasBegun: boolean) => new TransportError('deadline', message, { hasBegun })

    it(
      'waits as long as bytes arrive',
      marbles((m) => {
        const source = m.cold<string>('            ------------------(x|)')
        const bytes = m.cold('---d---h---l---p|', at)
        m.expect(bounded(source, bytes)).toBeObservable('------------------(x|)')
      }),
    )

    it(
      'errors after idleMs without a byte',
      marbles((m) => {
        const bytes = m.cold('---d---h-', at)
        m.expect(bounded(m.cold('-'), bytes)).toBeObservable('------------#', undefined, error('no byte for 5 ms', true))
      }),
    )

    it(
      'errors after totalMs although bytes arrive',
      marbles((m) => {
        const bytes = m.cold('--c--f--i--l--o--r--u--x--', at)
        const late = error('no whole answer within 20 ms', true)
        m.expect(bounded(m.cold('-'), bytes)).toBeObservable('--------------------#', undefined, late)
      }),
    )

    it(
      'does not count the time while we do not read',
      marbles((m) => {
        const bytes = m.cold('--p---------l--', { p: Number.POSITIVE_INFINITY, l: 12 })
        m.expect(bounded(m.cold('-'), bytes)).toBeObservable('-----------------#', undefined, error('no byte for 5 ms', true))
      }),
    )
  })
})
