import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createServer as createTlsServer } from 'node:tls'
import { builtInHosts } from '../../../src/model/settings.js'
import { createConditions } from '../../../src/simulator/conditions.js'
import { createHandler } from '../../../src/simulator/handler.js'
import { createRequestLog } from '../../../src/simulator/request-log.js'
import { streams } from '../../../streams/registry.js'
import { computeLatency, createBenchTimeline, FIRST_RUN_AT, fixed, type Latency, SEED } from './conditions.js'
import { forwardDelayed } from './delayed.js'
import { addPadding, createPreparedEndpoints } from './endpoints.js'
import { openFront } from './front.js'
import { createLine, type LineSpeed } from './line.js'
import { createOutages, type Outage } from './outage.js'
import type { ProviderStats } from './stats.js'

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

/** A message to the process: changes of the provider. It answers with its `ProviderStats`. */
export interface ProviderControl {
  readonly latency?: Latency
  /** The market's "now", ISO 8601 with an offset. */
  readonly asOf?: string
  /** The next outage; `null` ends the current one and plans none. */
  readonly outage?: Outage | null
  /** A slow line, shared by all later connections; `null` for none. */
  readonly line?: LineSpeed | null
  /** An endpoint that always answers 429; `null` for none. */
  readonly refuse?: string | null
  /** Makes the answers of an endpoint large; `null` for none. */
  readonly padding?: { readonly endpoint: string; readonly bytes: number } | null
  /** Resets all counts. */
  readonly reset?: boolean
}

/** The first message of the process. */
export interface ProviderReady {
  /** The port of the data. */
  readonly port: number
  /** The environment with which a collector uses this provider. */
  readonly env: Readonly<Record<string, string>>
}

const { stocks, namesFile, tls } = JSON.parse(process.argv[2] ?? '{}') as ProviderOptions
const marketAt = createBenchTimeline(stocks)
const simulated = createConditions({
  seed: SEED,
  latencyMs: 0,
  faults: [],
  limits: {},
  asOf: Date.parse(FIRST_RUN_AT),
  marketAt,
})
const log = createRequestLog()
const line = createLine()
let latency = fixed(0)
let latencies: Record<string, number> = {}
let cpu = process.cpuUsage()
let firstAt: number | undefined
let isSlow = false
let refused: string | null = null
let padding: ProviderControl['padding'] = null

const pad = (endpoint: string, sample: unknown): unknown =>
  typeof sample === 'string' && padding?.endpoint === endpoint ? addPadding(sample, padding.bytes) : sample

const endpoints = createPreparedEndpoints(
  streams.flatMap((stream) => stream.endpoints),
  stocks,
).map((endpoint) => ({
  ...endpoint,
  sample: (...given: Parameters<NonNullable<typeof endpoint.sample>>) =>
    pad(endpoint.name, endpoint.sample?.(...given)),
}))

const conditions: ReturnType<typeof createConditions> = {
  ...simulated,
  computeLatency: (endpoint, key) => {
    const name = String(endpoint)
    const ms = computeLatency(latency, name, toItem(String(key)))
    latencies[name] = (latencies[name] ?? 0) + ms
    return ms
  },
  findFault: ({ name }) => {
    const kind = outages.activeKind()
    if (kind === undefined) outages.countAnswer(name)
    if (kind === 'frozen') return { on: '*', mode: 'hang' }
    if (kind === '503') return { on: '*', mode: 'status', status: 503 }
    return refused === name ? { on: name, mode: 'status', status: 429 } : undefined
  },
}

/** The ISIN or Sid in a request, which its latency depends on; all of a request about neither. */
const toItem = (key: string): string =>
  /"(IN[A-Z0-9]{10})"|"SEC_ID":"(\w+)"/.exec(key)?.slice(1).join('') ?? key

const handle = createHandler(endpoints, conditions, log)
const server = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
  firstAt ??= Date.now()
  const { method = '', url = '', headers } = request
  text(request).then(
    (body) => handle({ method, url, headers, body }, response),
    () => response.destroy(),
  )
})

/** Serves a connection; over a slow line the bytes of its answers wait their turn. */
const serve = (socket: Socket): void => {
  socket.setNoDelay(true).on('error', () => socket.destroy())
  if (!isSlow) {
    server.emit('connection', socket)
    return
  }
  const slowed = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _, done) => {
      line.send(socket, chunk)
      done()
    },
  })
  socket.on('data', (chunk) => slowed.push(chunk)).on('close', () => slowed.destroy())
  server.emit('connection', slowed)
}

const front = await openFront(serve)
const outages = createOutages(front, namesFile)

const readStats = (): ProviderStats => {
  const { endpoints: asked, violations, unknown } = log.read()
  const { user, system } = process.cpuUsage(cpu)
  return {
    endpoints: Object.fromEntries(
      Object.entries(asked).map(([name, { requests, maxInFlight, items }]) => {
        const duplicates = requests - Object.keys(items).length
        return [name, { requests, maxInFlight, duplicates, latencyMs: latencies[name] ?? 0 }]
      }),
    ),
    violations: [...violations, ...unknown.map((request) => `${request} is unknown`)],
    firstAt,
    cpuMicros: user + system,
    outage: outages.span(),
  }
}

const reset = (): void => {
  log.reset()
  latencies = {}
  cpu = process.cpuUsage()
  firstAt = undefined
}

const change = async (control: ProviderControl): Promise<void> => {
  latency = control.latency ?? latency
  if (control.asOf !== undefined) simulated.change({ asOf: Date.parse(control.asOf) })
  if (control.reset) reset()
  if (control.line !== undefined) {
    line.setSpeed(control.line)
    isSlow = control.line !== null
  }
  if (control.padding !== undefined) padding = control.padding
  if (control.refuse !== undefined) refused = control.refuse
  if (control.outage !== undefined) await outages.plan(control.outage)
}

const listenOnFreePort = (listener: Server): Promise<number> =>
  new Promise((resolve) => {
    listener.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 }, () =>
      resolve((listener.address() as AddressInfo).port),
    )
  })

const start = async (): Promise<ProviderReady> => {
  if (tls === undefined) return { port: front.port, env: createEnvironment(`http://127.0.0.1:${front.port}`) }
  const secure = await listenOnFreePort(createTlsServer({ key: tls.key, cert: tls.cert }, serve))
  const port = await listenOnFreePort(
    createTcpServer({ allowHalfOpen: true }, (socket) => forwardDelayed(socket, secure, tls.roundTripMs)),
  )
  const trust = { NODE_EXTRA_CA_CERTS: tls.certFile, REQUESTS_CA_BUNDLE: tls.certFile }
  return { port, env: { ...createEnvironment(`https://127.0.0.1:${port}`), ...trust } }
}

const createEnvironment = (origin: string): Readonly<Record<string, string>> => {
  const { sheet } = marketAt(Date.parse(FIRST_RUN_AT))
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
process.on('disconnect', () => process.exit())
process.on(
  'message',
  (control: ProviderControl) => void change(control).then(() => process.send?.(readStats())),
)
process.send?.(await start())
