import { catchError, defer, type Observable, throwError } from 'rxjs'
import { HttpError, NothingAnswered } from '../model/errors.js'
import { addDays, compactDmy, type Day, dayAt } from '../model/trading-day.js'
import type { Endpoint } from '../provider/endpoint.js'
import type { Tools } from './define-stream.js'

const DAYS_BACK = 8

/**
 * The newest of an archive's daily files: today's, else the day's before, 8 days in all. Only a 404 means that a day has no file (a
 * weekend, a holiday, before the evening); any other failure is one, so that an outage never passes for an older day.
 */
export const newestFile = <Answer>(
  endpoint: Endpoint<{ date: string }, Answer>,
  { ask, asOf }: Pick<Tools, 'ask' | 'asOf'>,
): Observable<Answer> => {
  const today = dayAt(asOf)
  const from = (day: Day): Observable<Answer> =>
    day <= addDays(today, -DAYS_BACK)
      ? throwError(() => new NothingAnswered(`no file of the last ${DAYS_BACK} days up to ${today}`))
      : defer(() => ask(endpoint, { date: compactDmy(day) })).pipe(
          catchError((error: unknown) =>
            error instanceof HttpError && error.statusCode === 404 ? from(addDays(day, -1)) : throwError(() => error),
          ),
        )
  return from(today)
}
