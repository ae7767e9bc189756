import { catchError, type MonoTypeOperatorFunction, map, type Observable, of, switchMap, throwError } from 'rxjs'
import { RefusedError, thresholds } from '../market/never-worse.js'
import { DamagedFile } from '../model/errors.js'
import type { Found } from '../model/outcome.js'
import type { Tools } from './define-stream.js'
import type { Stored } from './storage.js'

type Records = readonly unknown[]

/** How the records of a list are had from its earlier file and counted, where that is no JSON array or not every record counts. */
export interface Counting {
  readonly earlier?: (stored: Stored, file: string) => Observable<Records | undefined>
  /** Is given the earlier records, too, and counts both lists. */
  readonly countOf?: (records: Records, earlier: Records) => number
}

/**
 * Lets a list pass that holds at least 70 % of what its earlier file holds; any, where the run accepts that. Errors with a `RefusedError`
 * otherwise: half a list looks like a whole one, and must not replace it. An earlier file that cannot be read does not count.
 */
export const notShrunk =
  <R>(
    file: string,
    { stored, accepts, notice }: Pick<Tools, 'stored' | 'accepts' | 'notice'>,
    { earlier = storedArray, countOf = ({ length }) => length }: Counting = {},
  ): MonoTypeOperatorFunction<Found<R>> =>
  (found$) => {
    const unread = (error: unknown): Observable<undefined> => {
      if (!(error instanceof DamagedFile)) return throwError(() => error)
      notice(`${file} is damaged: whether the new one holds less than it did could not be told`)
      return of(undefined)
    }
    const checked = (found: Found<R>, before: Records = []): Found<R> => {
      const [now, then] = [countOf([...found.rows], before), countOf(before, before)]
      if (now >= then * thresholds.leastShare) return found
      const records = `${inThousands(now)} records, the earlier file holds ${inThousands(then)}`
      if (!accepts('shrink')) throw new RefusedError('shrink', records)
      notice(`accepted although shrunk: ${records}`)
      return found
    }
    return found$.pipe(
      switchMap((found) =>
        earlier(stored, file).pipe(
          catchError(unread),
          map((before) => checked(found, before)),
        ),
      ),
    )
  }

/** The lines of an earlier text. */
export const storedLines: NonNullable<Counting['earlier']> = (stored, file) =>
  stored.text(file).pipe(map((text) => text?.split('\n').slice(0, -1)))

const storedArray: NonNullable<Counting['earlier']> = (stored, file) =>
  stored.document(file).pipe(
    map((records) => {
      if (records === undefined || Array.isArray(records)) return records
      throw new DamagedFile(`${file} holds no list`)
    }),
  )

const inThousands = (count: number): string => count.toLocaleString('en-US')
