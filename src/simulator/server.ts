/// <reference lib="esnext.disposable" preserve="true" />
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import type { AnyEndpoint } from '../http/endpoint.js'
import { formatError } from '../model/errors.js'
import type { SampleMarket } from '../model/market.js'
import {
  type BuiltInHost,
  builtInHosts,
  isBuiltInHost,
  listEndpointHosts,
  type Settings,
  toAddressVariable,
} from '../model/settings.js'
import { checkOptionNames, parseOptions } from '../model/settings-issues.js'
import { createJsonAnswer, type SimulatedAnswer } from './answers.js'
import { type Control, createConditions, createControlSchema, type Fault, type Limits } from './conditions.js'
import { type EventOptions, eventKinds } from './events.js'
import { createHandler, respond } from './handler.js'
import { createTimeline, type Timeline, toSheetOptions } from './market.js'
import { createRequestLog, type SimulatorStats } from './request-log.js'

/** Options of the simulator; only `endpoints` is required. */
export interface SimulatorOptions {
  readonly endpoints: readonly AnyEndpoint[]
  /** Number of listed stocks; 500 if absent. */
  readonly stocks?: number | undefined
  readonly seed?: number | undefined
  /** Milliseconds before each answer, varied by a quarter up and down; 0 if absent. */
  readonly latencyMs?: number | undefined
  readonly faults?: readonly Fault[] | undefined
  /** The rate limit of each host; unlimited if absent. */
  readonly limits?: Limits | undefined
  /** 0 or absent: any free port. */
  readonly port?: number | undefined
  /**
   * The market's "now", epoch milliseconds; a function is rounded down to whole minutes. `Date.now` if
   * absent.
   */
  readonly asOf?: number | (() => number) | undefined
  readonly exchange?: string | undefined
  readonly candleDays?: number | undefined
  /** Plans events such as splits, renames and late filings; `true` for all kinds. */
  readonly events?: boolean | EventOptions | undefined
}

/** A running simulator of the provider, until it is closed. */
export interface Simulator {
  readonly origin: string
  /** The settings with which a collector uses this simulator. */
  readonly settings: {
    readonly urls: Readonly<Record<BuiltInHost, string>>
    readonly hosts: Settings['hosts']
    readonly options: Settings['options']
  }
  /** The same as lines of an environment file, with `SIMULATOR=` and the origin. */
  readonly environment: readonly string[]
  /** The market now. */
  readonly market: SampleMarket
  /** The planned events of the days from `from` to `to`, both included, oldest first. */
  plan: Timeline['plan']
  stats(): SimulatorStats
  /**
   * Changes the conditions.
   * @throws UsageError for an invalid change
   */
  control(change: Control): void
  /** Aborts all requests in flight; resolves when the port is free again. */
  close(): Promise<void>
  /** The same as `close()`. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a simulated provider on loopback, with a path prefix for each host (`/static/…`). Requests are
 * validated by the input schemas of the endpoints. `GET /__stats` and `POST /__control` do the same as the
 * methods.
 *
 * @throws UsageError for an unknown or invalid option
 * @example
 * const simulator = await serveSimulator({ endpoints: streams.flatMap(({ endpoints }) => endpoints), stocks: 50 })
 * const collector = createCollector({ settings: simulator.settings })
 */
export const serveSimulator = async (options: SimulatorOptions): Promise<Simulator> => {
  const schema = createControlSchema(options.endpoints)
  checkOptions(options, schema)
  const {
    seed = 1,
    stocks = 500,
    exchange = 'NSE',
    candleDays,
    events,
    asOf = Date.now,
    latencyMs = 0,
    faults = [],
    limits = {},
  } = options
  const start = typeof asOf === 'number' ? asOf : asOf()
  const marketAt = createTimeline({ seed, stocks, exchange, candleDays, events, asOf: start })
  const hosts = listEndpointHosts(options.endpoints)
  const conditions = createConditions({ seed, latencyMs, faults, limits, asOf, marketAt })
  const requestLog = createRequestLog()
  const control = (change: Control) => {
    const checked = parseOptions(schema, change, 'the change of the simulator is invalid')
    conditions.change(checked)
    if (checked.reset) requestLog.reset()
  }
  const own: Record<string, (body: string) => SimulatedAnswer> = {
    'GET /__stats': () => createJsonAnswer(200, requestLog.read()),
    'POST /__control': (body) => applyControl(control, body),
  }
  const handle = createHandler(options.endpoints, conditions, requestLog)
  const server = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
    const { method = '', url = '', headers } = request
    const answerOwn = own[`${method} ${url}`]
    text(request).then(
      (body) =>
        answerOwn
          ? respond({ response, answer: answerOwn(body) })
          : handle({ method, url, headers, body }, response),
      () => response.destroy(), // the client disconnected in the middle of its body
    )
  })
  const origin = await listenOnLoopback(server, options.port ?? 0)
  return {
    origin,
    ...describeAddresses(origin, hosts, conditions.market()),
    get market() {
      return conditions.market()
    },
    plan: marketAt.plan,
    stats: requestLog.read,
    control,
    close: () => closeServer(server),
    [Symbol.asyncDispose]: () => closeServer(server),
  }
}

/**
 * Checks what the compiler does not see in JavaScript. @throws UsageError with the likely name for a mistyped
 * one
 */
const checkOptions = (
  options: SimulatorOptions,
  { shape: { reset: _, ...shape } }: ReturnType<typeof createControlSchema>,
): void => {
  const count = z.int().min(0).optional()
  const instant = z.union(
    [z.number(), z.custom((value) => typeof value === 'function')],
    'must be epoch milliseconds, or a function',
  )
  const kinds = z.array(z.enum(eventKinds)).optional()
  const events = z
    .union([z.boolean(), z.strictObject({ kinds, perSession: z.number().positive().max(10).optional() })])
    .optional()
  const schema = z.object({
    ...shape,
    endpoints: z.array(z.unknown()),
    exchange: z.string().optional(),
    asOf: instant.optional(),
    events,
    stocks: count,
    seed: count,
    port: count,
    candleDays: count,
  })
  checkOptionNames(options, schema.shape)
  parseOptions(schema, options, 'the simulator has invalid options')
}

const applyControl = (control: (change: Control) => void, body: string): SimulatedAnswer => {
  try {
    control(JSON.parse(body))
    return createJsonAnswer(200, {})
  } catch (error) {
    return createJsonAnswer(400, { message: formatError(error) })
  }
}

const describeAddresses = (origin: string, hosts: readonly string[], { sheet }: SampleMarket) => ({
  settings: {
    urls: Object.fromEntries(builtInHosts.map((host) => [host, `${origin}/${host}`])) as Record<
      BuiltInHost,
      string
    >,
    hosts: Object.fromEntries(
      hosts.flatMap((host) =>
        isBuiltInHost(host) ? [] : [[host, { url: `${origin}/${host}`, headers: {} }]],
      ),
    ),
    options: toSheetOptions(sheet),
  },
  environment: [
    ...hosts.map((host) => `${toAddressVariable(host)}=${origin}/${host}`),
    `SCRIPSTREAM_SHEET_ID=${sheet.id}`,
    `SCRIPSTREAM_ASM_TAB_ID=${sheet.asmTabId}`,
    `SCRIPSTREAM_GSM_TAB_ID=${sheet.gsmTabId}`,
    `SIMULATOR=${origin}`,
  ],
})

const listenOnLoopback = (server: Server, port: number) =>
  new Promise<string>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host: '127.0.0.1', backlog: 1_024 }, () => {
      server.off('error', reject)
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    })
  })

const closeServer = (server: Server) =>
  new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
