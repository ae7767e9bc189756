import { describe, expect, it } from 'vitest'
import { HttpError } from '../../src/model/errors.js'
import { askedOnce } from '../../src/pipeline/asked-once.js'
import { marbles } from '../support/marbles.js'

describe('askedOnce', () => {
  it(
    'asks when the first wants it, and gives everybody that answer, now or later',
    marbles((m) => {
      const answer = m.cold<string>('--(a|)')
      const shared = askedOnce()
      const asking = () => shared('build id', () => answer)

      m.expect(asking(), '      ^').toBeObservable('     --(a|)')
      m.expect(asking(), '      -^').toBeObservable('    --(a|)')
      m.expect(asking(), '      -----^').toBeObservable('-----(a|)')
      m.expect(answer).toHaveSubscriptions('^-!')
    }),
  )

  it(
    'gives everybody the same error, without asking again',
    marbles((m) => {
      const error = new HttpError(404)
      const answer = m.cold<string>('--#', undefined, error)
      const shared = askedOnce()
      const asking = () => shared('build id', () => answer)

      m.expect(asking(), '      ^').toBeObservable('     --#', undefined, error)
      m.expect(asking(), '      -----^').toBeObservable('-----#', undefined, error)
      m.expect(answer).toHaveSubscriptions('^-!')
    }),
  )

  it(
    'asks for each key',
    marbles((m) => {
      const [one, other] = [m.cold<string>('-(a|)'), m.cold<string>('--(b|)')]
      const shared = askedOnce()

      m.expect(shared('one', () => one)).toBeObservable('    -(a|)')
      m.expect(shared('other', () => other)).toBeObservable('--(b|)')
      m.expect(one).toHaveSubscriptions('                    ^!')
      m.expect(other).toHaveSubscriptions('                  ^-!')
    }),
  )

  it(
    'does not know what another run has asked',
    marbles((m) => {
      const answer = m.cold<string>('-(a|)')

      m.expect(askedOnce()('build id', () => answer)).toBeObservable('-(a|)')
      m.expect(askedOnce()('build id', () => answer)).toBeObservable('-(a|)')
      m.expect(answer).toHaveSubscriptions(['^!', '^!'])
    }),
  )

  it(
    'goes on while anybody waits, and is aborted when the last one leaves',
    marbles((m) => {
      const answer = m.cold<string>('-----(a|)')
      const shared = askedOnce()
      const asking = () => shared('build id', () => answer)

      m.expect(asking(), '      ^-!').toBeObservable('-')
      m.expect(asking(), '      -^-!').toBeObservable('-')
      m.expect(answer).toHaveSubscriptions('^--!')
    }),
  )

  it(
    'is asked anew after it was aborted',
    marbles((m) => {
      const answer = m.cold<string>('--(a|)')
      const shared = askedOnce()
      const asking = () => shared('build id', () => answer)

      m.expect(asking(), '      ^!').toBeObservable('-')
      m.expect(asking(), '      --^').toBeObservable('----(a|)')
      m.expect(answer).toHaveSubscriptions(['^!', '--^-!'])
    }),
  )

  it('asks nothing as long as nobody subscribes', () => {
    let asked = 0
    const shared = askedOnce()
    marbles((m) => {
      const answer = m.cold<string>('-(a|)')
      shared('build id', () => answer)
      m.flush()
      asked = answer.subscriptions.length
    })()
    expect(asked).toBe(0)
  })
})
