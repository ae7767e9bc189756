import { catchError, defer, type Observable, throwError } from 'rxjs'
import { HttpError, NothingAnswered } from '../model/errors.js'
import { addDays, compactDmy, type Day, dayAt } from '../model/trading-day.js'
import type { Endpoint } from '../provider/endpoint.js'
import type { Tools } from './define-stream.js'

const DAYS_BACK = 8

/**
 * Fetches the newest daily file of an archive: today's, or that of an earlier day, 8 days at most. Only a 404 means that a day has no file
 * (a weekend, a holiday, not published yet). Any other failure is an error: an outage must not lead to an older file.
 */
export const newestFile = <Answer>(
  endpoint: Endpoint<{ date: string }, Answer>,
  { ask, asOf }: Pick<Tools, 'ask' | 'asOf'>,
): Observable<Answer> => {
  const today = dayAt(asOf)
  const from = (day: Day): Observable<Answer> =>
    day <= addDays(today, -DAYS_BACK)
      ? throwError(() => new NothingAnswered(`no daily file for the ${DAYS_BACK} days up to ${today}`))
      : defer(() => ask(endpoint, { date: compactDmy(day) })).pipe(
          catchError((error: unknown) =>
            error instanceof HttpError && error.statusCode === 404 ? from(addDays(day, -1)) : throwError(() => error),
          ),
        )
  return from(today)
}
