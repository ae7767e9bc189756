import { describe } from 'vitest'
import { oncePerRun } from '../../src/engine/once-per-run.js'
import { HttpError } from '../../src/model/errors.js'
import { itWithMarbles } from '../support/marbles.js'

describe('oncePerRun', () => {
  itWithMarbles(
    'sends the request for the first subscriber, and gives all later ones the same answer',
    (m) => {
      const answer = m.cold<string>('--(a|)')
      const shared = oncePerRun()
      const fetchShared = () => shared('build id', () => answer)

      m.expect(fetchShared(), '      ^').toBeObservable('     --(a|)')
      m.expect(fetchShared(), '      -^').toBeObservable('    --(a|)')
      m.expect(fetchShared(), '      -----^').toBeObservable('-----(a|)')
      m.expect(answer).toHaveSubscriptions('^-!')
    },
  )

  itWithMarbles('gives every subscriber the same error without another request', (m) => {
    const error = new HttpError(404)
    const answer = m.cold<string>('--#', undefined, error)
    const shared = oncePerRun()
    const fetchShared = () => shared('build id', () => answer)

    m.expect(fetchShared(), '      ^').toBeObservable('     --#', undefined, error)
    m.expect(fetchShared(), '      -----^').toBeObservable('-----#', undefined, error)
    m.expect(answer).toHaveSubscriptions('^-!')
  })

  itWithMarbles('sends one request per key', (m) => {
    const [one, other] = [m.cold<string>('-(a|)'), m.cold<string>('--(b|)')]
    const shared = oncePerRun()

    m.expect(shared('one', () => one)).toBeObservable('    -(a|)')
    m.expect(shared('other', () => other)).toBeObservable('--(b|)')
    m.expect(one).toHaveSubscriptions('                    ^!')
    m.expect(other).toHaveSubscriptions('                  ^-!')
  })

  itWithMarbles('continues while a subscriber waits, and aborts when the last one unsubscribes', (m) => {
    const answer = m.cold<string>('-----(a|)')
    const shared = oncePerRun()
    const fetchShared = () => shared('build id', () => answer)

    m.expect(fetchShared(), '      ^-!').toBeObservable('-')
    m.expect(fetchShared(), '      -^-!').toBeObservable('-')
    m.expect(answer).toHaveSubscriptions('^--!')
  })

  itWithMarbles('sends the request again after it was aborted', (m) => {
    const answer = m.cold<string>('--(a|)')
    const shared = oncePerRun()
    const fetchShared = () => shared('build id', () => answer)

    m.expect(fetchShared(), '      ^!').toBeObservable('-')
    m.expect(fetchShared(), '      --^').toBeObservable('----(a|)')
    m.expect(answer).toHaveSubscriptions(['^!', '--^-!'])
  })
})
