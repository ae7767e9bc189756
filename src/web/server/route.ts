import type { ServerResponse } from 'node:http'
import type { StreamDefinition } from '../../engine/define-stream.js'
import type { RunLogEntry } from '../../model/run-log.js'
import { type Day, type MarketCalendar, readDay } from '../../model/trading-day.js'
import { matchPath } from '../api/path.js'
import type { FolderChanges } from '../api/state.js'
import type { ChecksReader } from './checks.js'
import { AnswerError } from './guard.js'
import type { LiveHub } from './live-hub.js'

/** What the routes answer from. */
export interface Served {
  /** The output folder. */
  readonly out: string
  readonly exchange: string
  readonly streams: readonly StreamDefinition[]
  readonly version: string
  /** What the settings and earlier runs say about sessions. */
  readonly readCalendar?: (() => Promise<MarketCalendar>) | undefined
  /** The configured workers of streams that do not have the usual number. */
  readonly workers: Readonly<Record<string, number>>
  /** The symbols of the watchlists of the settings, by name. */
  readonly watchlists?: Readonly<Record<string, readonly string[]>> | undefined
  /** The run that is active now. */
  readonly live: LiveHub
  /** What the last run changed. */
  readonly readChanges: () => Promise<FolderChanges>
  /** What the checks of `verify` found in the files of runs. */
  readonly checks: ChecksReader
  /** What one of the recorded runs changed. */
  readonly readRunChanges: (runs: readonly RunLogEntry[], id: string) => Promise<FolderChanges>
}

export interface RouteRequest {
  /** The values of the `:names` in the path, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The parsed body of a POST. */
  readonly body: unknown
  /** Aborted when the reader has gone. */
  readonly signal: AbortSignal
  readonly lastEventId: string | undefined
}

/** One path of the API. */
export interface Route {
  /** GET if absent. */
  readonly method?: 'POST'
  /** Such as `/api/stock/:symbol`. */
  readonly path: string
  /** The answer, sent as JSON. An `AnswerError` becomes its status and sentence. */
  readonly answer?: (request: RouteRequest, served: Served) => unknown
  /** Instead of `answer`: writes the response itself, such as a stream of events. */
  readonly respond?: (response: ServerResponse, request: RouteRequest, served: Served) => Promise<void> | void
}

/** The route of a request. @throws AnswerError if the route is unknown, or if it has another method */
export const findRoute = (routes: readonly Route[], method: string, path: string) => {
  const found = routes.flatMap((route) => {
    const params = matchPath(route.path, path, decode)
    return params === undefined ? [] : [{ route, params }]
  })
  const wanted = method === 'HEAD' ? 'GET' : method
  const match = found.find(({ route }) => (route.method ?? 'GET') === wanted)
  if (match) return match
  const [other] = found
  if (other) throw new AnswerError(405, `${path} answers ${other.route.method ?? 'GET'} only`)
  throw new AnswerError(method === 'POST' ? 405 : 404, `there is no ${path}`)
}

/** The day of a request, as of which it is answered. */
export const readAsOf = (query: URLSearchParams) => readGivenDay('as-of', query.get('as-of') ?? undefined)

export const readGivenDay = (name: string, given: unknown): { readonly day?: Day } => {
  const day = readDay(given)
  if (day !== undefined) return { day }
  if (given === undefined) return {}
  throw new AnswerError(400, `${name}: ${JSON.stringify(given)} is no day; use YYYY-MM-DD`)
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new AnswerError(400, 'the path of the request is not valid')
  }
}
