import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { builtInHosts } from '../../../src/model/settings.js'
import { streams } from '../../../streams/registry.js'
import { createAfter } from './after.js'
import { createAnswers } from './answers.js'
import { computeLatency, createBenchTimeline, FIRST_RUN_AT, type Latency } from './conditions.js'
import { forwardDelayed } from './delayed.js'
import { openFront } from './front.js'
import { createLine, type LineSpeed } from './line.js'
import { createOutages, type Outage, unavailable } from './outage.js'
import { createRequestCounter } from './request-counter.js'
import { type ReceivedRequest, readRequests } from './requests.js'
import { createJsonResponse, createPadding, type Padding, tooManyRequests } from './template.js'

/** The only argument of the process, as JSON. */
export interface ProviderOptions {
  readonly stocks: number
  /** Serve over TLS with this round trip. */
  readonly tls?: {
    readonly key: string
    readonly cert: string
    readonly certFile: string
    readonly roundTripMs: number
  }
  /** A file that exists while the host name must not resolve. */
  readonly namesFile?: string
}

/** Changes to a running provider. */
export interface ProviderControl {
  readonly latency?: Latency
  /** The market's "now", ISO 8601 with an offset. */
  readonly asOf?: string
  /** The next outage; `null` ends the current one and plans none. */
  readonly outage?: Outage | null
  /** A slow line, shared by all connections; `null` for none. */
  readonly line?: LineSpeed | null
  /** An endpoint that always answers 429; `null` for none. */
  readonly refuse?: string | null
  /** Makes the answers of an endpoint large; `null` for none. */
  readonly padding?: Padding | null
  /** Resets all counts. */
  readonly reset?: boolean
}

/** The line that the process prints when it is ready, as JSON. */
export interface ProviderReady {
  /** For `GET /__stats` and `POST /__control`; never delayed, never over TLS. */
  readonly control: string
  /** The port of the data. */
  readonly port: number
  /** The environment with which a collector uses this provider. */
  readonly env: Readonly<Record<string, string>>
}

const options = JSON.parse(process.argv[2] ?? '{}') as ProviderOptions
const { answer, moveTo } = createAnswers(
  streams.flatMap(({ endpoints }) => endpoints),
  options.stocks,
)
const ledger = createRequestCounter()
const after = createAfter()
const line = createLine()
const padding = createPadding()
const front = await openFront((socket) => readRequests(socket, handle))
const outages = createOutages(front, options.namesFile)
let latency: Latency = { kind: 'fixed', ms: 0 }
let refused: string | null = null

const handle = (asked: ReceivedRequest, socket: Socket): void => {
  const { endpoint, key, response, violation } = answer(asked)
  if (violation !== undefined) ledger.addViolation(violation)
  const ms = computeLatency(latency, endpoint, key)
  const answered = ledger.countRequest(endpoint, key, ms)
  const isAskedFrozen = outages.activeKind() === 'frozen'
  after(ms, () => {
    const kind = outages.activeKind()
    if (isAskedFrozen || kind === 'frozen') return
    answered()
    if (kind === '503') line.send(socket, unavailable)
    else if (refused === endpoint) line.send(socket, tooManyRequests)
    else for (const piece of padding.splitIntoPieces(endpoint, response())) line.send(socket, piece)
    if (kind === undefined) outages.countAnswer(endpoint)
  })
}

const answerControl = async ({ path, body }: ReceivedRequest): Promise<Buffer> => {
  if (path === '/__stats') return createJsonResponse({ ...ledger.stats(), outage: outages.span() })
  const control = JSON.parse(body) as ProviderControl
  latency = control.latency ?? latency
  if (control.asOf !== undefined) moveTo(Date.parse(control.asOf))
  if (control.reset) ledger.reset()
  if (control.line !== undefined) line.setSpeed(control.line)
  if (control.padding !== undefined) padding.set(control.padding)
  if (control.refuse !== undefined) refused = control.refuse
  if (control.outage !== undefined) await outages.plan(control.outage)
  return createJsonResponse({})
}

const listenOnFreePort = (server: ReturnType<typeof createServer>): Promise<number> =>
  new Promise((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 }, () =>
      resolve((server.address() as AddressInfo).port),
    )
  })

const start = async (): Promise<ProviderReady> => {
  // A separate port, which stays open during outages.
  const ownPort = await listenOnFreePort(
    createServer((socket) =>
      readRequests(socket, (asked) => void answerControl(asked).then((bytes) => socket.write(bytes))),
    ),
  )
  const control = `http://127.0.0.1:${ownPort}`
  const { tls } = options
  if (tls === undefined)
    return { control, port: front.port, env: createEnvironment(`http://127.0.0.1:${front.port}`) }
  const secure = await listenOnFreePort(
    createTlsServer({ key: tls.key, cert: tls.cert }, (socket) => readRequests(socket, handle)),
  )
  const way = await listenOnFreePort(
    createServer({ allowHalfOpen: true }, (socket) => forwardDelayed(socket, secure, tls.roundTripMs)),
  )
  const trust = { NODE_EXTRA_CA_CERTS: tls.certFile, REQUESTS_CA_BUNDLE: tls.certFile }
  return { control, port: way, env: { ...createEnvironment(`https://127.0.0.1:${way}`), ...trust } }
}

const createEnvironment = (origin: string): Readonly<Record<string, string>> => {
  const { sheet } = createBenchTimeline(0)(Date.parse(FIRST_RUN_AT))
  return {
    ...Object.fromEntries(
      builtInHosts.map((host) => [`SCRIPSTREAM_${host.toUpperCase()}_URL`, `${origin}/${host}`]),
    ),
    SCRIPSTREAM_SHEET_ID: sheet.id,
    SCRIPSTREAM_ASM_TAB_ID: sheet.asmTabId,
    SCRIPSTREAM_GSM_TAB_ID: sheet.gsmTabId,
  }
}

// Exits with its parent process.
process.stdin.on('end', () => process.exit()).resume()
console.log(JSON.stringify(await start()))
