import { concat, concatMap, EMPTY, expand, map, type Observable, of, throwError } from 'rxjs'
import { formatPart, formatQuantity } from '../model/format.js'
import { RefusedError, thresholds } from './refusal-policy.js'

/** One page of an answer: its rows, and the total that it states for the list (0 if it states none). */
export interface Page<R> {
  readonly rows: readonly R[]
  readonly total: number
}

export interface Paging<R> {
  readonly request: (page: number) => Observable<Page<R>>
  /** The requested number of rows per page. */
  readonly size: number
  readonly keyOf: (row: R) => string
  /** Called if the list lacks rows; without it the result is a `RefusedError`. */
  readonly accept?: ((shortfall: string) => void) | undefined
}

interface PageProgress<R> {
  readonly page: number
  readonly rows: readonly R[]
  /** Rows of page 1: a provider may send fewer than requested on each page. */
  readonly first: number
  /** Rows of all pages so far, without repeated pages. */
  readonly received: number
  /** The total that page 1 states; 0 if it states none. */
  readonly total: number
  readonly keys: ReadonlySet<string>
  readonly isRepeat: boolean
}

/**
 * Reads a list page by page to its end and emits the rows of each page. Requests as many pages as the total
 * of page 1 implies. If the total is missing or counts one page only, or if pages are shorter than requested,
 * it continues as long as full pages arrive.
 *
 * @throws RefusedError (`count`) after the last page if the list has fewer rows than its total; errors of
 * requests pass through
 */
export const readPages = <R>(paging: Paging<R>): Observable<readonly R[]> => {
  const { request, size, keyOf, accept } = paging
  const pageAfter = (before: PageProgress<R> | undefined) => {
    const page = (before?.page ?? 0) + 1
    return request(page).pipe(map((answer) => addPage(before, answer, keyOf)))
  }
  return pageAfter(undefined).pipe(
    expand((progress) => (isLastPage(progress, size) ? EMPTY : pageAfter(progress))),
    concatMap((progress) => {
      const lacking = isLastPage(progress, size) ? findShortfall(progress, size) : undefined
      if (lacking !== undefined) accept?.(lacking)
      const isRefused = lacking !== undefined && accept === undefined
      return concat(
        of(progress.rows),
        isRefused ? throwError(() => new RefusedError('count', lacking)) : EMPTY,
      )
    }),
  )
}

const addPage = <R>(
  before: PageProgress<R> | undefined,
  { rows, total }: Page<R>,
  keyOf: (row: R) => string,
): PageProgress<R> => {
  const own = rows.map(keyOf)
  if (before === undefined)
    return {
      page: 1,
      rows,
      first: rows.length,
      received: rows.length,
      total,
      keys: new Set(own),
      isRepeat: false,
    }
  // A short last page may consist of duplicate rows only.
  const isRepeat = rows.length > 0 && rows.length >= before.first && own.every((key) => before.keys.has(key))
  const received = before.received + (isRepeat ? 0 : rows.length)
  return {
    ...before,
    page: before.page + 1,
    rows,
    received,
    keys: new Set([...before.keys, ...own]),
    isRepeat,
  }
}

const countPages = (total: number, size: number): number => Math.ceil(total / size)

const isBeyondTotal = <R>({ page, total }: PageProgress<R>, size: number): boolean =>
  total > thresholds.maxListRows || page >= countPages(total, size) + thresholds.maxExtraPages

const isLastPage = <R>(progress: PageProgress<R>, size: number): boolean => {
  const { page, rows, first, received, total, isRepeat } = progress
  if (rows.length === 0 || isRepeat || isBeyondTotal(progress, size)) return true
  if (page < countPages(total, size) || received < total) return false
  // A total equal to a full first page may be the count per page, not the total of the list.
  const isDoubtful = received > total || (page === 1 && received >= size)
  return !isDoubtful || rows.length < first
}

/** What the list lacks after its last page; undefined if it seems complete. */
const findShortfall = <R>(progress: PageProgress<R>, size: number): string | undefined => {
  const { page, rows, first, received, total, isRepeat } = progress
  if (total > thresholds.maxListRows) return `a total of ${formatQuantity(total, 'row')} is impossible`
  const end =
    rows.length === 0
      ? `page ${page} is empty`
      : isRepeat
        ? `page ${page} repeats earlier ones`
        : `page ${page} was the last`
  if (received < total) return `${formatPart(received, total, 'row')} (${end})`
  if (isRepeat && first >= size && received > total)
    return `${formatQuantity(received, 'row')}, and perhaps more (${end})`
  return isBeyondTotal(progress, size) && rows.length >= first
    ? `more rows follow after ${formatQuantity(page, 'page')}`
    : undefined
}
