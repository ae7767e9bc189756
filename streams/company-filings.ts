import { map, type Observable, of, switchMap, throwError, zip } from 'rxjs'
import { z } from 'zod'
import { defineStream, perStock, type Tools } from '../src/engine/define-stream.js'
import { json } from '../src/http/answer.js'
import { post } from '../src/http/endpoint.js'
import { assertSameIsin } from '../src/market/listings.js'
import { type CollectError, NothingAnsweredError } from '../src/model/errors.js'
import type { SampleMarket } from '../src/model/market.js'
import { createResult, skippedResult } from '../src/model/outcome.js'
import { isRow, MaybeRows, type Row } from '../src/model/row.js'
import { column, dataEnvelope, ITEM_SYMBOL, type RowOf, row } from '../src/model/row-schema.js'
import { formatSecond } from '../src/model/trading-day.js'
import { catchItemFailure } from '../src/operators/catch-item-failure.js'
import { keepUnique, sortDescending } from '../src/operators/row-lists.js'

const numberOrText = z.union([z.number(), z.string()]).optional()
const optionalText = z.string().optional()
const optionalNumber = z.number().optional()

/**
 * A filing, with the fields observed in answers of either path; only one path has `news_id`. `news_date` has a time of day, in India
 * (`2026-02-11 19:28:12`); `file_url` is empty if there is no document.
 */
export const Filing = row({
  isin: column(z.string().optional(), { about: 'ISIN of the stock', sql: 'isin' }),
  news_date: column(z.string(), {
    about: 'when it was filed, India time',
    sql: ['filed_at', 'TIMESTAMP'],
    format: 'day',
    required: true,
    usual: true,
  }),
  caption: column(z.string(), { about: 'title', sql: 'caption', key: true, usual: true }),
  descriptor: column(z.string(), { about: 'kind of filing', sql: 'descriptor', key: true }),
  cat: column(z.string().optional(), { about: 'finer kind; NULL if the exchange gave none', sql: 'category' }),
  news_body: column(z.string(), { about: 'short text', sql: 'body' }),
  file_url: column(z.string(), { about: 'address of the document', sql: 'url' }),
  news_id: column(z.string().optional(), { about: 'id of the filing; NULL if it has none', sql: 'news_id' }),
  ...{
    ann_type: optionalText,
    disp: optionalText,
    exch: optionalText,
    inst: optionalText,
    seg: optionalText,
    seo: optionalText,
    sym: optionalText,
  },
  ...{ ch: optionalNumber, ls: optionalNumber, ltp: optionalNumber, mtp: optionalNumber, pch: optionalNumber, ts: optionalNumber },
  ...{ bse_code: numberOrText, co_code: numberOrText, sid: numberOrText },
})
export interface Filing extends RowOf<typeof Filing> {}

/** Filings of `lodr` are merged by their `news_id`: rows without it would replace stored ones under other keys. */
const rowsOn = {
  company_filings: Filing,
  lodr: Filing.extend({ news_id: column(z.string(), { required: true, key: true, usual: true }) }),
}

const SYMBOL = { ...ITEM_SYMBOL, comment: 'trading symbol of the requested stock' }

const createFilingsEndpoint = (path: 'company_filings' | 'lodr') =>
  post({
    name: path,
    host: 'static',
    path: `/staticscanx/${path}`,
    input: z.strictObject({
      data: z.strictObject({ isin: z.string().length(12), pg_no: z.literal(1), count: z.literal(100) }),
    }),
    read: (text, { data: { isin } }, seen): readonly Filing[] =>
      assertSameIsin(isin, json(MaybeRows)(text, undefined, seen).data ?? []) as readonly Filing[],
    shape: dataEnvelope(column(z.array(rowsOn[path]), { usual: true, required: true }), { total_pages: z.number().optional() }),
    sample: ({ data: { isin } }, market) => ({ code: 0, data: sampleFilings(isin, path, market) }),
  })

const legacy = createFilingsEndpoint('company_filings')
const lodr = createFilingsEndpoint('lodr')

/** The filings of one path, or its failure; after a failure, the filings of the other path are merged with the stored ones. */
interface PathResult {
  readonly rows: readonly Filing[]
  readonly failure?: { readonly reason: string; readonly error: CollectError }
}

const createFetch = (endpoint: typeof legacy) => {
  const toResult = map((rows: readonly Filing[]): PathResult => ({ rows }))
  const catchFailure = catchItemFailure<PathResult, PathResult>((reason, error) =>
    of({ rows: [], failure: { reason: `${endpoint.name}: ${reason}`, error } }),
  )
  return (isin: string, { ask }: Tools): Observable<PathResult> =>
    ask(endpoint, { data: { isin, pg_no: 1, count: 100 } }).pipe(toResult, catchFailure)
}

const [fetchLegacy, fetchLodr] = [createFetch(legacy), createFetch(lodr)]

/** Filings of an earlier run: those of a path that fails now must not get lost when the filings of the other one are written. */
const readStoredFilings = (file: string, { stored }: Tools): Observable<readonly Filing[]> =>
  stored.document(file).pipe(map((document) => (isRow(document) && Array.isArray(document.data) ? document.data.filter(isRow) : [])))

/** A field as text, whatever its type: `String` throws for an object whose `toString` is not a function. */
const toFieldText = (value: unknown): string => (typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? ''))

const toFilingKey = (row: Filing): string =>
  toFieldText(row.news_id || '') || `${toFieldText(row.news_date)}_${toFieldText(row.caption || row.descriptor || 'Unknown')}`

/** Filings of each stock from both paths of the provider, merged by the six rules of the interface document, newest first. */
export const companyFilings = defineStream({
  name: 'company-filings',
  summary: 'filings of each stock',
  phase: 'enrichment',
  position: 4,
  workers: 20,
  timeoutMs: 10_000,
  endpoints: [legacy, lodr],
  work: perStock((stock, tools, file) => {
    // Not `forkJoin`: its array of answers is in the old generation when they arrive, and retains them until the next major GC.
    const both$ = zip(fetchLegacy(stock.ISIN, tools), fetchLodr(stock.ISIN, tools)).pipe(
      switchMap((paths) => {
        const fresh = paths.flatMap(({ rows }) => rows)
        const failures = paths.flatMap((path) => path.failure ?? [])
        const [failure, another] = failures
        if (another) {
          const reasons = [...new Set(failures.map(({ reason }) => reason))].join('; ')
          const errors = failures.map(({ error }) => error)
          return throwError(() => new NothingAnsweredError(reasons, errors))
        }
        const earlier$ = failure && fresh.length > 0 ? readStoredFilings(file, tools) : of([])
        return earlier$.pipe(
          map((earlier) => keepUnique([...fresh, ...earlier], toFilingKey, (later, kept) => Boolean(later.file_url) && !kept.file_url)),
          sortDescending((row) => toFieldText(row.news_date || '1900-01-01')),
          map((rows) => {
            if (failure === undefined) return createResult(rows)
            const { code, causes, isTemporary } = failure.error
            return { ...createResult(rows, failure.reason), code, causes, isTemporary }
          }),
        )
      }),
    )
    if (tools.settings.forceUpdate) return both$
    return tools.stored.exists(file).pipe(switchMap((exists) => (exists ? of(skippedResult) : both$)))
  }),
  outputs: [
    {
      shape: 'document-per-item',
      file: 'company_filings/{SYMBOL}_filings.json',
      document: (rows) => ({ code: 0, data: rows }),
      tables: [
        {
          name: 'filings',
          about: 'filings with the exchange, newest first within a stock',
          lists: ['data'],
          identity: ['news_id', 'news_date', 'caption', 'descriptor'],
          columns: [SYMBOL, Filing],
          position: 4,
        },
      ],
    },
  ],
})

const FILING_KINDS = [
  'Annual Report',
  'Financial Results',
  'Board Meeting',
  'Insider Trading',
  'Corporate Governance',
  'Newspaper Publication',
] as const

const NEWS_BODY =
  'Intimation under the listing obligations and disclosure requirements, enclosed for your information and records. '.repeat(5)

/** The same filings on both paths, except those that only one path has; one stock in five has none. */
const sampleFilings = (isin: string, path: 'company_filings' | 'lodr', market: SampleMarket): readonly Row[] | null => {
  const random = market.random('filings', isin)
  const stock = market.stockByIsin(isin)
  const planned = (stock?.events ?? []).flatMap((event) => ('newsId' in event ? [samplePlannedFiling(isin, event)] : []))
  if (stock === undefined || random.chance(0.2)) return planned.length > 0 ? planned : null
  // Ids and addresses of documents stay when the company gets another ISIN.
  const first = stock.events?.find(({ kind }) => kind === 'isin-change')?.isin ?? isin
  const usual = Array.from({ length: random.int(1, 99) }, (_, place) => {
    const on = random.pick(['company_filings', 'lodr', 'both'])
    const hasId = random.chance(0.9) && on !== 'company_filings'
    const age = (place * random.int(1, 4) * 24 + random.int(0, 9)) * 3_600_000 + random.int(0, 3_599) * 1_000
    const caption = random.chance(0.9) ? `Announcement under Regulation 30 (LODR) - ${random.pick(FILING_KINDS)}` : undefined
    const hasLink = random.chance(0.85) && !(on === 'both' && path === 'company_filings')
    const descriptor = random.pick(FILING_KINDS)
    if (on !== 'both' && on !== path) return []
    const { at, issue } = market.published(age)
    const news_id = hasId ? `${first.toLowerCase()}-${place}${issue}` : undefined
    const file_url = hasLink ? `https://filings.example/${first}/${place}.pdf` : ''
    // JSON leaves out what is undefined; spreading objects took most of the time.
    return [{ news_id, isin, descriptor, caption, news_body: NEWS_BODY, file_url, news_date: formatSecond(at) }]
  })
  return [...usual.flat(), ...planned]
}

const samplePlannedFiling = (isin: string, { newsId, filedAt }: { readonly newsId: string; readonly filedAt: string }): Row => ({
  ...{ news_id: newsId, isin, descriptor: 'Financial Results', caption: 'Financial Results', news_body: '' },
  ...{ file_url: `https://filings.example/${newsId}.pdf`, news_date: filedAt },
})
