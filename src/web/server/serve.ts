import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { formatError } from '../../model/errors.js'
import { getErrorCode, statFile } from '../../storage/file-system.js'
import { readIsSimulated, statePaths } from '../../storage/run-state.js'
import { type Asset, findPage, readAssets } from './assets.js'
import { createChanges, createRunChanges } from './changes.js'
import { createChecks } from './checks.js'
import { readFolderState } from './folder-state.js'
import { AnswerError, checkRequest, setSafetyHeaders } from './guard.js'
import { createLiveHub, type HubOptions, type LiveSource, openLiveFile } from './live-hub.js'
import { findRoute, type Route, type RouteRequest, type Served } from './route.js'
import { type AnswerWork, createRoutes } from './routes.js'

/** What is answered about runs in another process, or from recorded days; in this process if absent. */
export interface RunWork {
  /** Compares the last run with the one before it. */
  readonly compare?: Parameters<typeof createChanges>[1]
  /** Checks the present files. The checks of the whole market need up to 500 MB: not made if absent. */
  readonly check?: Parameters<typeof createChecks>[1]
}

export interface PageServerOptions
  extends Pick<Served, 'out' | 'exchange' | 'streams' | 'version' | 'readCalendar' | 'watchlists'>,
    Pick<HubOptions, 'wall'>,
    RunWork,
    AnswerWork {
  readonly workers?: Served['workers']
  /** The run of this process; without one, the run that another process has started on the folder. */
  readonly live?: LiveSource | undefined
  /** The built files of the page. */
  readonly pageFolder: string
  /** How the command is typed where the server was started; `scripstream` if absent. */
  readonly command?: string
  /** Undefined: the usual port, or the next free one. 0: any free port. */
  readonly port?: number | undefined
  /** Instead of all routes; for tests. */
  readonly routes?: readonly Route[]
}

/** A running server of the page, until it is closed. */
export interface PageServer {
  readonly origin: string
  /**
   * Resolves once what the page shows of the market has been read; at once beside a run, which needs the time
   * itself.
   */
  readonly prepared: Promise<void>
  /** Ends every answer in progress. Readers of events first get how the folder stands. */
  readonly close: () => Promise<void>
}

/** The usual port, and how many after it are tried. */
export const DEFAULT_PORT = 4173
const TRIED_PORTS = 20
const MAX_REQUEST_BYTES = 100_000
/** A longer answer is compressed for readers that accept it. */
const MIN_COMPRESSED_BYTES = 100_000

/**
 * Serves the page on loopback. Rejects with the error of the system (`EADDRINUSE`) if the given port is
 * taken.
 */
export const servePage = async (options: PageServerOptions): Promise<PageServer> => {
  const {
    pageFolder,
    command = 'scripstream',
    port,
    routes: given,
    live: source,
    wall,
    workers = {},
    ask,
    show,
    exportCsv,
    compare,
    check,
    ...folder
  } = options
  const { out: root, exchange, streams } = folder
  const { routes, prepare } = createRoutes({ root, exchange, streams }, { ask, exportCsv, show })
  const assets = readAssets(pageFolder, command)
  const live = createLiveHub(source ?? openLiveFile(root), {
    readReportTime: () => statFile(statePaths(root).report)?.mtimeMs,
    readIsSimulated: () => readIsSimulated(root),
    wall,
  })
  const readChanges = createChanges(folder, compare)
  const readRunChanges = createRunChanges({ ...folder, readChanges })
  const served: Served = {
    ...folder,
    workers,
    live,
    readChanges,
    readRunChanges,
    checks: createChecks(
      { out: root, live, watched: new Set(Object.values(folder.watchlists ?? {}).flat()) },
      check,
    ),
  }
  const server = createServer((request, response) => {
    const own = (server.address() as AddressInfo | null)?.port ?? 0
    handle(request, response, { port: own, assets, routes: given ?? routes, served })
      .catch((error: unknown) => sendError(response, error))
      .catch(() => response.destroy())
  })
  const own = await listen(server, port)
  return {
    origin: `http://127.0.0.1:${own}`,
    prepared: source === undefined ? prepare() : Promise.resolve(),
    close: async () => {
      server.close()
      await live.close(() => readFolderState(served, Date.now()))
      server.closeAllConnections()
    },
  }
}

const listen = async (server: Server, port: number | undefined): Promise<number> => {
  const tried =
    port === undefined ? [...Array(TRIED_PORTS).keys()].map((index) => DEFAULT_PORT + index) : [port]
  for (const one of tried) {
    try {
      return await listenOn(server, one)
    } catch (error) {
      if (port !== undefined || getErrorCode(error) !== 'EADDRINUSE') throw error
    }
  }
  return listenOn(server, 0)
}

const listenOn = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port)
    })
  })

interface HandleContext {
  readonly port: number
  readonly assets: ReadonlyMap<string, Asset>
  readonly routes: readonly Route[]
  readonly served: Served
}

const handle = async (
  request: IncomingMessage,
  response: ServerResponse,
  { port, assets, routes, served }: HandleContext,
): Promise<void> => {
  setSafetyHeaders(response)
  const { method = '', url = '', headers } = request
  checkRequest({ method, url, headers }, port)
  const [path = '', search = ''] = url.split(/\?(.*)/s)
  if (path !== '/api' && !path.startsWith('/api/')) {
    if (method === 'POST') throw new AnswerError(405, `${path} answers GET only`)
    return sendAsset(request, response, assets.get(path) ?? findPage(assets, served.out))
  }
  const { route, params } = findRoute(routes, method, path)
  const aborting = new AbortController()
  response.on('close', () => aborting.abort())
  const asked: RouteRequest = {
    params,
    query: new URLSearchParams(search),
    body: method === 'POST' ? await readRequestBody(request) : undefined,
    signal: aborting.signal,
    lastEventId: headers['last-event-id']?.toString(),
  }
  if (route.respond) return route.respond(response, asked, served)
  await sendJson(response, 200, await route.answer?.(asked, served), headers['accept-encoding']?.toString())
}

const sendAsset = (
  { headers }: IncomingMessage,
  response: ServerResponse,
  asset: Asset | undefined,
): void => {
  if (asset === undefined) throw new AnswerError(404, 'the page is not built')
  response.setHeader('etag', asset.etag)
  if (headers['if-none-match'] === asset.etag) return void response.writeHead(304).end()
  // A HEAD gets no body: Node leaves it out.
  response
    .writeHead(200, { 'content-type': asset.type, 'content-length': asset.bytes.length })
    .end(asset.bytes)
}

const gzipText = promisify(gzip)

const sendJson = async (
  response: ServerResponse,
  status: number,
  value: unknown,
  accepted = '',
): Promise<void> => {
  const text = JSON.stringify(value)
  const isCompressed = text.length > MIN_COMPRESSED_BYTES && /\bgzip\b/.test(accepted)
  const body = isCompressed ? await gzipText(text, { level: 1 }) : Buffer.from(text)
  if (isCompressed) response.setHeader('content-encoding', 'gzip')
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length })
    .end(body)
}

const sendError = async (response: ServerResponse, error: unknown): Promise<void> => {
  if (response.headersSent) return void response.destroy()
  const status = error instanceof AnswerError ? error.status : 500
  // A body that was not read would be taken for the next request.
  response.setHeader('connection', 'close')
  // The lines of a refused query show its position.
  await sendJson(response, status, {
    error: error instanceof AnswerError ? error.message : formatError(error),
  })
}

const readRequestBody = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_REQUEST_BYTES)
      throw new AnswerError(413, `the body is longer than ${MAX_REQUEST_BYTES} bytes`)
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw new AnswerError(400, 'the body is not JSON')
  }
}
