import { type NEVER, of } from 'rxjs'
import { describe } from 'vitest'
import {
  DamagedFileError,
  HttpError,
  NothingAnsweredError,
  StorageError,
  ThrottledError,
  TransportError,
  UsageError,
} from '../../src/model/errors.js'
import { catchItemFailure } from '../../src/operators/catch-item-failure.js'
import { itWithMarbles } from '../support/marbles.js'

const losses = [
  new ThrottledError(undefined),
  new HttpError(404),
  new TransportError('reset', 'gone'),
  new NothingAnsweredError('no tier'),
  new DamagedFileError('cut in the middle'),
]
const fatal = [new StorageError('the disk is full'), new UsageError('not set'), new TypeError('a bug')]

describe('recover', () => {
  itWithMarbles('passes on the values of the source without a replacement', (m) => {
    const source = m.cold<string>(' -a-b-|')
    const instead = m.cold<string>('-i-|')
    const expected = '              -a-b-|'

    m.expect(source.pipe(catchItemFailure(() => instead))).toBeObservable(expected)
    m.expect(source).toHaveSubscriptions('^----!')
    m.expect(instead).toHaveSubscriptions([])
  })

  for (const error of losses)
    itWithMarbles(
      `replaces a failed item by another observable, which gets the failure: ${error.message}`,
      (m) => {
        const source = m.cold<string>('-a-#', undefined, error)
        const expected = '             -a-(i|)'
        const replace = (reason: string, { status }: { readonly status: string }) => of(`${status} ${reason}`)

        m.expect(source.pipe(catchItemFailure(replace))).toBeObservable(expected, {
          a: 'a',
          i: `${error.status} ${error.message}`,
        })
        m.expect(source).toHaveSubscriptions('^--!')
      },
    )

  for (const error of fatal)
    itWithMarbles(`passes on an error that affects more than one item: ${error.message}`, (m) => {
      const source = m.cold<string>('-a-#', undefined, error)
      const expected = '             -a-#'

      m.expect(source.pipe(catchItemFailure(() => of('i')))).toBeObservable(expected, { a: 'a' }, error)
      m.expect(source).toHaveSubscriptions('^--!')
    })

  itWithMarbles('passes on a failure of the replacement', (m) => {
    const again = new NothingAnsweredError('this neither')
    const source = m.cold<string>(' -#', undefined, new HttpError(404))
    const instead = m.cold<string>('--#', undefined, again)
    const subs = '                  -^-!'
    const expected = '              ---#'

    m.expect(source.pipe(catchItemFailure(() => instead))).toBeObservable(expected, undefined, again)
    m.expect(instead).toHaveSubscriptions(subs)
  })

  itWithMarbles('unsubscribes the source or the replacement when it is unsubscribed', (m) => {
    const source = m.cold<string>(' --#', undefined, new HttpError(404))
    const instead = m.cold<string>('--i|')
    const recovered = source.pipe(catchItemFailure(() => instead))

    m.expect(recovered, '           ^!').toBeObservable('  -')
    m.expect(recovered, '           ^--!').toBeObservable('-')
    m.expect(source).toHaveSubscriptions(['^!', '^-!'])
    m.expect(instead).toHaveSubscriptions('--^!')
  })

  itWithMarbles('ends with the error of a callback that throws', (m) => {
    const bug = new TypeError('a bug')
    const source = m.cold<string>('-#', undefined, new HttpError(404))
    const throws = (): typeof NEVER => {
      throw bug
    }

    m.expect(source.pipe(catchItemFailure(throws))).toBeObservable('-#', undefined, bug)
    m.expect(source).toHaveSubscriptions('                 ^!')
  })
})
