import {
  concat,
  concatMap,
  from,
  map,
  mergeMap,
  type Observable,
  of,
  range,
  reduce,
  switchMap,
  throwError,
  toArray,
} from 'rxjs'
import { z } from 'zod'
import { defineStream, once, type Tools } from '../src/engine/define-stream.js'
import { json } from '../src/http/answer.js'
import { post } from '../src/http/endpoint.js'
import { rejectShrunk, type ShrinkOptions } from '../src/market/list-rules.js'
import { readPages } from '../src/market/pages.js'
import { type CollectError, NothingAnsweredError } from '../src/model/errors.js'
import { formatCrore, formatNumber, formatPrice } from '../src/model/format.js'
import { createResult } from '../src/model/outcome.js'
import { isRow, omitUndefined, readText } from '../src/model/row.js'
import {
  column,
  dataEnvelope,
  Row,
  type RowOf,
  row,
  startOf,
  textColumn,
  textSuchAs,
} from '../src/model/row-schema.js'
import { addDays, type Day, formatDashedDmy, readDay, toDay } from '../src/model/trading-day.js'
import { catchItemFailure } from '../src/operators/catch-item-failure.js'
import { sortDescending, uniqueBy } from '../src/operators/row-lists.js'

/**
 * A bulk or block deal, with the fields observed in answers. `date` is a day in India (`2026-02-12
 * 00:00:00`), `bs` is B for bought and S for sold, `cname` the client, `avgprice` in rupees a share.
 */
export const Deal = row({
  date: textColumn('day of the deal', 'date', {
    format: 'day',
    required: true,
    possible: { past: startOf },
  }),
  sym: textColumn('trading symbol', 'symbol', { required: true, key: true }),
  isin: column(z.string().optional(), { about: 'ISIN of the stock; NULL if not answered', sql: 'isin' }),
  exch: textColumn('exchange of the deal', 'exchange', { key: true }),
  deal: column(textSuchAs('BULK', 'BLOCK'), { about: 'BULK or BLOCK', sql: 'kind', key: true }),
  bs: column(textSuchAs('B', 'S'), {
    about: 'B for a purchase, S for a sale',
    sql: 'side',
    required: true,
    possible: { like: /^[BS]$/ },
  }),
  cname: textColumn('who bought or sold', 'client', { required: true }),
  qty: column(z.int(), { about: 'shares', sql: 'quantity', required: true, possible: { from: 1 } }),
  avgprice: column(z.number(), {
    about: 'average price, rupees',
    sql: 'price',
    unit: '₹',
    required: true,
    possible: { from: 0.01 },
  }),
  val: column(z.number().optional(), { about: 'rupees; NULL if not answered', sql: 'value', unit: '₹' }),
  sid: column(z.number().optional(), { or: 'text' }),
  seg: z.string().optional(),
  csym: z.string().optional(),
  scname: z.string().optional(),
  inst: z.string().optional(),
  tksz: z.number().optional(),
  ltsz: z.number().optional(),
  mpl: z.number().optional(),
})
export interface Deal extends RowOf<typeof Deal> {}

const describeDeal = ({ cname, date, qty, avgprice, deal, bs }: Row): string => {
  const [quantity, price] = [Number(qty), Number(avgprice)]
  const crore = (quantity * price) / 1e7
  const more = [readText(deal).toLowerCase(), crore >= 0.005 ? formatCrore(crore) : '']
    .filter((part) => part !== '')
    .join(', ')
  const side = readText(bs) === 'S' ? 'sold' : 'bought'
  const terms = `${formatNumber(quantity)} at ${formatPrice(price)} on ${readText(date).slice(0, 10)}`
  return `${readText(cname)} ${side} ${terms}${more && ` (${more})`}`
}

const DEALS_PER_PAGE = 50
const CHUNKS = 3
const CHUNK_DAYS = 10

/** Made once: a schema takes longer to make than to use. */
const readPage = json(
  z.looseObject({ data: z.array(Row).nullable(), totalcount: z.union([z.number(), z.string()]).nullish() }),
)

const toIsoDay = (dmy: string): Day => dmy.split('-').reverse().join('-')
const dashedDay = z
  .string()
  .regex(/^\d{2}-\d{2}-\d{4}$/, 'must be DD-MM-YYYY')
  .refine((dmy) => readDay(toIsoDay(dmy)) !== undefined, 'is not a valid date')

const deal = post({
  name: 'deal',
  host: 'static',
  path: '/staticscanx/deal',
  input: z.strictObject({
    data: z
      .strictObject({
        startdate: dashedDay,
        enddate: dashedDay,
        defaultpage: z.literal('N'),
        pageno: z.int().min(1),
        pagecount: z.literal(DEALS_PER_PAGE),
      })
      .refine(
        ({ startdate, enddate }) =>
          readDay(toIsoDay(startdate)) === undefined ||
          toIsoDay(enddate) <= addDays(toIsoDay(startdate), CHUNK_DAYS),
        {
          path: ['enddate'],
          error: 'must be at most 240 hours after startdate',
        },
      ),
  }),
  read: (text, _, seen) => {
    const { data, totalcount } = readPage(text, undefined, seen)
    return { rows: (data ?? []) as readonly Deal[], total: Number(totalcount) || 0 }
  },
  shape: dataEnvelope(z.array(Deal), { totalcount: z.union([z.number(), z.string()]) }),
  sample: ({ data: { startdate, enddate, pageno } }, market) => {
    // Each within the range of its day and of a part of its volume; some of ten crore rupees are blocks.
    const deals = market
      .tradingDays(toIsoDay(startdate), toIsoDay(enddate))
      .flatMap((day): readonly Row[] => {
        const random = market.random('deals', day)
        const stocks = market.stocksOn(day)
        return Array.from({ length: random.int(10, 40) }, () => {
          const stock = stocks[random.int(0, stocks.length - 1)]
          const [share, place, cname, bs, isLarge] = [
            random.next(),
            random.next(),
            random.fill(CLIENTS),
            random.pick(['B', 'S']),
            random.chance(0.3),
          ]
          const { h, l, v } = market.tradesOn(stock?.Sid ?? '', day)
          const [high = 0, low = 0, volume = 0] = [h[0], l[0], v[0]]
          // The provider does not divide the price of a deal before a split.
          const isSoonSplit =
            stock?.split !== undefined && stock.split.on > day && stock.split.on < addDays(day, 40)
          if (stock === undefined || volume < 100 || isSoonSplit) return []
          const qty = Math.ceil(volume * (0.02 + share * share * 0.3))
          const avgprice = Math.round((low + (high - low) * place) * 100) / 100
          return {
            date: `${day} 00:00:00`,
            exch: market.exchange,
            seg: 'E',
            sid: Number(stock.Sid),
            isin: stock.ISIN,
            sym: stock.Symbol,
            csym: stock.Name,
            cname,
            deal: isLarge && qty * avgprice >= 1e8 ? 'BLOCK' : 'BULK',
            bs,
            qty,
            avgprice,
            val: qty * avgprice,
          }
        }).flat()
      })
    return {
      code: 0,
      data: deals.slice((pageno - 1) * DEALS_PER_PAGE, pageno * DEALS_PER_PAGE),
      totalcount: deals.length,
    }
  },
})

const CLIENTS =
  '{AGASTYA|BANYAN|CHENAB|DHRUVA|EKANT|FULCRUM|GANDIVA|HARAPPA|INDRA|JHELUM} {CAPITAL LLP|SECURITIES PRIVATE LIMITED|TRADERS|ADVISORS LLP|MUTUAL FUND}'

/**
 * Ten days of deals. A page that fails ends the chunk: the deals of earlier pages stay, with the reason of
 * the failure.
 */
interface Chunk {
  readonly start: Day
  readonly end: Day
  readonly deals: readonly Deal[]
  readonly reason?: string
  readonly failure?: CollectError
}

const fetchChunk = (start: Day, end: Day, { ask, accepts, warn }: Tools): Observable<Chunk> => {
  const days = `${formatDashedDmy(start)} to ${formatDashedDmy(end)}`
  const request = (pageno: number) =>
    ask(deal, {
      data: {
        startdate: formatDashedDmy(start),
        enddate: formatDashedDmy(end),
        defaultpage: 'N',
        pageno,
        pagecount: DEALS_PER_PAGE,
      },
    })
  const accept = accepts('count')
    ? (what: string): void => warn(`accepted although deals are missing: ${days}: ${what}`)
    : undefined
  return readPages<Deal>({ request, size: DEALS_PER_PAGE, keyOf: toDealKey, accept }).pipe(
    map((deals): Partial<Chunk> => ({ deals })),
    catchItemFailure((reason, failure) => of({ reason: `${days}: ${reason}`, failure })),
    reduce(
      (all: Chunk, { deals = [], ...failed }: Partial<Chunk>) => ({
        ...all,
        deals: [...all.deals, ...deals],
        ...failed,
      }),
      {
        start,
        end,
        deals: [],
      },
    ),
  )
}

/** Stored deals from the days of chunks that failed now or came back empty. */
const readStoredDeals = (
  chunks: readonly Chunk[],
  { stored }: Tools,
  file: string,
): Observable<readonly Deal[]> =>
  chunks.length === 0
    ? of([])
    : stored.document(file).pipe(
        map((rows) =>
          (Array.isArray(rows) ? rows : []).filter(isRow).filter(({ date }: Deal) => {
            const day = readDay(date) ?? ''
            return chunks.some(({ start, end }) => day >= start && day <= end)
          }),
        ),
      )

const toDealKey = (row: Deal): string =>
  JSON.stringify([row.sym, row.date, row.qty, row.avgprice, row.bs, row.cname])

/**
 * Counts the deals of the days that both lists can contain: the window has moved since the stored list, and
 * the deals of newer days must not hide a loss on older ones.
 */
const createDealCounter =
  ({
    from: first,
    to,
  }: {
    readonly from: Day
    readonly to: Day
  }): NonNullable<ShrinkOptions['countRecords']> =>
  (deals, earlier) => {
    const dayOf = (row: unknown): Day => (isRow(row) ? readDay(row.date) : undefined) ?? ''
    const newest = earlier.map(dayOf).reduce((latest, day) => (day > latest && day <= to ? day : latest), '')
    return deals.map(dayOf).filter((day) => day >= first && day <= newest).length
  }

/**
 * Bulk and block deals of the last 30 days, in three chunks in sequence, page by page; newest first, without
 * duplicates.
 */
export const bulkBlockDeals = defineStream({
  name: 'bulk-block-deals',
  summary: 'bulk and block deals of the last 30 days',
  phase: 'enrichment',
  position: 11,
  workers: 1,
  timeoutMs: 10_000,
  followsAsOf: true,
  publishedAt: '20:00',
  endpoints: [deal],
  work: once((tools, file) => {
    const today = toDay(tools.asOf)
    return range(0, CHUNKS).pipe(
      concatMap((chunk) =>
        fetchChunk(
          addDays(today, -(CHUNK_DAYS * chunk + CHUNK_DAYS - 1)),
          addDays(today, -CHUNK_DAYS * chunk),
          tools,
        ),
      ),
      toArray(),
      switchMap((chunks) => {
        const failures = chunks.flatMap(({ failure }) => failure ?? [])
        const reasons = [...new Set(chunks.flatMap(({ reason }) => reason ?? []))].join('; ')
        const fresh = chunks.flatMap(({ deals }) => deals)
        const failed = new NothingAnsweredError(reasons, failures)
        if (failures.length === CHUNKS && fresh.length === 0) return throwError(() => failed)
        if (failures.length === 0 && fresh.length === 0) return of(createResult([]))
        const without = chunks.filter(({ failure, deals }) => failure !== undefined || deals.length === 0)
        return concat(
          from(fresh),
          readStoredDeals(without, tools, file).pipe(mergeMap((rows) => from(rows))),
        ).pipe(
          uniqueBy<Deal>(toDealKey),
          sortDescending((row) => readText(row.date)),
          map((rows) => {
            const newest = readDay(rows[0]?.date)
            if (failures.length === 0) return omitUndefined({ ...createResult(rows), newest })
            const { code, causes, isTemporary } = failed
            return omitUndefined({ ...createResult(rows, reasons), newest, code, causes, isTemporary })
          }),
          rejectShrunk(file, tools, {
            countRecords: createDealCounter({ from: addDays(today, 1 - CHUNKS * CHUNK_DAYS), to: today }),
          }),
        )
      }),
    )
  }),
  outputs: [
    {
      shape: 'array-per-item',
      file: 'bulk_block_deals.json',
      keepsWhenEmpty: true,
      tradedOn: 'date',
      tables: [
        {
          name: 'deals',
          about: 'bulk and block deals of the last 30 days, newest first',
          columns: [Deal],
          // Deals that left do not count: the list covers the last 30 days.
          changes: {
            section: 'deals',
            key: ['sym', 'date', 'qty', 'avgprice', 'bs', 'cname'],
            entered: (row) => [{ change: 'new', detail: describeDeal(row) }],
          },
          position: 10,
        },
      ],
    },
  ],
})
