import { catchError, defer, map, type Observable, switchMap, throwError } from 'rxjs'
import type { Endpoint } from '../http/endpoint.js'
import { buildIdPage, type webData, type webPage } from '../market/shared-endpoints.js'
import { HttpError, NothingAnsweredError } from '../model/errors.js'
import { createResult, type ItemResult } from '../model/outcome.js'
import type { Row } from '../model/row.js'
import { addDays, type Day, formatCompactDmy, toDay } from '../model/trading-day.js'
import type { Tier } from '../operators/first-that-answers.js'
import type { Tools } from './define-stream.js'
import { withoutCopies } from './refuse.js'

const MAX_DAYS_BACK = 8

/**
 * Fetches the newest daily file of an archive: today's, or that of an earlier day, 8 days at most. Only a 404 means that a day has no file
 * (a weekend, a holiday, not published yet). Any other failure is an error: an outage must not lead to an older file. The result has the day
 * of the file.
 */
export const fetchNewestFile = <R = Row>(
  endpoint: Endpoint<{ date: string }, readonly Row[]>,
  { ask, asOf, warn }: Pick<Tools, 'ask' | 'asOf' | 'warn'>,
): Observable<ItemResult<R>> => {
  const today = toDay(asOf)
  const from = (day: Day): Observable<ItemResult<R>> =>
    day <= addDays(today, -MAX_DAYS_BACK)
      ? throwError(() => new NothingAnsweredError(`no daily file for the ${MAX_DAYS_BACK} days up to ${today}`))
      : defer(() => ask(endpoint, { date: formatCompactDmy(day) })).pipe(
          map((rows) => ({ ...createResult(withoutCopies(rows as readonly unknown[] as readonly R[], { warn })), newest: day })),
          catchError((error: unknown) =>
            error instanceof HttpError && error.statusCode === 404 ? from(addDays(day, -1)) : throwError(() => error),
          ),
        )
  return from(today)
}

/** The web site of the provider as second and third source of a list: its data file, then the page. Fetches the build id once per run. */
export const createWebTiers = (
  data: ReturnType<typeof webData>,
  page: ReturnType<typeof webPage>,
  key: string,
  { ask, shared }: Pick<Tools, 'ask' | 'shared'>,
): readonly Tier<readonly Row[]>[] => [
  {
    name: 'web data',
    ask: (): Observable<readonly Row[]> =>
      shared('build id', () => ask(buildIdPage, {}, { failFast: true })).pipe(
        switchMap((buildId) => ask(data, { buildId, key }, { failFast: true })),
      ),
  },
  { name: 'web page', ask: (isLast) => ask(page, { key }, { failFast: !isLast }) },
]
