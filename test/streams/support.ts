import { lastValueFrom, map, of } from 'rxjs'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import type { RunOptions } from '../../src/engine/run-options.js'
import type { Transport } from '../../src/http/transport.js'
import type { RunReport, ScriptReport } from '../../src/model/report.js'
import type { SettingsInput } from '../../src/model/settings.js'
import { computeCheckDigit } from '../../src/model/stock.js'
import { toInstant } from '../../src/model/trading-day.js'
import { createScriptedProvider, scriptedUrls } from '../../src/testing.js'
import { createQuickCollector, type TestSettings } from '../support/limits.js'
import { createOwnBytes } from '../support/own-bytes.js'

/** The evening of Thursday, 12 February 2026. */
export const EVENING = toInstant('2026-02-12', '20:00')

/** A request as a fake provider sees it. `path` begins with the host's name: `/static/staticscanx/deal`. */
export interface SentRequest {
  readonly path: string
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

/** Answers a request: a number is a status, text a 200 as it is, anything else a 200 as JSON. */
export type Answer = (request: SentRequest) => unknown

/** A valid ISIN. */
export const isinOf = (number: number): string => {
  const body = `INE${String(number).padStart(8, '0')}`
  return `${body}${computeCheckDigit(body)}`
}

export interface FakeStock {
  readonly Sym: string
  readonly Isin: string
  readonly DispSym: string
  readonly Sid: number
  readonly FnoFlag: number
}

export const stockNamed = (Sym: string, place: number): FakeStock => ({
  Sym,
  Isin: `INE${String(place).padStart(9, '0')}`,
  DispSym: `${Sym} Limited`,
  Sid: 1_000 + place,
  FnoFlag: 0,
})

export const ALPHA = stockNamed('ALPHA', 1)
export const BETA = stockNamed('BETA', 2)

export const jsonOf = (text: string): unknown => JSON.parse(text)

const isMaster = ({ path, body }: SentRequest): boolean =>
  path === '/analytics/customscan/fetchdt' && JSON.stringify(body).includes('"Isin"')

/** A transport that answers at once, with the requests that it got. */
export const fakeProvider = (
  answer: Answer,
): { readonly send: Transport; readonly requests: readonly SentRequest[] } => {
  const requests: SentRequest[] = []
  const toBytes = createOwnBytes()
  const { transport } = createScriptedProvider(({ host, path, body, headers }) => {
    const request = { path: `/${host}${path}`, headers, body }
    requests.push(request)
    return of(answer(request))
  })
  const send: Transport = (request) =>
    transport(request).pipe(map((reply) => ({ ...reply, body: toBytes(reply.body, request) })))
  return { send, requests }
}

export interface Collecting extends RunOptions {
  readonly stream: string
  readonly answer: Answer
  /** Rows of the master list; ALPHA and BETA if absent. */
  readonly master?: readonly object[]
  /** The total that the master list reports; it has none if absent. */
  readonly tot_rec?: unknown
  readonly files?: MemoryFiles
  /** Told of every request, the master list's too. */
  readonly watch?: (request: SentRequest) => void
  readonly settings?: TestSettings
}

export interface Collected {
  readonly report: RunReport
  /** The part of the report that is about the stream. */
  readonly script: ScriptReport
  /** All requests except those for the master list. */
  readonly requests: readonly SentRequest[]
  readonly files: MemoryFiles
  /** Text of a file; `undefined` if there is none. */
  readonly text: (file: string) => string | undefined
}

/**
 * Settings whose hosts are named like the services, without back-off, and without waiting for a host that is
 * down.
 */
export const SETTINGS = {
  urls: scriptedUrls,
  options: { 'surveillance-lists': { sheetId: 'SHEET', asmTabId: '11', gsmTabId: '22' } },
} satisfies SettingsInput

/** The same options with another spreadsheet. */
export const withSheet = (sheetId: string) => ({
  'surveillance-lists': { ...SETTINGS.options['surveillance-lists'], sheetId },
})

/** One run of one stream over answers that a test gives. */
export const collect = async ({
  stream,
  answer,
  master = [ALPHA, BETA],
  tot_rec,
  files = new Map(),
  settings,
  watch,
  ...options
}: Collecting): Promise<Collected> => {
  const provider = fakeProvider((request) => {
    watch?.(request)
    return isMaster(request) ? { data: master, tot_rec } : answer(request)
  })
  const collector = createQuickCollector({
    settings: { ...SETTINGS, ...settings },
    storage: memory(files),
    transport: provider.send,
    clock: () => Math.max(EVENING, options.asOf ?? EVENING),
    random: () => 0.5,
  })
  const report = await lastValueFrom(collector.run({ asOf: EVENING, only: [stream], ...options }))
  const script = report.scripts[stream]
  if (script === undefined) throw new Error(`no ${stream} in the report`)
  return {
    report,
    script,
    requests: provider.requests.filter((one) => !isMaster(one)),
    files,
    text: (file) => files.get(file)?.text,
  }
}

/** The text of a JSON array as it is stored. */
export const arrayOf = (...records: readonly unknown[]): string =>
  records.length === 0 ? '[]\n' : `[\n${records.map((record) => JSON.stringify(record)).join(',\n')}\n]\n`

/** Puts a text into files as an earlier run would have left it. */
export const withFile = (file: string, text: string, asOf = EVENING - 86_400_000): MemoryFiles =>
  new Map([[file, { text, asOf }]])
