import { concat, concatMap, EMPTY, expand, map, type Observable, of, throwError } from 'rxjs'
import { RefusedError, thresholds } from './never-worse.js'

/** One page as answered: its rows, and how many rows the answer says that the list has, 0 if it does not say. */
export interface Page<R> {
  readonly rows: readonly R[]
  readonly total: number
}

/** How a list is read page by page. */
export interface Paging<R> {
  /** Asks for one page, from 1 on. */
  readonly request: (page: number) => Observable<Page<R>>
  /** Rows of a full page, as asked for. */
  readonly size: number
  /** What makes two rows the same one. */
  readonly keyOf: (row: R) => string
  /** Told that the list lacks rows; without it the pages end with a `RefusedError`. */
  readonly accept?: ((what: string) => void) | undefined
}

/** What is known of the list once a page was read. */
interface Progress<R> {
  readonly page: number
  readonly rows: readonly R[]
  /** Rows of page 1: a provider may send fewer than asked for on each page. */
  readonly first: number
  /** Rows of all pages so far, without those of a page that repeats others. */
  readonly had: number
  /** What page 1 says that the list has; 0 if it does not say. */
  readonly total: number
  readonly keys: ReadonlySet<string>
  readonly isRepeat: boolean
}

/**
 * Reads a list to its end, page by page, and emits the rows of each page. It asks for the pages that the total of page 1 promises. Where
 * the total is missing, is that of one page only, or where pages are shorter than asked for, it goes on while full pages come.
 *
 * Errors with `RefusedError` (`count`) after the last page if the list holds fewer rows than it says, and with what a request errors with.
 */
export const readPages = <R>(paging: Paging<R>): Observable<readonly R[]> => {
  const { request, size, keyOf, accept } = paging
  const pageAfter = (before: Progress<R> | undefined): Observable<Progress<R>> => {
    const page = (before?.page ?? 0) + 1
    return request(page).pipe(map((answer) => progressOf(before, answer, keyOf)))
  }
  return pageAfter(undefined).pipe(
    expand((progress) => (isLast(progress, size) ? EMPTY : pageAfter(progress))),
    concatMap((progress) => {
      const lacking = isLast(progress, size) ? lackOf(progress, size) : undefined
      if (lacking !== undefined) accept?.(lacking)
      const isRefused = lacking !== undefined && accept === undefined
      return concat(of(progress.rows), isRefused ? throwError(() => new RefusedError('count', lacking)) : EMPTY)
    }),
  )
}

const progressOf = <R>(before: Progress<R> | undefined, { rows, total }: Page<R>, keyOf: (row: R) => string): Progress<R> => {
  const own = rows.map(keyOf)
  if (before === undefined) return { page: 1, rows, first: rows.length, had: rows.length, total, keys: new Set(own), isRepeat: false }
  // A short last page may well hold nothing but rows that are there twice.
  const isRepeat = rows.length > 0 && rows.length >= before.first && own.every((key) => before.keys.has(key))
  const had = before.had + (isRepeat ? 0 : rows.length)
  return { ...before, page: before.page + 1, rows, had, keys: new Set([...before.keys, ...own]), isRepeat }
}

const promisedPages = (total: number, size: number): number => Math.ceil(total / size)

const isTooMany = <R>({ page, total }: Progress<R>, size: number): boolean =>
  total > thresholds.longestList || page >= promisedPages(total, size) + thresholds.pagesBeyond

const isLast = <R>(progress: Progress<R>, size: number): boolean => {
  const { page, rows, first, had, total, isRepeat } = progress
  if (rows.length === 0 || isRepeat || isTooMany(progress, size)) return true
  if (page < promisedPages(total, size) || had < total) return false
  // A total that is just that of a full first page may be the count of each page instead of the list's.
  const isDoubtful = had > total || (page === 1 && had >= size)
  return !isDoubtful || rows.length < first
}

/** What the list lacks after its last page; nothing if it is whole as far as anybody can tell. */
const lackOf = <R>(progress: Progress<R>, size: number): string | undefined => {
  const { page, rows, first, had, total, isRepeat } = progress
  if (total > thresholds.longestList) return `a total of ${total} rows cannot be`
  const end = rows.length === 0 ? `page ${page} is empty` : isRepeat ? `page ${page} repeats earlier ones` : `page ${page} was the last`
  if (had < total) return `${had} of ${total} rows (${end})`
  if (isRepeat && first >= size && had > total) return `${had} rows, and perhaps more (${end})`
  return isTooMany(progress, size) && rows.length >= first ? `more rows follow those of ${page} pages` : undefined
}
