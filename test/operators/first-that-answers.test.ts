import { EmptyError, type Observable, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import {
  BadAnswerError,
  HttpError,
  NothingAnsweredError,
  StorageError,
  TransportError,
} from '../../src/model/errors.js'
import { firstThatAnswers, type Tier } from '../../src/operators/first-that-answers.js'
import { itWithMarbles } from '../support/marbles.js'

const tier = (name: string, answer: Observable<string>): Tier<string> => ({ name, ask: () => answer })

const throwing = (name: string, error: Error): Tier<string> => ({
  name,
  ask: () => {
    throw error
  },
})

describe('firstThatAnswers', () => {
  itWithMarbles('emits the answer of the first tier and tries no other', (m) => {
    const sheet = m.cold<string>('--(a|)')
    const page = m.cold<string>(' --(b|)')
    const expected = '            --(a|)'

    m.expect(firstThatAnswers([tier('sheet', sheet), tier('page', page)])).toBeObservable(expected)
    m.expect(sheet).toHaveSubscriptions('^-!')
    m.expect(page).toHaveSubscriptions([])
  })

  itWithMarbles('tries the next tier only after the previous one has failed', (m) => {
    const sheet = m.cold<string>('--#', undefined, new HttpError(404))
    const data = m.cold<string>(' ---#', undefined, new BadAnswerError('html', 'a page'))
    const page = m.cold<string>(' -(c|)')
    const expected = '            ------(c|)'
    const tiers = [tier('sheet', sheet), tier('data', data), tier('page', page)]

    m.expect(firstThatAnswers(tiers)).toBeObservable(expected)
    m.expect(sheet).toHaveSubscriptions('^-!')
    m.expect(data).toHaveSubscriptions(' --^--!')
    m.expect(page).toHaveSubscriptions(' -----^!')
  })

  itWithMarbles('errors with every reason, in order, when no tier answers', (m) => {
    const sheet = m.cold<string>('--#', undefined, new HttpError(404))
    const page = m.cold<string>(' -#', undefined, new TransportError('reset', 'gone'))
    const expected = '            ---#'
    const reasons = new NothingAnsweredError('sheet: the provider answered 404; page: reset: gone')

    m.expect(firstThatAnswers([tier('sheet', sheet), tier('page', page)])).toBeObservable(
      expected,
      undefined,
      reasons,
    )
    m.expect(sheet).toHaveSubscriptions('^-!')
    m.expect(page).toHaveSubscriptions(' --^!')
  })

  itWithMarbles('errors at once without tiers', (m) => {
    m.expect(firstThatAnswers<string>([])).toBeObservable('#', undefined, new NothingAnsweredError(''))
  })

  for (const error of [new StorageError('the disk is full'), new TypeError('a bug')])
    itWithMarbles(`tries no further tier after an error that must end the run: ${error.message}`, (m) => {
      const sheet = m.cold<string>('--#', undefined, error)
      const page = m.cold<string>(' --(b|)')
      const expected = '            --#'

      m.expect(firstThatAnswers([tier('sheet', sheet), tier('page', page)])).toBeObservable(
        expected,
        undefined,
        error,
      )
      m.expect(page).toHaveSubscriptions([])
    })

  itWithMarbles('treats a failure that a tier throws like one that it emits', (m) => {
    const tiers = [throwing('sheet', new NothingAnsweredError('no id')), tier('page', of('b'))]

    m.expect(firstThatAnswers(tiers)).toBeObservable('(b|)')
  })

  itWithMarbles('ends with a bug that a tier throws', (m) => {
    const bug = new TypeError('a bug')
    const page = m.cold<string>('(b|)')

    m.expect(firstThatAnswers([throwing('sheet', bug), tier('page', page)])).toBeObservable(
      '#',
      undefined,
      bug,
    )
    m.expect(page).toHaveSubscriptions([])
  })

  itWithMarbles('reports each tier that failed once one has answered', (m) => {
    const failures: string[] = []
    const sheet = m.cold<string>('--#', undefined, new HttpError(404))
    const data = m.cold<string>(' ---#', undefined, new BadAnswerError('html', 'a page'))
    const page = m.cold<string>(' -(c|)')
    const tiers = [tier('sheet', sheet), tier('data', data), tier('page', page)]
    firstThatAnswers(tiers, (failure) => failures.push(`${m.scheduler.now()} ${failure}`)).subscribe()
    m.flush()

    expect(failures).toStrictEqual(['6 sheet: the provider answered 404', '6 data: html: a page'])
  })

  itWithMarbles('reports nothing if no tier answers: the error has every reason', (m) => {
    const failures: string[] = []
    const sheet = m.cold<string>('--#', undefined, new HttpError(404))
    m.expect(firstThatAnswers([tier('sheet', sheet)], (failure) => failures.push(failure))).toBeObservable(
      '--#',
      undefined,
      new NothingAnsweredError('sheet: the provider answered 404'),
    )
    m.flush()

    expect(failures).toStrictEqual([])
  })

  itWithMarbles('ends with the error of a listener that throws', (m) => {
    const bug = new TypeError('a bug')
    const sheet = m.cold<string>('--#', undefined, new HttpError(404))
    const page = m.cold<string>(' -(b|)')
    const expected = '            ---#'
    const throws = () => {
      throw bug
    }

    m.expect(firstThatAnswers([tier('sheet', sheet), tier('page', page)], throws)).toBeObservable(
      expected,
      undefined,
      bug,
    )
  })

  itWithMarbles('ends with an error if a tier completes without a value', (m) => {
    const sheet = m.cold<string>('--|')
    const page = m.cold<string>(' --(b|)')
    const expected = '            --#'

    m.expect(firstThatAnswers([tier('sheet', sheet), tier('page', page)])).toBeObservable(
      expected,
      undefined,
      new EmptyError(),
    )
    m.expect(page).toHaveSubscriptions([])
  })

  itWithMarbles('tries no further tier after a value', (m) => {
    const sheet = m.cold<string>('--a-#', undefined, new HttpError(404))
    const page = m.cold<string>(' --(b|)')

    m.expect(firstThatAnswers([tier('sheet', sheet), tier('page', page)])).toBeObservable('--(a|)')
    m.expect(sheet).toHaveSubscriptions('^-!')
    m.expect(page).toHaveSubscriptions([])
  })

  itWithMarbles('unsubscribes the active tier when it is unsubscribed, and tries no other', (m) => {
    const sheet = m.cold<string>('--#', undefined, new HttpError(404))
    const data = m.cold<string>(' -----#', undefined, new HttpError(404))
    const page = m.cold<string>(' (c|)')
    const unsub = '               ----!'
    const tiers = [tier('sheet', sheet), tier('data', data), tier('page', page)]

    m.expect(firstThatAnswers(tiers), unsub).toBeObservable('-')
    m.expect(sheet).toHaveSubscriptions('                    ^-!')
    m.expect(data).toHaveSubscriptions('                     --^-!')
    m.expect(page).toHaveSubscriptions([])
  })

  itWithMarbles('tries every tier again for each subscription', (m) => {
    const sheet = m.cold<string>('-#', undefined, new HttpError(404))
    const page = m.cold<string>(' -(b|)')
    const answer = firstThatAnswers([tier('sheet', sheet), tier('page', page)])

    m.expect(answer, '^').toBeObservable('--(b|)')
    m.expect(answer, '---^').toBeObservable('-----(b|)')
    m.expect(sheet).toHaveSubscriptions(['^!', '---^!'])
    m.expect(page).toHaveSubscriptions(['-^!', '----^!'])
  })

  it.each([
    ['the first', new TransportError('reset', 'gone'), new HttpError(404), true],
    ['the last', new HttpError(404), new TransportError('reset', 'gone'), true],
    ['none', new HttpError(404), new HttpError(410), false],
  ])('calls its failure temporary where that of any tier is: %s', (_, one, other, expected) => {
    let failure: unknown
    const tiers = [one, other].map((error) => throwing('tier', error))
    firstThatAnswers(tiers).subscribe({ error: (error: unknown) => (failure = error) })
    expect(failure).toMatchObject({ isTemporary: expected })
  })
})
