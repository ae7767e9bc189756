import { catchError, type MonoTypeOperatorFunction, map, type Observable, of, switchMap, throwError } from 'rxjs'
import { RefusedError, thresholds } from '../market/never-worse.js'
import { DamagedFileError } from '../model/errors.js'
import type { ItemResult } from '../model/outcome.js'
import type { Tools } from './define-stream.js'
import type { Stored } from './storage.js'

type Records = readonly unknown[]

/** How to read and count the stored records of a list, if the file is not a JSON array or not every record counts. */
export interface ShrinkOptions {
  readonly readStored?: (stored: Stored, file: string) => Observable<Records | undefined>
  /** Counts the records of either list; also gets the stored records. */
  readonly countRecords?: (records: Records, readStored: Records) => number
}

/**
 * Refuses a list with less than 70 % of the records of the stored file, with a `RefusedError` (`shrink`), unless the run accepts that: half
 * a list looks like a complete one and must not replace it. A stored file that is unreadable does not count.
 */
export const rejectShrunk =
  <R>(
    file: string,
    { stored, accepts, warn }: Pick<Tools, 'stored' | 'accepts' | 'warn'>,
    { readStored: earlier = readStoredArray, countRecords = ({ length }) => length }: ShrinkOptions = {},
  ): MonoTypeOperatorFunction<ItemResult<R>> =>
  (found$) => {
    const unread = (error: unknown): Observable<undefined> => {
      if (!(error instanceof DamagedFileError)) return throwError(() => error)
      warn(`${file} is damaged, so the new list was not compared with it`)
      return of(undefined)
    }
    const checked = (found: ItemResult<R>, before: Records = []): ItemResult<R> => {
      const [now, then] = [countRecords([...found.rows], before), countRecords(before, before)]
      if (now >= then * thresholds.minShare) return found
      const records = `${formatThousands(now)} records, the stored file has ${formatThousands(then)}`
      if (!accepts('shrink')) throw new RefusedError('shrink', records)
      warn(`accepted although shrunk: ${records}`)
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
export const readStoredLines: NonNullable<ShrinkOptions['readStored']> = (stored, file) =>
  stored.text(file).pipe(map((text) => text?.split('\n').slice(0, -1)))

const readStoredArray: NonNullable<ShrinkOptions['readStored']> = (stored, file) =>
  stored.document(file).pipe(
    map((records) => {
      if (records === undefined || Array.isArray(records)) return records
      throw new DamagedFileError(`${file} is not a JSON array`)
    }),
  )

const formatThousands = (count: number): string => count.toLocaleString('en-US')
