import { catchError, type MonoTypeOperatorFunction, map, type Observable, of, switchMap, throwError } from 'rxjs'
import { RefusedError, thresholds } from '../market/never-worse.js'
import { DamagedFile } from '../model/errors.js'
import type { Found } from '../model/outcome.js'
import type { Tools } from './define-stream.js'
import type { Stored } from './storage.js'

type Records = readonly unknown[]

/** How to read and count the stored records of a list, if the file is not a JSON array or not every record counts. */
export interface Counting {
  readonly earlier?: (stored: Stored, file: string) => Observable<Records | undefined>
  /** Counts the records of either list; also gets the stored records. */
  readonly countOf?: (records: Records, earlier: Records) => number
}

/**
 * Refuses a list with less than 70 % of the records of the stored file, with a `RefusedError` (`shrink`), unless the run accepts that: half
 * a list looks like a complete one and must not replace it. A stored file that is unreadable does not count.
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
      notice(`${file} is damaged, so the new list was not compared with it`)
      return of(undefined)
    }
    const checked = (found: Found<R>, before: Records = []): Found<R> => {
      const [now, then] = [countOf([...found.rows], before), countOf(before, before)]
      if (now >= then * thresholds.leastShare) return found
      const records = `${inThousands(now)} records, the stored file has ${inThousands(then)}`
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

/** Reads a stored text file as lines. */
export const storedLines: NonNullable<Counting['earlier']> = (stored, file) =>
  stored.text(file).pipe(map((text) => text?.split('\n').slice(0, -1)))

const storedArray: NonNullable<Counting['earlier']> = (stored, file) =>
  stored.document(file).pipe(
    map((records) => {
      if (records === undefined || Array.isArray(records)) return records
      throw new DamagedFile(`${file} is not a JSON array`)
    }),
  )

const inThousands = (count: number): string => count.toLocaleString('en-US')
