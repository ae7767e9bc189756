import {
  catchError,
  concatMap,
  filter,
  from,
  identity,
  map,
  type Observable,
  of,
  switchMap,
  throwError,
  toArray,
} from 'rxjs'
import { defineStream, listDayItems, perDay, type Tools } from '../src/engine/define-stream.js'
import { filledCsv } from '../src/http/answer.js'
import type { AnswerInspector } from '../src/http/endpoint.js'
import { rejectShrunk, withoutCopies } from '../src/market/list-rules.js'
import { dailyCsv, formatListDay, LIST_DAY } from '../src/market/list-sources.js'
import { EXCHANGE_DAILY_FILE } from '../src/market/witness.js'
import { HttpError } from '../src/model/errors.js'
import { formatPart } from '../src/model/format.js'
import { createResult, skippedResult } from '../src/model/outcome.js'
import type { Row } from '../src/model/row.js'
import { row, textColumn } from '../src/model/row-schema.js'
import { addDays, formatCompactDmy } from '../src/model/trading-day.js'

const priceColumn = (about: string, sql: string) =>
  textColumn(`${about}, rupees, unadjusted`, [sql, 'DOUBLE'])
const countColumn = (about: string, sql: string) => textColumn(about, [sql, 'BIGINT'])

/**
 * What a security traded on one day, from the exchange's own file. Cells are text, with the column names of
 * the file; a dash is null.
 */
export const ExchangeDay = row({
  SYMBOL: textColumn('trading symbol of that day', 'symbol'),
  SERIES: textColumn(
    'series of that day: EQ, BE, BZ, SM, ST and SZ are shares; EQ also has exchange-traded funds',
    'series',
  ),
  DATE1: textColumn('day of the session', ['day', 'DATE'], { convert: LIST_DAY }),
  PREV_CLOSE: priceColumn('close before', 'previous_close'),
  OPEN_PRICE: priceColumn('open', 'open'),
  HIGH_PRICE: priceColumn('high', 'high'),
  LOW_PRICE: priceColumn('low', 'low'),
  LAST_PRICE: priceColumn('last trade', 'last'),
  CLOSE_PRICE: priceColumn('official close', 'close'),
  AVG_PRICE: priceColumn('average by volume', 'average'),
  TTL_TRD_QNTY: countColumn('shares traded', 'volume'),
  TURNOVER_LACS: textColumn('value traded, lakh rupees (a lakh is 100,000)', ['turnover_lakh', 'DOUBLE']),
  NO_OF_TRADES: countColumn('number of trades', 'trades'),
  DELIV_QTY: countColumn(
    'shares that are delivered; NULL if not reported, as for series BE',
    'delivery_quantity',
  ),
  DELIV_PER: textColumn('delivered shares, percent of the volume; NULL if not reported', [
    'delivery_pct',
    'DOUBLE',
  ]),
})
export interface ExchangeDay extends Readonly<Record<keyof typeof ExchangeDay.shape, string | null>> {}

const DAILY_COLUMNS = Object.keys(ExchangeDay.shape)
const readDailyFile = filledCsv(['SYMBOL', 'SERIES', 'DATE1', 'CLOSE_PRICE', 'TTL_TRD_QNTY'])

/** A bond and a fund that is not in the master list, as the file has them between the stocks. */
const OTHERS: readonly (readonly [symbol: string, series: string, delivered: string])[] = [
  ['1018GS2026', 'GS', ' 100, 100.00'],
  ['GOLDFUND', 'EQ', ' 400, 40.00'],
]

const dailyFile = dailyCsv(
  'sec_bhavdata_full',
  (answer: string, _: unknown, inspect?: AnswerInspector): readonly Row[] =>
    readDailyFile(answer, undefined, inspect).map((cells) =>
      Object.fromEntries(
        Object.entries(cells).map(([name, cell]) => [name, cell === '-' || cell === '' ? null : cell]),
      ),
    ),
  ExchangeDay,
  (stocks, market, day) => {
    const date = formatListDay(day)
    const dayBefore = market.tradingDays(addDays(day, -15), day).at(-2) ?? ''
    const traded = stocks.flatMap((stock) => {
      const { o, h, l, c, v } = market.tradesOn(stock.Sid, day)
      const [open, high, low, close, volume] = [o[0] ?? 0, h[0] ?? 0, l[0] ?? 0, c[0] ?? 0, v[0] ?? 0]
      if (close === 0) return []
      const random = market.random('delivery', day, stock.ISIN)
      const share = random.int(10, 90)
      const delivery = stock.series === 'BE' ? '-, -' : `${Math.round((volume * share) / 100)}, ${share}.00`
      const average = ((open + high + low + close) / 4).toFixed(2)
      const turnover = ((Number(average) * volume) / 100_000).toFixed(2)
      const previous = market.tradesOn(stock.Sid, dayBefore).c[0] ?? open
      const prices = [previous, open, high, low, close, close].map((one) => one.toFixed(2)).join(', ')
      return [
        `${stock.Symbol}, ${stock.series}, ${date}, ${prices}, ${average}, ${volume}, ${turnover}, ${1 + Math.floor(volume / 32)}, ${delivery}`,
      ]
    })
    const others = OTHERS.map(
      ([symbol, series, delivered]) =>
        `${symbol}, ${series}, ${date}, 100.00, 100.00, 101.00, 99.00, 100.00, 100.00, 100.00, 1000, 1.00, 10,${delivered}`,
    )
    return [DAILY_COLUMNS.join(', '), ...[...traded, ...others].sort()]
  },
  '/products/content',
)

/** The files that are stored as the run begins, newest day first. */
const listStored = ({ shared, stored, asOf }: Tools): Observable<readonly string[]> =>
  shared('stored days of the exchange', () =>
    from(listDayItems(asOf)).pipe(
      map(({ fileName }) => EXCHANGE_DAILY_FILE.replace('{DAY}', fileName)),
      concatMap((file) =>
        stored.exists(file).pipe(
          filter(identity),
          map(() => file),
        ),
      ),
      toArray(),
    ),
  )

/**
 * What every security traded on each session of the last 31 days, by the exchange's own account: unadjusted
 * prices, volume and delivery. Of the stored days, only the newest is requested again: its file may have been
 * published before deliveries were in. A file with less than 70 % of the rows of the newest other day is
 * refused. On a holiday the archive may answer with the file of the session before: its rows name another
 * day, so the day counts as one without a file.
 */
export const exchangeDaily = defineStream({
  name: 'exchange-daily',
  summary: "the exchange's own prices, volumes and deliveries of each session",
  phase: 'core',
  optional: true,
  workers: 4,
  timeoutMs: 30_000,
  followsAsOf: true,
  publishedAt: '19:30',
  endpoints: [dailyFile],
  work: perDay((day, tools, file) => {
    const { ask, warn } = tools
    return listStored(tools).pipe(
      switchMap((files) => {
        const [isStored, known] = [files.includes(file), { ...skippedResult, newest: day }]
        if (isStored && file !== files[0]) return of(known)
        const none = isStored ? known : createResult<ExchangeDay>([])
        return ask(dailyFile, { date: formatCompactDmy(day) }).pipe(
          map((rows) => {
            const own = rows.filter(
              ({ DATE1 }) => LIST_DAY.value(String(DATE1)) === day,
            ) as readonly unknown[] as readonly ExchangeDay[]
            if (own.length === 0) return none
            if (own.length < rows.length)
              warn(
                `${day}: left out ${formatPart(rows.length - own.length, rows.length, 'row')}, of other days`,
              )
            return { ...createResult(withoutCopies(own, { warn })), newest: day }
          }),
          catchError((error: unknown) =>
            error instanceof HttpError && error.statusCode === 404 ? of(none) : throwError(() => error),
          ),
          switchMap((found) =>
            found === none
              ? of(found)
              : of(found).pipe(rejectShrunk(files.find((one) => one !== file) ?? file, tools)),
          ),
        )
      }),
    )
  }),
  outputs: [
    {
      shape: 'array-per-item',
      file: EXCHANGE_DAILY_FILE,
      omitsEmpty: true,
      tradedOn: 'DATE1',
      tables: [
        {
          name: 'exchange_daily',
          about:
            "what every security traded on each session, from the exchange's own daily file; by symbol and series",
          columns: [ExchangeDay],
        },
      ],
    },
  ],
})
