import { asyncScheduler, defer, filter, map, type Observable, of } from 'rxjs'
import { type MemoryFiles, memory } from '../sinks/memory.js'
import { createCollector } from './collector.js'
import { type Collected, type Item, skipped } from './model/outcome.js'
import type { ScriptReport } from './model/report.js'
import { type Host, hosts, type SettingsInput } from './model/settings.js'
import { type Stock, stockItems } from './model/stock.js'
import { instantOf } from './model/trading-day.js'
import { defineStream, type StreamDefinition } from './pipeline/define-stream.js'
import { MASTER, once } from './pipeline/work.js'
import type { HttpReply, Transport } from './provider/transport.js'

/** A request as a scripted provider sees it. */
export interface Asked {
  /** The service that it went to. */
  readonly host: Host
  /** Below the service's address, with its query. */
  readonly path: string
  /** What was posted; nothing for a GET. */
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  /** When it was sent, in milliseconds: the frame, on virtual time. */
  readonly at: number
}

/**
 * Answers a request by one value: a number is that status without a body, text a 200 as it is, anything else a 200 as JSON. An error is what
 * befell the request, such as a `TransportError`.
 */
export type Answers = (asked: Asked) => Observable<unknown>

/** A provider in the hands of a test. */
export interface ScriptedProvider {
  readonly transport: Transport
  /** Everything that was asked so far, further attempts included. */
  readonly asked: readonly Asked[]
}

/** Addresses under which a scripted provider tells the services apart. */
export const scriptedUrls = Object.fromEntries(hosts.map((host) => [host, `http://${host}`])) as Readonly<Record<Host, string>>

/** A provider that answers what the test says, for collectors whose `urls` are `scriptedUrls`. No socket is opened. */
export const scriptedProvider = (answers: Answers): ScriptedProvider => {
  const asked: Asked[] = []
  const transport: Transport = ({ url, body, headers }) =>
    defer(() => {
      const { hostname, pathname, search } = new URL(url)
      const posted: unknown = body === undefined ? undefined : JSON.parse(body)
      const one: Asked = { host: hostname as Host, path: pathname + search, body: posted, headers, at: asyncScheduler.now() }
      asked.push(one)
      return answers(one).pipe(map(replyOf))
    })
  return { transport, asked }
}

const replyOf = (answer: unknown): HttpReply => {
  if (typeof answer === 'number') return { status: answer, body: Buffer.alloc(0) }
  return { status: 200, body: Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer)) }
}

/** What a stream is tried on. */
export interface TrialOptions {
  readonly answers: Answers
  /** The listed stocks, where the stream works on them; `ALPHA` and `BETA` if absent. */
  readonly stocks?: readonly Stock[]
  /** What the stream that it follows offers, where that is not the master list. */
  readonly offered?: readonly Item[]
  readonly settings?: SettingsInput
  /** "Now", epoch milliseconds; the evening of Thursday, 12 February 2026, in India, if absent. */
  readonly asOf?: number
  /** What an earlier run left. */
  readonly files?: MemoryFiles
}

/** One stream over answers of a test. Both observables are cold: each subscription runs the stream anew. */
export interface Trial<R> {
  /** Its items as they settle, as of `collector.stream`. */
  readonly item$: Observable<Collected<R>>
  /** Its part of the report of a run that stores what it found in `files`. */
  readonly report$: Observable<ScriptReport>
  readonly files: MemoryFiles
  readonly asked: readonly Asked[]
}

/**
 * Runs one stream as a run would, gate, retries and time limits included, on answers of a test and without the streams that it follows. Time
 * is that of RxJS' schedulers: within `TestScheduler.run` it is virtual, and pauses cost nothing.
 */
export const trialOf = <R>(stream: StreamDefinition<string, R>, { answers, ...options }: TrialOptions): Trial<R> => {
  const { stocks = [ALPHA, BETA], asOf = instantOf('2026-02-12', '20:00'), files = new Map() } = options
  const provider = scriptedProvider(answers)
  const source = stream.work.of
  const leading = source === undefined ? [] : [standIn(source, source === MASTER ? stockItems(stocks) : (options.offered ?? []))]
  const collector = createCollector({
    settings: { urls: scriptedUrls, sheetId: 'SHEET', asmTabId: '1', gsmTabId: '2', ...options.settings },
    streams: [...leading, stream],
    storage: memory(files),
    transport: provider.transport,
    clock: () => asyncScheduler.now(),
    random: () => 0.5,
  })
  return {
    item$: collector.stream(stream.name, { asOf }) as Observable<Collected<R>>,
    report$: collector.run({ asOf }).pipe(
      map(({ scripts }) => scripts[stream.name]),
      filter((script) => script !== undefined),
    ),
    files,
    asked: provider.asked,
  }
}

const stockNamed = (symbol: string, place: number): Stock => ({
  Symbol: symbol,
  ISIN: `INE${String(place).padStart(9, '0')}`,
  Name: `${symbol} Limited`,
  Sid: String(1_000 + place),
  FnoFlag: 0,
})

const ALPHA = stockNamed('ALPHA', 1)
const BETA = stockNamed('BETA', 2)

/** Takes the place of a stream that another one follows: offers what that would have found, asks and writes nothing. */
const standIn = (name: string, items: readonly Item[]): StreamDefinition =>
  defineStream({
    name,
    summary: 'what the test gives',
    phase: 'core',
    workers: 1,
    timeoutMs: 1_000,
    endpoints: [],
    work: once(() => of(skipped)),
    offers: () => items,
    outputs: [{ shape: 'array-per-item', file: `${name}.json` }],
  })
