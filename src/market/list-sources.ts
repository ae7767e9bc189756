import { stringify } from 'csv-stringify/sync'
import { catchError, defer, map, type Observable, switchMap, throwError } from 'rxjs'
import { z } from 'zod'
import { json, pageJson, parseTable } from '../http/answer.js'
import { type AnswerInspector, type Endpoint, exactly, get } from '../http/endpoint.js'
import { BadAnswerError, CollectError, HttpError, NothingAnsweredError } from '../model/errors.js'
import { escapeFormula, isFormula } from '../model/formula.js'
import type { SampleMarket, SampleStock } from '../model/market.js'
import { createResult, type ItemResult } from '../model/outcome.js'
import { isRow, type Row, Rows, readText } from '../model/row.js'
import type { Conversion } from '../model/row-schema.js'
import { addDays, type Day, formatCompactDmy, readDay, toDay, toInstant } from '../model/trading-day.js'
import type { Tier } from '../operators/first-that-answers.js'
import { withoutCopies } from './list-rules.js'
import type { Tools } from './tools.js'

const MAX_SEARCH_DEPTH = 12

/** The text of a field in JSON, wherever it stands in a text. */
const findJsonText = (text: string, name: string): string | undefined => {
  const found = new RegExp(`"${name}"\\s*:\\s*("(?:[^"\\\\]|\\\\.){1,100}")`).exec(text)?.[1]
  try {
    return found && JSON.parse(found)
  } catch {
    return undefined
  }
}

/** The texts that a page of the site's app router has in place of `__NEXT_DATA__`. */
const FLIGHT_TEXT = /__next_f\.push\(\[1,"([^"\\]*(?:\\.[^"\\]*)*)"\]\)/g

const findBuildId = (page: string): string | undefined => {
  // A chunk is a JSON text in a script, so the quotes within it are escaped.
  const flight = [...page.matchAll(FLIGHT_TEXT)].map(([, text = '']) => text.replace(/\\(.)/g, '$1')).join('')
  return findJsonText(page, 'buildId') ?? findJsonText(flight, 'buildId') ?? findJsonText(flight, 'b')
}

/** The page that contains the build id of the site's data files, and their locale if they have one. */
export const buildIdPage = get({
  name: 'web_build_id',
  host: 'web',
  path: '/all-indices/',
  input: z.strictObject({}),
  read: (page) => {
    const buildId = findBuildId(page)
    if (buildId === undefined) throw new BadAnswerError('schema', 'the page has no buildId')
    return { buildId, locale: findJsonText(page, 'locale') }
  },
  type: 'text/html',
  sample: (_, { buildId }) => renderPage({ props: { pageProps: {} }, page: '/all-indices', buildId }),
})

/**
 * The web site of the provider as second and third source of the lists with the given keys: its data file,
 * then the page. Fetches the build id once per run.
 */
export const createWebSource = (key: z.ZodType<string>, sampleRows: SampleRows) => {
  const data = get({
    name: 'web_data',
    host: 'web',
    path: '/_next/data/{buildId}/{key}.json',
    input: z.strictObject({ buildId: z.string(), key }),
    read: (text) => {
      // A redirect or a rewrite of the site led to the page itself.
      if (text.includes('"__NEXT_DATA__"')) return readListPage(text)
      const { pageProps } = json(z.looseObject({ pageProps: z.unknown() }))(text)
      if (isRow(pageProps) && pageProps.__N_REDIRECT !== undefined)
        throw new BadAnswerError('schema', `the page has moved to ${readText(pageProps.__N_REDIRECT)}`)
      return findListIn(pageProps)
    },
    sample: (input, market) => {
      const rows = input.buildId === market.buildId ? sampleRows(input.key, market) : undefined
      return (
        rows && {
          pageProps: { meta: { title: input.key }, content: { blocks: [{ list: rows }] } },
          __N_SSG: true,
        }
      )
    },
  })
  const page = get({
    name: 'web_page',
    host: 'web',
    path: '/{key}/',
    input: z.strictObject({ key }),
    read: readListPage,
    type: 'text/html',
    sample: (input, market) => {
      const rows = sampleRows(input.key, market)
      return rows && renderPage({ props: { pageProps: { data: { list: rows } } }, buildId: market.buildId })
    },
  })
  return {
    endpoints: [buildIdPage, data, page],
    tiers: (key: string, tools: Pick<Tools, 'ask' | 'shared'>): readonly Tier<readonly Row[]>[] => [
      { name: 'web data', ask: () => askBuild(data, key, tools) },
      { name: 'web page', ask: (isLast) => tools.ask(page, { key }, { failFast: !isLast }) },
    ],
  }
}

/** Asks for a data file of the site's build, with the locale if there is none without it. */
const askBuild = <Answer>(
  data: Endpoint<{ buildId: string; key: string }, Answer>,
  key: string,
  { ask, shared }: Pick<Tools, 'ask' | 'shared'>,
): Observable<Answer> => {
  const askData = (buildId: string) =>
    ask(data, { buildId, key }, { failFast: true }).pipe(
      catchError((error: unknown) => throwError(() => nameBuild(error, buildId))),
    )
  return shared('build id', () => ask(buildIdPage, {}, { failFast: true })).pipe(
    switchMap(({ buildId, locale }) =>
      askData(buildId).pipe(
        catchError((error: unknown) =>
          locale !== undefined && error instanceof HttpError && error.statusCode === 404
            ? askData(`${buildId}/${locale}`)
            : throwError(() => error),
        ),
      ),
    ),
  )
}

const NextPage = z.looseObject({
  props: z.looseObject({ pageProps: z.unknown() }),
  isFallback: z.boolean().optional(),
})

const readListPage = (text: string): readonly Row[] => {
  const { props, isFallback } = pageJson(NextPage)(text)
  if (isFallback) throw new BadAnswerError('schema', 'the page is a fallback that the site has not filled')
  return findListIn(props.pageProps)
}

/** The error of a request for a data file, with the build id that was asked for: it may be stale or wrong. */
const nameBuild = (error: unknown, buildId: string): unknown => {
  if (!(error instanceof CollectError) || error.request === undefined) return error
  const { request, response, isTemporary } = error
  const path = request.path.replace('{buildId}', buildId)
  return error.during({ request: { ...request, path }, response, isTemporary })
}

/** The rows of the simulated page with a key; nothing if there is no such page. */
type SampleRows = (key: string, market: SampleMarket) => readonly Row[] | undefined

/**
 * Finds the first array of more than 3 records whose first has a symbol, at any depth (interface document,
 * endpoint 11).
 */
const findListIn = (root: unknown): readonly Row[] => {
  const list = findListBelow(root, 0)
  if (list === undefined) throw new BadAnswerError('schema', 'the page has no list of stocks')
  return list
}

const findListBelow = (value: unknown, depth: number): readonly Row[] | undefined => {
  if (typeof value !== 'object' || value === null || depth > MAX_SEARCH_DEPTH) return undefined
  if (Array.isArray(value) && value.length > 3 && isRow(value[0]) && ('sym' in value[0] || 'Sym' in value[0]))
    return value.filter(isRow)
  for (const inner of Object.values(value)) {
    const list = findListBelow(inner, depth + 1)
    if (list !== undefined) return list
  }
  return undefined
}

const renderPage = (data: unknown): string =>
  `<!DOCTYPE html><html><body><div id="__next"></div><script id="__NEXT_DATA__" type="application/json">${JSON.stringify(data)}</script></body></html>`

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
