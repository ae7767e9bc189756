import { map, type Observable, of, throwError } from 'rxjs'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import type { Tools } from '../../src/engine/define-stream.js'
import { get } from '../../src/http/endpoint.js'
import { fetchNewestFile } from '../../src/market/list-sources.js'
import {
  BadAnswerError,
  HttpError,
  NothingAnsweredError,
  ThrottledError,
  TransportError,
} from '../../src/model/errors.js'
import { itWithMarbles } from '../support/marbles.js'

const table = get({
  name: 'table',
  host: 'archive',
  path: '/list_{date}.csv',
  input: z.strictObject({ date: z.string() }),
  read: (text) => [{ text }],
  sample: () => undefined,
})
const india = (time: string): number => Date.parse(`${time}:00+05:30`)
const notFound = (): Observable<never> => throwError(() => new HttpError(404))

/** Looks for the newest file; `answer` returns the answer for each date, as written in the request. */
const looking = (answer: (date: string) => Observable<string>, now = '2026-03-02T20:00') => {
  const requestedDates: string[] = []
  const ask = ((_: unknown, { date }: { readonly date: string }) => {
    requestedDates.push(date)
    return answer(date).pipe(map((text) => [{ text }]))
  }) as unknown as Tools['ask']
  return { requestedDates, file$: fetchNewestFile(table, { ask, asOf: india(now), warn: () => undefined }) }
}

/** The result has the day of the file. */
const resultOf = (text: string, newest: string) => ({ status: 'success' as const, rows: [{ text }], newest })

describe('newestFile', () => {
  itWithMarbles('fetches the file of today, and no other', (m) => {
    const today = m.cold('--(a|)')
    const { requestedDates, file$ } = looking(() => today)

    m.expect(file$).toBeObservable('     --(a|)', { a: resultOf('a', '2026-03-02') })
    m.expect(today).toHaveSubscriptions('^-!')
    m.flush()
    expect(requestedDates).toStrictEqual(['02032026'])
  })

  itWithMarbles('goes back day by day, over the end of a month, while a day has no file', (m) => {
    const { requestedDates, file$ } = looking((date) => (date === '27022026' ? of('friday') : notFound()))

    m.expect(file$).toBeObservable('(a|)', { a: resultOf('friday', '2026-02-27') })
    m.flush()
    expect(requestedDates).toStrictEqual(['02032026', '01032026', '28022026', '27022026'])
  })

  itWithMarbles('gives up after 8 days, today among them', (m) => {
    const { requestedDates, file$ } = looking(notFound)

    m.expect(file$).toBeObservable(
      '#',
      undefined,
      new NothingAnsweredError('no daily file for the 8 days up to 2026-03-02'),
    )
    m.flush()
    expect([requestedDates.length, requestedDates[0], requestedDates.at(-1)]).toStrictEqual([
      8,
      '02032026',
      '23022026',
    ])
  })

  const outages = [
    new HttpError(503),
    new HttpError(403),
    new TransportError('reset', 'gone'),
    new ThrottledError(undefined),
    new BadAnswerError('html', 'a page'),
  ]
  for (const error of [...outages, new TypeError('a bug')])
    itWithMarbles(`never takes an older day after: ${error.message}`, (m) => {
      const { requestedDates, file$ } = looking(() => throwError(() => error))

      m.expect(file$).toBeObservable('#', undefined, error)
      m.flush()
      expect(requestedDates).toStrictEqual(['02032026'])
    })

  itWithMarbles('uses the day in India', (m) => {
    const { requestedDates, file$ } = looking(() => of('a'), '2026-03-03T00:01')

    m.expect(file$).toBeObservable('(a|)', { a: resultOf('a', '2026-03-03') })
    m.flush()
    expect(requestedDates).toStrictEqual(['03032026'])
  })

  itWithMarbles('requests an earlier day only after a 404, and aborts on unsubscribe', (m) => {
    const refused = m.cold<string>('--#', undefined, new HttpError(404))
    const { requestedDates, file$ } = looking(() => refused)

    m.expect(file$, '                        ^----!').toBeObservable('-')
    m.expect(refused).toHaveSubscriptions([' ^-!', '--^-!', '----^!'])
    m.flush()
    expect(requestedDates).toStrictEqual(['02032026', '01032026', '28022026'])
  })
})
