import { defer, map, type Observable, of, tap, throwError } from 'rxjs'
import { z } from 'zod'
import { memory } from '../../sinks/memory.js'
import { type Collector, type CollectorOptions, createCollectorWith } from '../../src/collector.js'
import {
  defineStream,
  MASTER,
  once,
  perStock,
  type StreamDefinition,
} from '../../src/engine/define-stream.js'
import { json } from '../../src/http/answer.js'
import { post } from '../../src/http/endpoint.js'
import type { HttpReply, HttpRequest, Transport } from '../../src/http/transport.js'
import { TransportError } from '../../src/model/errors.js'
import { createResult } from '../../src/model/outcome.js'
import { Rows } from '../../src/model/row-schema.js'
import { toStockItems, toStocks } from '../../src/model/stock.js'
import { splitLimits, type TestSettings } from './limits.js'
import type { Context } from './marbles.js'

/** An endpoint whose requests are logged as `{name} {of}`, such as `news A`. */
export const createCall = (name: string) =>
  post({
    name,
    host: 'static',
    path: `/${name}`,
    input: z.strictObject({ of: z.string() }),
    read: (text) => json(Rows)(text).data ?? [],
    sample: () => undefined,
  })

type Facts = Partial<Omit<StreamDefinition, 'name'>>

/** A stream of phase 2 with one request per stock. */
export const tiny = (name: string, facts: Facts = {}): StreamDefinition =>
  defineStream({
    name,
    summary: `the ${name}`,
    phase: 'enrichment',
    workers: 2,
    timeoutMs: 30_000,
    endpoints: [createCall(name)],
    work: perStock((stock, { ask }) =>
      ask(createCall(name), { of: stock.Symbol }).pipe(map((rows) => createResult(rows))),
    ),
    outputs: [{ shape: 'array-per-item', file: `${name}/{SYMBOL}.json` }],
    ...facts,
  })

/** A stream with a single request. */
export const tinyOnce = (name: string, facts: Facts = {}): StreamDefinition =>
  tiny(name, {
    work: once(({ ask }) => ask(createCall(name), { of: 'all' }).pipe(map((rows) => createResult(rows)))),
    ...facts,
  })

/** The master list, requested as `master-data all`. */
export const tinyMaster = tinyOnce(MASTER, { phase: 'core', offers: (rows) => toStockItems(toStocks(rows)) })

export const ok = (...rows: readonly object[]): HttpReply => ({
  status: 200,
  body: Buffer.from(JSON.stringify({ data: rows })),
})
export const row = ok({ Close: 1 })
export const masterList = (...symbols: readonly string[]): HttpReply =>
  ok(...symbols.map((Sym) => ({ Sym, Isin: `IN${Sym}`, DispSym: Sym, Sid: Sym })))
export const status = (code: number, retryAfter?: string): HttpReply => ({
  status: code,
  body: Buffer.from(''),
  ...(retryAfter === undefined ? {} : { retryAfter }),
})
export const page: HttpReply = { status: 200, body: Buffer.from('<!doctype html><title>Sorry</title>') }
export const reset = (): Observable<never> => throwError(() => new TransportError('reset', 'gone'))

/** The provider's answer to a request, which is named as by `callOf`. */
export type Answers = (call: string) => Observable<HttpReply>

export interface Tiny extends Omit<Partial<CollectorOptions>, 'streams' | 'settings'> {
  readonly streams: readonly StreamDefinition[]
  readonly answers?: Answers
  /** The symbols of the master list, which is returned at once. */
  readonly stocks?: readonly string[]
  readonly settings?: TestSettings
}

export interface TinyCollector extends Collector {
  /** Every request with its frame: `0 news A`. */
  readonly requested: readonly string[]
  /** Every request that was aborted before its answer, with the frame. */
  readonly dropped: readonly string[]
  /** Every request that was answered, with the frame. */
  readonly answered: readonly string[]
}

const describeCall = ({ url, body }: HttpRequest): string => {
  const { of: whom } = JSON.parse(body ?? '{}') as { readonly of: string }
  return `${new URL(url).pathname.slice(1)} ${whom}`
}

/**
 * A collector on the virtual time of a test: `tinyMaster` and the given streams, memory storage, and a
 * provider that the test controls.
 */
export const tinyCollector = (
  m: Context,
  { streams, answers, stocks = ['A', 'B', 'C'], settings, ...options }: Tiny,
): TinyCollector => {
  const [asked, answered, dropped]: [string[], string[], string[]] = [[], [], []]
  const transport: Transport = (request) => {
    const call = describeCall(request)
    const reply$ =
      call === `${MASTER} all` && stocks.length > 0 ? of(masterList(...stocks)) : (answers?.(call) ?? of(row))
    const note = (log: string[]): void => void log.push(`${m.scheduler.now()} ${call}`)
    return defer(() => {
      let isAnswered = false
      const answer = (): void => {
        isAnswered = true
        note(answered)
      }
      note(asked)
      return reply$.pipe(tap({ next: answer, error: answer, unsubscribe: () => isAnswered || note(dropped) }))
    })
  }
  // Do not wait during outages, unless a test sets it.
  const given = splitLimits({ urls: { static: 'http://provider.test' }, downMs: 0, ...settings })
  const collector = createCollectorWith(given.limits, {
    settings: given.settings,
    streams: [tinyMaster, ...streams],
    storage: memory(),
    transport,
    clock: () => m.scheduler.now(),
    random: () => 0.5,
    ...options,
  })
  return { ...collector, requested: asked, answered, dropped }
}
