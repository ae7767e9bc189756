import { stringify } from 'csv-stringify/sync'
import { catchError, defer, map, type Observable, throwError } from 'rxjs'
import { z } from 'zod'
import { json, parseTable } from '../http/answer.js'
import { type AnswerInspector, type Endpoint, exactly, get } from '../http/endpoint.js'
import { HttpError, NothingAnsweredError } from '../model/errors.js'
import { escapeFormula, isFormula } from '../model/formula.js'
import type { SampleMarket, SampleStock } from '../model/market.js'
import { createResult, type ItemResult } from '../model/outcome.js'
import type { Conversion } from '../model/row-schema.js'
import { type Row, Rows } from '../model/row-schema.js'
import { addDays, type Day, formatCompactDmy, readDay, toDay, toInstant } from '../model/trading-day.js'
import { withoutCopies } from './list-rules.js'
import type { Tools } from './tools.js'

const EXCHANGE_MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A day as the exchange's lists have it, such as `12-Feb-2026`. */
export const formatListDay = (day: Day): string =>
  `${day.slice(8)}-${EXCHANGE_MONTHS[Number(day.slice(5, 7)) - 1]}-${day.slice(0, 4)}`

/** Reads such a day, in whatever letters. */
export const LIST_DAY: Conversion & { readonly value: (text: string) => Day | undefined } = {
  // It would read the text "infinity", too.
  sql: (value) => `CAST(try_strptime(CASE WHEN ${value} LIKE '%-%-%' THEN ${value} END, '%d-%b-%Y') AS DATE)`,
  value: (value) => {
    const [date = '', month = '', year = ''] = value.split('-')
    const number = EXCHANGE_MONTHS.findIndex((name) => name.toUpperCase() === month.toUpperCase()) + 1
    return readDay(`${year}-${String(number).padStart(2, '0')}-${date.padStart(2, '0')}`)
  },
}

/**
 * Defines a CSV endpoint of the archive, published each trading day in the evening. `{date}` is `DDMMYYYY`.
 */
export const dailyCsv = (
  name: string,
  read: (text: string, input: unknown, inspect?: AnswerInspector) => readonly Row[],
  columns: z.ZodObject,
  sampleLines: (stocks: readonly SampleStock[], market: SampleMarket, day: Day) => readonly string[],
  folder = '/content/equities',
) =>
  get({
    name,
    host: 'archive',
    path: `${folder}/${name}_{date}.csv`,
    headers: 'browser',
    input: z.strictObject({ date: z.string().regex(/^\d{8}$/, 'must be DDMMYYYY') }),
    read,
    shape: z.array(columns),
    type: 'text/csv',
    sample: ({ date }, market) => {
      const day = `${date.slice(4)}-${date.slice(2, 4)}-${date.slice(0, 2)}`
      const isPublished =
        formatCompactDmy(day) === date &&
        market.tradingDays(day, day).length === 1 &&
        market.asOf >= toInstant(day, '18:00')
      return isPublished ? `${sampleLines(market.stocksOn(day), market, day).join('\r\n')}\r\n` : undefined
    },
  })

const MAX_DAYS_BACK = 8

/**
 * Fetches the newest daily file of an archive: today's, or that of an earlier day, 8 days at most. Only a 404
 * means that a day has no file (a weekend, a holiday, not published yet). Any other failure is an error: an
 * outage must not lead to an older file. The result has the day of the file.
 */
export const fetchNewestFile = <R = Row>(
  endpoint: Endpoint<{ date: string }, readonly Row[]>,
  { ask, asOf, warn }: Pick<Tools, 'ask' | 'asOf' | 'warn'>,
): Observable<ItemResult<R>> => {
  const today = toDay(asOf)
  const from = (day: Day): Observable<ItemResult<R>> =>
    day <= addDays(today, -MAX_DAYS_BACK)
      ? throwError(
          () => new NothingAnsweredError(`no daily file for the ${MAX_DAYS_BACK} days up to ${today}`),
        )
      : defer(() => ask(endpoint, { date: formatCompactDmy(day) })).pipe(
          map((rows) => ({
            ...createResult(withoutCopies(rows as readonly unknown[] as readonly R[], { warn })),
            newest: day,
          })),
          catchError((error: unknown) =>
            error instanceof HttpError && error.statusCode === 404
              ? from(addDays(day, -1))
              : throwError(() => error),
          ),
        )
  return from(today)
}

/** The schema of a scan condition (interface document, endpoint 1) with a constant value. */
export const condition = <const Field extends string, const Value extends string>(field: Field, val: Value) =>
  z.strictObject({ field: z.literal(field), op: z.literal(''), val: z.literal(val) })

/** The schema of the condition that selects the exchange by its code. */
export const exchangeCondition = z.strictObject({
  field: z.literal('Exch'),
  op: z.literal(''),
  val: z.string().regex(/^[A-Z]+$/, 'must be an exchange code'),
})

/** The schemas of the parts of a request that are always the same. */
export const constants = <const T extends Readonly<Record<string, unknown>>>(values: T) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, exactly(value)])) as {
    [Name in keyof T]: z.ZodType<T[Name]>
  }

/** Reads the rows of an answer, and the total that it reports (`tot_rec`), if it does. */
export const readCountedRows = <R>(text: string, inspect?: AnswerInspector) => {
  const { data, tot_rec } = json(Rows)(text, undefined, inspect)
  const total = typeof tot_rec === 'string' && tot_rec.trim() !== '' ? Number(tot_rec) : tot_rec
  return {
    rows: (data ?? []) as readonly R[],
    total: typeof total === 'number' && total >= 0 ? total : undefined,
  }
}

/** A fast pre-check: most lines have no such cell and need no parsing. */
const MAY_CONTAIN_FORMULA = /(?:^|,)[\s"]*[=+\-@\t\r]/

/**
 * Prefixes each cell of a CSV line that a spreadsheet would run as a formula with `'`. Other lines stay
 * unchanged.
 */
export const escapeFormulasInLine = (line: string): string => {
  if (!MAY_CONTAIN_FORMULA.test(line)) return line
  const [cells = []] = parseTable(line)
  if (!cells.some(isFormula)) return line
  return stringify([cells.map(escapeFormula)], { record_delimiter: '', quoted_match: /^\s|\s$/ })
}
