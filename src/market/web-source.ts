import { catchError, type Observable, switchMap, throwError } from 'rxjs'
import { z } from 'zod'
import { json, pageJson } from '../http/answer.js'
import { type Endpoint, get } from '../http/endpoint.js'
import { BadAnswerError, CollectError, HttpError } from '../model/errors.js'
import type { SampleMarket } from '../model/market.js'
import { isRow, type Row, readText } from '../model/row.js'
import type { Tier } from '../operators/first-that-answers.js'
import { followFlight, followRow, readFlightChunks, readFlightText } from './flight-data.js'
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

const findBuildId = (page: string): string | undefined => {
  const flight = readFlightText(page)
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
  const flight = readFlightText(text)
  if (flight !== '') return findListInFlight(flight)
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
  const list = findListBelow(root, MAX_SEARCH_DEPTH)
  if (list === undefined) throw new BadAnswerError('schema', 'the page has no list of stocks')
  return list
}

/** Where the list stands below the layouts of the site's app router. */
const MAX_FLIGHT_DEPTH = 40

const findListInFlight = (flight: string): readonly Row[] => {
  const chunks = readFlightChunks(flight)
  for (const chunk of chunks.values()) {
    const list = findListBelow(chunk, MAX_FLIGHT_DEPTH, (value) => followFlight(chunks, value))
    if (list !== undefined) return list.map((row) => followRow(chunks, row))
  }
  throw new BadAnswerError('schema', 'the page is of the app router, and its data has no list of stocks')
}

const findListBelow = (
  value: unknown,
  depth: number,
  follow = (inner: unknown) => inner,
): readonly Row[] | undefined => {
  if (typeof value !== 'object' || value === null || depth < 0) return undefined
  if (Array.isArray(value) && value.length > 3) {
    const first = follow(value[0])
    if (isRow(first) && ('sym' in first || 'Sym' in first)) return value.map(follow).filter(isRow)
  }
  for (const inner of Object.values(value)) {
    const list = findListBelow(inner, depth - 1, follow)
    if (list !== undefined) return list
  }
  return undefined
}

const renderPage = (data: unknown): string =>
  `<!DOCTYPE html><html><body><div id="__next"></div><script id="__NEXT_DATA__" type="application/json">${JSON.stringify(data)}</script></body></html>`
