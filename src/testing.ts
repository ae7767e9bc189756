/**
 * Streams on scripted answers and virtual time, for marble tests; and whole daily runs from a seed, with
 * everything that can go wrong.
 *
 * @module scripstream/testing
 * @public
 */
import { asyncScheduler, defer, filter, map, type Observable, of } from 'rxjs'
import { type MemoryFiles, memory } from '../sinks/memory.js'
import { createCollector } from './collector.js'
import { DAYS, defineStream, MASTER, once, type StreamDefinition } from './engine/define-stream.js'
import type { HttpReply, Transport } from './http/transport.js'
import { type Item, type PublicOutcome, skippedResult } from './model/outcome.js'
import type { ScriptReport } from './model/report.js'
import {
  type BuiltInHost,
  builtInHosts,
  type Host,
  isBuiltInHost,
  type SettingsInput,
} from './model/settings.js'
import { type Stock, toStockItems } from './model/stock.js'
import { toInstant } from './model/trading-day.js'

export { SIMULATED_FAULTS, type SimulatedFault, SimulationError } from './simulation/seed.js'
export { type SimulationOptions, type SimulationResult, simulate } from './simulation/simulate.js'

/** A request that a scripted provider received. */
export interface ScriptedRequest {
  /** The service. */
  readonly host: Host
  /** The path below the service's address, with the query. */
  readonly path: string
  /** The posted JSON; undefined for a GET. */
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  /** When it was sent, in milliseconds; the frame on virtual time. */
  readonly at: number
}

/**
 * Answers a request with one value: a number is a status without a body, a text is the body of a 200,
 * anything else is a 200 as JSON. An error is the failure of the request, such as a `TransportError`.
 */
export type Answers = (asked: ScriptedRequest) => Observable<unknown>

/** A provider whose answers a test defines. */
export interface ScriptedProvider {
  readonly transport: Transport
  /** All requests so far, including retries. */
  readonly requests: readonly ScriptedRequest[]
}

/** The addresses by which a scripted provider distinguishes the services. */
export const scriptedUrls = Object.fromEntries(
  builtInHosts.map((host) => [host, `http://${host}`]),
) as Readonly<Record<BuiltInHost, string>>

/**
 * A provider with scripted answers, for collectors whose `urls` are `scriptedUrls`. Opens no socket.
 *
 * @example
 * const { transport, requests } = createScriptedProvider(() => of({ data: [] }))
 * createCollector({ settings: { urls: scriptedUrls }, transport, storage: memory() })
 */
export const createScriptedProvider = (answers: Answers): ScriptedProvider => {
  const asked: ScriptedRequest[] = []
  const places = new Map<string, number>()
  const transport: Transport = ({ url, body, headers }) =>
    defer(() => {
      const place = places.get(url + body) ?? places.size
      places.set(url + body, place)
      const { hostname, pathname, search } = new URL(url)
      const posted: unknown = body === undefined ? undefined : JSON.parse(body)
      const one: ScriptedRequest = {
        host: hostname,
        path: pathname + search,
        body: posted,
        headers,
        at: asyncScheduler.now(),
      }
      asked.push(one)
      return answers(one).pipe(map((answer) => toReply(answer, place)))
    })
  return { transport, requests: asked }
}

/** No two requests get the same bytes, which a run refuses: line ends behind a JSON make no other answer. */
const toReply = (answer: unknown, place: number): HttpReply => {
  if (typeof answer === 'number') return { status: answer, body: Buffer.alloc(0) }
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer) + '\n'.repeat(place)
  return { status: 200, body: Buffer.from(text) }
}

/** The input of a trial. */
export interface TrialOptions {
  readonly answers: Answers
  /** The listed stocks, if the stream works on them. Default: `ALPHA` and `BETA`. */
  readonly stocks?: readonly Stock[] | undefined
  /** The items of the stream that it follows, if that is not the master list. */
  readonly offered?: readonly Item[] | undefined
  readonly settings?: SettingsInput | undefined
  /** "Now", epoch milliseconds. Default: Thursday, 12 February 2026, 20:00 in India. */
  readonly asOf?: number | undefined
  /** The files of an earlier run. */
  readonly files?: MemoryFiles | undefined
}

/** One stream on scripted answers. Both observables are cold: each subscription runs the stream again. */
export interface Trial<R> {
  /** The outcomes of its items, as of `collector.stream`. */
  readonly item$: Observable<PublicOutcome<R>>
  /** Its part of the report of a run that stores its outputs in `files`. */
  readonly report$: Observable<ScriptReport>
  readonly files: MemoryFiles
  readonly requests: readonly ScriptedRequest[]
}

/**
 * Runs one stream on scripted answers, with the limiter, retries and timeouts of a real run but without the
 * streams that it follows. Time comes from RxJS' schedulers: within `TestScheduler.run` it is virtual, and
 * pauses take no time.
 *
 * @example createTrial(chains, { answers: () => of(404) }).item$.subscribe(({ status }) => console.log(status))
 */
export const createTrial = <R>(
  stream: StreamDefinition<string, R>,
  { answers, ...options }: TrialOptions,
): Trial<R> => {
  const { stocks = TRIAL_STOCKS, asOf = toInstant('2026-02-12', '20:00'), files = new Map() } = options
  const provider = createScriptedProvider(answers)
  let start: number | undefined
  const source = stream.work.of
  const leading =
    source === undefined || source === DAYS
      ? []
      : [createSourceStream(source, source === MASTER ? toStockItems(stocks) : (options.offered ?? []))]
  const collector = createCollector({
    settings: {
      urls: scriptedUrls,
      hosts: scriptOwnHosts(stream),
      options: { 'surveillance-lists': { sheetId: 'SHEET', asmTabId: '1', gsmTabId: '2' } },
      ...options.settings,
    },
    streams: [...leading, stream],
    storage: memory(files),
    transport: provider.transport,
    // It begins at `asOf`, whatever the time of the scheduler is: `asOf` is never in the future.
    clock: () => {
      start ??= asyncScheduler.now()
      return asOf + Math.max(0, asyncScheduler.now() - start)
    },
    random: () => 0.5,
  })
  return {
    item$: collector.stream(stream.name, { asOf }) as Observable<PublicOutcome<R>>,
    report$: collector.run({ asOf }).pipe(
      map(({ scripts }) => scripts[stream.name]),
      filter((script) => script !== undefined),
    ),
    files,
    requests: provider.requests,
  }
}

const scriptOwnHosts = ({ endpoints }: StreamDefinition): Record<string, string> =>
  Object.fromEntries(endpoints.flatMap(({ host }) => (isBuiltInHost(host) ? [] : [[host, `http://${host}`]])))

const createStock = (symbol: string, index: number): Stock => ({
  Symbol: symbol,
  ISIN: `INE${String(index).padStart(9, '0')}`,
  Name: `${symbol} Limited`,
  Sid: String(1_000 + index),
  FnoFlag: 0,
})

const TRIAL_STOCKS = [createStock('ALPHA', 1), createStock('BETA', 2)]

/** Replaces a stream that another one follows: offers the given items, without requests or outputs. */
const createSourceStream = (name: string, items: readonly Item[]): StreamDefinition =>
  defineStream({
    name,
    summary: 'the items of the test',
    phase: 'core',
    workers: 1,
    timeoutMs: 1_000,
    endpoints: [],
    work: once(() => of(skippedResult)),
    offers: () => items,
    outputs: [{ shape: 'array-per-item', file: `${name}.json` }],
  })
