import { MASTER_MAP } from '../../market/listings.js'
import { UsageError } from '../../model/errors.js'
import type { RunLogEntry } from '../../model/run-log.js'
import {
  createShowRunner,
  type DataSource,
  type MarketFolder,
  openMarketFolder,
  REPORT,
  readSignalRows,
  type ShowAnswers,
  type ShowRequest,
  type ShowRunner,
  search,
} from '../../show/index.js'
import { readRunRecords } from '../../storage/run-records.js'
import { listAnsweringRecords } from '../../tables/history/describe-history.js'
import type { RunList } from '../api/runs.js'
import type { RecordedDay } from '../api/state.js'
import { describeRun } from './ended-run.js'
import { readFolderState } from './folder-state.js'
import { AnswerError } from './guard.js'
import { rememberPast } from './past-answers.js'
import { type QueryWork, queryRoutes } from './query-routes.js'
import { type Route, type RouteRequest, readAsOf } from './route.js'
import { toRunRow } from './runs.js'

/** The routes about the folder and its runs. */
const folderRoutes: readonly Route[] = [
  { path: '/api/state', answer: (_, served) => readFolderState(served, Date.now()) },
  { path: '/api/changes', answer: (_, { readChanges }) => readChanges() },
  { path: '/api/signals', answer: ({ query }, { out }) => readSignalRows(out, readAsOf(query).day) },
  { path: '/api/live', respond: (response, { lastEventId }, { live }) => live.open(response, lastEventId) },
  {
    path: '/api/runs',
    answer: async (_, { out }): Promise<RunList> => {
      const { runs, damage } = await readRunRecords(out)
      return { runs: runs.map(toRunRow).reverse(), damage }
    },
  },
  {
    path: '/api/runs/:id/changes',
    answer: async ({ params }, { out, readRunChanges }) =>
      readRunChanges(await readRuns(out), params.id ?? ''),
  },
  {
    path: '/api/runs/:id/checks',
    answer: async ({ params }, { out, checks }) => checks.read(await readRuns(out), params.id ?? ''),
  },
  {
    path: '/api/runs/:id',
    answer: async ({ params }, served) => describeRun(await readRuns(served.out), params.id ?? '', served),
  },
]

const readRuns = async (out: string): Promise<readonly RunLogEntry[]> => (await readRunRecords(out)).runs

/** What is answered in another process; in this one if absent. */
export interface AnswerWork extends QueryWork {
  readonly show?: ShowRunner | undefined
}

/**
 * Everything that the server answers with data; each server has its own routes, with what they keep in
 * memory.
 */
export const createRoutes = (source: DataSource, { show: showElsewhere, ...work }: AnswerWork = {}) => {
  const folder = openMarketFolder(source)
  const show = refuseWrongRequests(rememberPast(folder.root, showElsewhere ?? createShowRunner(folder)))
  const remembered = rememberShown(folder, show)
  const [readMarket, readToday, readFeed] = [remembered('market'), remembered('today'), remembered('feed')]
  const readStocks = remembered('list', 'stocks')
  const routes: readonly Route[] = [
    ...folderRoutes,
    {
      path: '/api/days',
      answer: (): Promise<readonly RecordedDay[]> => listAnsweringRecords(folder.root, folder.streams),
    },
    { path: '/api/today', answer: readToday },
    { path: '/api/watchlists', answer: (_, { watchlists = {} }) => watchlists },
    {
      path: '/api/market',
      answer: (request) => {
        const name = readUniverse(request.query)
        return name === '' ? readMarket(request) : askShow(show, { show: 'market', name }, request)
      },
    },
    { path: '/api/market/feed', answer: readFeed },
    { path: '/api/market/stocks', answer: readStocks },
    ...listRoutes(show),
    ...instrumentRoutes(show),
    {
      path: '/api/search',
      answer: async ({ query }) => ({
        found: await search(folder, (query.get('q') ?? '').slice(0, MAX_SEARCH)),
      }),
    },
    { path: '/api/queries', answer: async () => (await import('./query.js')).listQueries(folder) },
    ...queryRoutes(folder, work),
  ]
  return {
    routes,
    /**
     * Reads the market before somebody asks for it: it takes some seconds. Never rejects: the answers have
     * its errors.
     */
    prepare: async () => {
      for (const read of [readMarket, readStocks, readToday, readFeed]) await read().catch(() => undefined)
    },
  }
}

/** Several stocks. */
const listRoutes = (show: ShowRunner): readonly Route[] => [
  {
    path: '/api/stocks',
    answer: (request) =>
      askShow(
        show,
        { show: 'stocks', name: (request.query.get('symbols') ?? '').slice(0, MAX_SYMBOLS) },
        request,
      ),
  },
  {
    path: '/api/list/:name',
    answer: (request) => findShownList(show, readUniverse(request.query), request),
  },
  {
    path: '/api/stock/:symbol/list/:name',
    answer: (request) => findShownList(show, request.params.symbol ?? '', request),
  },
]

const findShownList = (show: ShowRunner, of: string, request: RouteRequest) => {
  const { name = '' } = request.params
  const list = askShow(show, { show: 'list', name: of === '' ? name : `${name}/${of}` }, request)
  return found(list, `there is no list ${name}`)
}

const INSTRUMENTS = {
  '/api/stock/:name': 'stock',
  '/api/stock/:name/candles': 'candles',
  '/api/index/:name': 'index',
  '/api/index/:name/candles': 'indexCandles',
} as const

/** One stock, or one index. */
const instrumentRoutes = (show: ShowRunner): readonly Route[] =>
  Object.entries(INSTRUMENTS).map(([path, kind]) => ({
    path,
    answer: (request) => {
      const { name = '' } = request.params
      return found(
        askShow(show, { show: kind, name, ...toWishes(request.query) }, request),
        `${name} is in no list of this folder; search by symbol, name or ISIN`,
      )
    },
  }))

/** As of the day of the request. */
const askShow = <Kind extends keyof ShowAnswers>(
  show: ShowRunner,
  wanted: ShowRequest<Kind>,
  { query, signal }: RouteRequest,
): Promise<ShowAnswers[Kind]> => show({ ...wanted, ...readAsOf(query) }, signal)

/**
 * Answers about the market, kept until another run has ended: while a run replaces thousands of files, the
 * market is that before it.
 */
const rememberShown =
  (folder: MarketFolder, show: ShowRunner) =>
  <Kind extends 'market' | 'today' | 'feed' | 'list'>(kind: Kind, name = '') =>
  ({ query, signal }: Partial<RouteRequest> = {}): Promise<ShowAnswers[Kind]> => {
    const request = { show: kind, name, ...readAsOf(query ?? new URLSearchParams()) }
    if (request.day !== undefined) return show<Kind>(request, signal)
    return folder.remember(`${kind} ${name}`, [REPORT, MASTER_MAP], () => show<Kind>(request))
  }

/** What the reader can correct is a refusal, not a fault of the server. */
const refuseWrongRequests =
  (show: ShowRunner): ShowRunner =>
  (...asked) =>
    show(...asked).catch((error: unknown) => {
      throw error instanceof UsageError ? new AnswerError(400, error.message) : error
    })

const MAX_SEARCH = 100
const MAX_SYMBOLS = 6_000

/** The universe that an answer is narrowed to; empty for the whole market. */
const readUniverse = (query: URLSearchParams): string => (query.get('universe') ?? '').slice(0, MAX_SYMBOLS)

const toWishes = (query: URLSearchParams) => ({
  isStored: query.get('adjusted') === '0',
  isWeekly: query.get('step') === 'week',
})

/** The answer; none is a 404. */
const found = async <T>(answer: Promise<T | undefined>, missing: string): Promise<T> => {
  const value = await answer
  if (value === undefined) throw new AnswerError(404, missing)
  return value
}
