import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { hosts } from '../../../src/model/settings.js'
import { streams } from '../../../streams/index.js'
import { createAfter } from './after.js'
import { createAnswers } from './answers.js'
import { delayed } from './delayed.js'
import { type Latency, latencyOf } from './latency.js'
import { createLedger } from './ledger.js'
import { EVENING, marketOf } from './market.js'
import { type Asked, readRequests } from './requests.js'
import { jsonResponse } from './template.js'

/** How the process is started: its only argument, as JSON. */
export interface ProviderOptions {
  readonly stocks: number
  /** Serve over TLS, behind a way that takes so long there and back. */
  readonly tls?: { readonly key: string; readonly cert: string; readonly certFile: string; readonly roundTripMs: number }
}

/** What can be changed while it runs. */
export interface ProviderControl {
  readonly latency?: Latency
  /** The market's "now", ISO 8601 with an offset. */
  readonly asOf?: string
  /** Forgets all counts. */
  readonly reset?: boolean
}

/** The one line that it prints when it is ready, as JSON. */
export interface ProviderReady {
  /** For `GET /__stats` and `POST /__control`; never delayed, never over TLS. */
  readonly control: string
  /** The environment that leads a collector to it. */
  readonly env: Readonly<Record<string, string>>
}

const options = JSON.parse(process.argv[2] ?? '{}') as ProviderOptions
const { answer, moveTo } = createAnswers(
  streams.flatMap(({ endpoints }) => endpoints),
  options.stocks,
)
const ledger = createLedger()
const after = createAfter()
let latency: Latency = { kind: 'fixed', ms: 0 }

const handle = (asked: Asked, socket: Socket): void => {
  if (asked.path.startsWith('/__')) {
    socket.write(own(asked))
    return
  }
  const { endpoint, key, response, violation } = answer(asked)
  if (violation !== undefined) ledger.violated(violation)
  const ms = latencyOf(latency, endpoint, key)
  const answered = ledger.asked(endpoint, key, ms)
  after(ms, () => {
    answered()
    if (!socket.destroyed) socket.write(response())
  })
}

const own = ({ path, body }: Asked): Buffer => {
  if (path === '/__stats') return jsonResponse(ledger.stats())
  const control = JSON.parse(body) as ProviderControl
  latency = control.latency ?? latency
  if (control.asOf !== undefined) moveTo(Date.parse(control.asOf))
  if (control.reset) ledger.reset()
  return jsonResponse({})
}

const listening = (server: ReturnType<typeof createServer>): Promise<number> =>
  new Promise((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 }, () => resolve((server.address() as AddressInfo).port))
  })

const start = async (): Promise<ProviderReady> => {
  const port = await listening(createServer((socket) => readRequests(socket, handle)))
  const control = `http://127.0.0.1:${port}`
  const { tls } = options
  if (tls === undefined) return { control, env: environment(control) }
  const secure = await listening(createTlsServer({ key: tls.key, cert: tls.cert }, (socket) => readRequests(socket, handle)))
  const way = await listening(createServer({ allowHalfOpen: true }, (socket) => delayed(socket, secure, tls.roundTripMs)))
  const trust = { NODE_EXTRA_CA_CERTS: tls.certFile, REQUESTS_CA_BUNDLE: tls.certFile }
  return { control, env: { ...environment(`https://127.0.0.1:${way}`), ...trust } }
}

const environment = (origin: string): Readonly<Record<string, string>> => {
  const { sheet } = marketOf(0)(Date.parse(EVENING))
  return {
    ...Object.fromEntries(hosts.map((host) => [`SCRIPSTREAM_${host.toUpperCase()}_URL`, `${origin}/${host}`])),
    SCRIPSTREAM_SHEET_ID: sheet.id,
    SCRIPSTREAM_ASM_TAB_ID: sheet.asmTabId,
    SCRIPSTREAM_GSM_TAB_ID: sheet.gsmTabId,
  }
}

// Goes with whoever started it.
process.stdin.on('end', () => process.exit()).resume()
console.log(JSON.stringify(await start()))
