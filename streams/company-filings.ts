import { identity, map, type Observable, of, switchMap, throwError, zip } from 'rxjs'
import { z } from 'zod'
import { defineStream, perStock, type Tools } from '../src/engine/define-stream.js'
import { json } from '../src/http/answer.js'
import { post } from '../src/http/endpoint.js'
import { assertSameIsin, mergeShrunk, readOwnRecords } from '../src/market/list-rules.js'
import { decodeEntities, ENTITIES } from '../src/model/entities.js'
import { type CollectError, NothingAnsweredError } from '../src/model/errors.js'
import type { SampleMarket } from '../src/model/market.js'
import { createResult, skippedResult } from '../src/model/outcome.js'
import { type Row, readText } from '../src/model/row.js'
import {
  column,
  dataEnvelope,
  ITEM_SYMBOL,
  MaybeRows,
  type RowOf,
  row,
  startOf,
  textColumn,
} from '../src/model/row-schema.js'
import { formatSecond } from '../src/model/trading-day.js'
import { catchItemFailure } from '../src/operators/catch-item-failure.js'
import { keepUnique, sortListDescending } from '../src/operators/row-lists.js'

const numberOrText = z.union([z.number(), z.string()]).optional()
const optionalText = z.string().optional()
const optionalNumber = z.number().optional()

/**
 * A filing, with the fields observed in answers of either path; only one path has `news_id`. `news_date` has
 * a time of day, in India (`2026-02-11 19:28:12`); `file_url` is empty if there is no document.
 */
export const Filing = row({
  isin: column(z.string().optional(), { about: 'ISIN of the stock', sql: 'isin' }),
  news_date: textColumn('when it was filed, India time', ['filed_at', 'TIMESTAMP'], {
    format: 'day',
    required: true,
    usual: true,
    possible: { past: startOf },
  }),
  caption: textColumn('title', 'caption', { key: true, usual: true, convert: ENTITIES }),
  descriptor: textColumn('kind of filing', 'descriptor', { key: true, convert: ENTITIES }),
  cat: column(z.string().optional(), {
    about: 'finer kind; NULL if the exchange gave none',
    sql: 'category',
  }),
  news_body: textColumn('short text', 'body', { convert: ENTITIES }),
  file_url: textColumn('address of the document', 'url'),
  news_id: column(z.string().optional(), { about: 'id of the filing; NULL if it has none', sql: 'news_id' }),
  ann_type: optionalText,
  disp: optionalText,
  exch: optionalText,
  inst: optionalText,
  seg: optionalText,
  seo: optionalText,
  sym: optionalText,
  ch: optionalNumber,
  ls: optionalNumber,
  ltp: optionalNumber,
  mtp: optionalNumber,
  pch: optionalNumber,
  ts: optionalNumber,
  bse_code: numberOrText,
  co_code: numberOrText,
  sid: numberOrText,
})
export interface Filing extends RowOf<typeof Filing> {}

/**
 * Filings of `lodr` are merged by their `news_id`: rows without it would replace stored ones under other
 * keys.
 */
const rowsOn = {
  company_filings: Filing,
  lodr: Filing.extend({ news_id: column(z.string(), { required: true, key: true, usual: true }) }),
}

const SYMBOL = { ...ITEM_SYMBOL, comment: 'trading symbol of the requested stock' }

const MAX_FILINGS = 100

const createFilingsEndpoint = (path: 'company_filings' | 'lodr') =>
  post({
    name: path,
    host: 'static',
    path: `/staticscanx/${path}`,
    input: z.strictObject({
      data: z.strictObject({
        isin: z.string().length(12),
        pg_no: z.literal(1),
        count: z.literal(MAX_FILINGS),
      }),
    }),
    read: (text, { data: { isin } }, seen, earlier): readonly Filing[] =>
      assertSameIsin(isin, json(MaybeRows)(text, undefined, seen).data ?? [], earlier) as readonly Filing[],
    shape: dataEnvelope(column(z.array(rowsOn[path]), { usual: true, required: true }), {
      total_pages: z.number().optional(),
    }),
    sample: ({ data: { isin } }, market) => ({ code: 0, data: sampleFilings(isin, path, market) }),
  })

const legacy = createFilingsEndpoint('company_filings')
const lodr = createFilingsEndpoint('lodr')

/**
 * The filings of one path, or its failure; after a failure, the filings of the other path are merged with the
 * stored ones.
 */
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
    ask(endpoint, { data: { isin, pg_no: 1, count: MAX_FILINGS } }).pipe(toResult, catchFailure)
}

const [fetchLegacy, fetchLodr] = [createFetch(legacy), createFetch(lodr)]

/**
 * A path answers its newest 100 filings at most. If it does, older stored ones may be missing from the
 * answer.
 */
const expectFilings =
  (paths: readonly PathResult[]) =>
  (stored: readonly Filing[]): readonly Filing[] => {
    const full = paths.filter(({ rows }) => rows.length >= MAX_FILINGS)
    const oldest = full.map(({ rows }) =>
      rows.map(toFilingDate).reduce((one, other) => (one < other ? one : other)),
    )
    return stored.filter((row) => oldest.every((date) => toFilingDate(row) >= date))
  }

/** A field as text, whatever its type: `String` throws for an object whose `toString` is not a function. */
const toFieldText = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')

const toFilingKey = (row: Filing): string =>
  toFieldText(row.news_id || '') ||
  `${toFieldText(row.news_date)}_${toFieldText(row.caption || row.descriptor || 'Unknown')}`

const findTitle = ({ caption, descriptor }: Row): string =>
  decodeEntities(readText(caption) || readText(descriptor) || 'Unknown')

const filingOptions = {
  forceUpdate: z.boolean('must be true or false').default(true).meta({
    description: 'whether stored filings are fetched again',
    resume: 'same',
    variable: 'FORCE_UPDATE',
  }),
}

const toFilingDate = (row: Filing): string => toFieldText(row.news_date || '1900-01-01')

const mergeFilings = (rows: readonly Filing[], earlier: readonly Filing[]): readonly Filing[] =>
  sortListDescending(
    keepUnique(
      [...rows, ...earlier],
      toFilingKey,
      (later, kept) => Boolean(later.file_url) && !kept.file_url,
    ),
    toFilingDate,
  )

/**
 * Filings of each stock from both paths of the provider, merged by the six rules of the interface document,
 * newest first.
 */
export const companyFilings = defineStream({
  name: 'company-filings',
  summary: 'filings of each stock',
  phase: 'enrichment',
  position: 4,
  workers: 20,
  timeoutMs: 10_000,
  endpoints: [legacy, lodr],
  options: filingOptions,
  work: perStock((stock, tools, file) => {
    // Not `forkJoin`: its array of answers is in the old generation when they arrive, and retains them until
    // the next major GC.
    const own = { list: 'data', isin: stock.ISIN }
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
        // Those of a path that fails now must not get lost when the filings of the other one are written.
        const earlier$ = failure && fresh.length > 0 ? readOwnRecords<Filing>(file, tools, own) : of([])
        return earlier$.pipe(
          map((earlier) => {
            const rows = mergeFilings(fresh, earlier)
            if (failure === undefined) return createResult(rows)
            const { code, causes, isTemporary } = failure.error
            return { ...createResult(rows, failure.reason), code, causes, isTemporary }
          }),
          failure
            ? identity
            : mergeShrunk(file, tools, { ...own, merge: mergeFilings, expect: expectFilings(paths) }),
        )
      }),
    )
    if (tools.options(filingOptions).forceUpdate) return both$
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
          changes: {
            section: 'filings',
            // Not that of `mergeFilings`: another path may answer the next day, with entities in the title.
            key: (row) => readText(row.news_id) || `${readText(row.news_date)}_${findTitle(row)}`,
            document: (row) => ({ title: findTitle(row), url: row.file_url }),
          },
          position: 4,
        },
      ],
    },
  ],
})

type FilingPath = 'company_filings' | 'lodr'

/** How frequent each kind of filing is, whether only one path has it, and its subjects. */
const FILING_KINDS = `
17|one|General|Intimation to the exchange|Update on a pending matter|Reply to a query of the exchange
9|both|Analyst / Investor Meet|Schedule of a meeting with investors|Recording of the call with analysts
8|one|Newspaper Publication|Results as published in newspapers|Notice to shareholders as published
6|both|Investor Presentation|Presentation to investors on the quarter|Presentation on the business
5|both|Earnings Call Transcript|Transcript of the call on the quarter
5|one|Board Meeting|Meeting of the board to consider results|Meeting of the board to consider fund raising
5|one|Press Release / Media Release|Release on the quarter|Release on a new order|Release on a new product
5|one|Outcome of Board Meeting|Appointments approved by the board|Fund raising approved by the board
4|one|AGM|Voting results of the annual meeting|Notice of the annual meeting
4|one|Closure of Trading Window|Trading window closed until the results
3|one|Change in Management|Resignation of a senior manager|Appointment of a senior manager
2|one|Credit Rating|Rating of bank facilities reaffirmed|Rating of debentures assigned
2|one|Award of Order / Receipt of Order|Order received in the ordinary course of business
2|one|Acquisition|Acquisition of shares in a subsidiary|Agreement to buy a business
2|one|Allotment of ESOP / ESPS|Allotment of shares under the plan for employees
1|one|Reg. 34 (1) Annual Report|Annual report of the year
1|one|Record Date|Record date of the dividend
`
  .trim()
  .split('\n')
  .flatMap((line) => Array.from({ length: Number.parseInt(line, 10) }, () => line.split('|')))
const RESULTS_KIND = [
  '',
  'both',
  'Financial Results',
  'Financial results of the quarter',
  'Results of the quarter, with the review of the auditors',
]

const DETAILS = [
  'The document is enclosed.',
  'Kindly take it on record, and display it for the information of investors.',
  'The disclosure is made under the listing regulations; the details that they require are in the annexure.',
  'The meeting began in the afternoon and ended within two hours. The decisions are in the enclosed document, with the reasons.',
] as const

/**
 * What both paths have of a stock: those of all kinds on one, results and meetings with an id on the other.
 * One stock in ten has none.
 */
const sampleFilings = (isin: string, path: FilingPath, market: SampleMarket): readonly Row[] | null => {
  const character = market.random('filings', isin)
  const stock = market.stockByIsin(isin)
  const planned = (stock?.events ?? []).flatMap((event) =>
    'newsId' in event ? [samplePlannedFiling(isin, event)] : [],
  )
  if (stock === undefined || character.chance(0.1)) return planned.length > 0 ? planned : null
  // Ids and addresses of documents stay when the company gets another ISIN.
  const first = stock.events?.find(({ kind }) => kind === 'isin-change')?.isin ?? isin
  const wanted = { perYear: 8 + 44 * character.next() * character.next(), count: MAX_FILINGS, days: 650 }
  const results = market.results(stock, 6).map(({ period, publishedAt }) => ({
    id: period,
    at: publishedAt,
    random: market.random('result', stock.Sid, period),
    kind: RESULTS_KIND,
  }))
  const usual = market.documents(stock, 'filing', wanted).map((document) => ({
    ...document,
    kind: FILING_KINDS[document.random.int(0, FILING_KINDS.length - 1)] ?? RESULTS_KIND,
  }))
  const documents = [...usual, ...results].sort((one, other) => other.at - one.at).slice(0, MAX_FILINGS)
  return [
    ...documents.flatMap(({ id, at, random, kind }) => {
      const [, paths, descriptor, ...subjects] = kind
      const isOnBoth = paths === 'both'
      if (!isOnBoth && path === 'lodr') return []
      const subject = random.pick(subjects as [string, ...string[]])
      const caption = random.chance(0.6) ? `Announcement under Regulation 30 (LODR)-${descriptor}` : subject
      const hasLink = random.chance(0.98) && (!isOnBoth || path === 'lodr')
      // JSON leaves out what is undefined; spreading objects took most of the time.
      const news_id = isOnBoth ? `${first.toLowerCase()}-${id}` : undefined
      const news_body = `${subject} of ${stock.Name}, no. ${random.int(100, 9_999)}. ${random.pick(DETAILS)}`
      const file_url = hasLink ? `https://filings.example/${first}/${id}.pdf` : ''
      return [{ news_id, isin, descriptor, caption, news_body, file_url, news_date: formatSecond(at) }]
    }),
    ...planned,
  ]
}

const samplePlannedFiling = (
  isin: string,
  { newsId, filedAt }: { readonly newsId: string; readonly filedAt: string },
): Row => ({
  news_id: newsId,
  isin,
  descriptor: 'Financial Results',
  caption: 'Financial Results',
  news_body: '',
  file_url: `https://filings.example/${newsId}.pdf`,
  news_date: filedAt,
})
