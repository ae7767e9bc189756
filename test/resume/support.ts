import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom, NEVER, of, Subject, takeUntil, tap } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import type { RunOptions } from '../../src/engine/run-options.js'
import type { HttpRequest, Transport } from '../../src/http/transport.js'
import type { RunEvent } from '../../src/model/event.js'
import { isLost } from '../../src/model/outcome.js'
import type { RunReport } from '../../src/model/report.js'
import { EVENING, SETTINGS, stockNamed } from '../streams/support.js'
import { temporaryFolder } from '../support/folders.js'
import { createQuickCollector } from '../support/limits.js'
import { createOwnBytes } from '../support/own-bytes.js'

export const STOCKS = ['ALPHA', 'BETA', 'GAMMA', 'DELTA'].map(stockNamed)

/**
 * Streams of every kind: of one part, of one file for all stocks in the list's order and by date, and of a
 * file for each stock.
 */
export const STREAMS = [
  'fundamental-data',
  'new-announcements',
  'market-news',
  'company-filings',
  'all-ohlcv',
] as const

/** What a request is about, in a word or two: `/news BETA`. */
const nameOf = ({ url, body = '' }: HttpRequest): string => {
  const stock = STOCKS.find(({ Isin, Sid }) => body.includes(Isin) || body.includes(`"SEC_ID":"${Sid}"`))
  return `${new URL(url).pathname.split('/').at(-1)} ${stock?.Sym ?? 'all'}`
}

const answerTo = (request: HttpRequest, stocks: readonly object[]): unknown => {
  const [call, symbol] = nameOf(request).split(' ')
  const stock = STOCKS.find(({ Sym }) => Sym === symbol)
  const isin = stock?.Isin
  const days = [9, 10, 11, 12].map(
    (day) => Date.parse(`2026-02-${String(day).padStart(2, '0')}T00:00:00+05:30`) / 1_000,
  )
  switch (call) {
    case 'fetchdt':
      return { data: stocks }
    case 'fundamental':
      return { data: [{ isin, CV: { PE: `₹${stock?.Sid}` } }] }
    case 'announcements':
      return {
        data:
          symbol === 'BETA' ? null : ['2026-02-10', '2026-02-12'].map((date) => ({ events: symbol, date })),
      }
    case 'getLiveNews':
      return {
        data: {
          latest_news: symbol === 'GAMMA' ? [] : [{ news_object: { title: symbol }, publish_date: 1 }],
        },
      }
    case 'getDataH': {
      const prices = days.map(() => stock?.Sid)
      return { data: { Time: days, o: prices, h: prices, l: prices, c: prices, v: [1, 2, 3, 4] } }
    }
    default:
      return { data: [{ isin, news_date: '2026-02-12', caption: `${call} ${symbol}`, file_url: 'x' }] }
  }
}

export interface Tried {
  /** The requests, in order. */
  readonly requests: readonly string[]
  readonly events: readonly RunEvent[]
  /** Nothing if the run was broken off. */
  readonly report: RunReport | undefined
}

export interface Trying extends RunOptions {
  readonly out: string
  /** Requests that are never answered; the run is broken off when nothing else is going on. */
  readonly hangs?: (request: string) => boolean
  /** Requests that are answered with 404. */
  readonly fails?: (request: string) => boolean
  /** Answers instead of the usual ones. */
  readonly answers?: (request: string) => unknown
  /**
   * Requests that are answered with 500 for a while, which two stocks alone do not make the host's trouble.
   */
  readonly isAway?: (request: string) => boolean
  /** The time of the clock, and the instant of the run unless `asOf` is given; `EVENING` by default. */
  readonly now?: number
  /** Whether the day is kept; true by default. */
  readonly history?: boolean
  /** The master list; `STOCKS` by default. */
  readonly stocks?: readonly object[]
}

/**
 * Runs `STREAMS` into a folder; breaks the run off, as a crash would, once every request that is left hangs.
 */
export const tryRun = async ({
  out,
  hangs,
  fails,
  isAway,
  answers,
  now,
  history = true,
  stocks = STOCKS,
  ...options
}: Trying): Promise<Tried> => {
  const requests: string[] = []
  const hung: string[] = []
  const events: RunEvent[] = []
  const crash$ = new Subject<void>()
  const toBytes = createOwnBytes()
  const transport: Transport = (request) => {
    const name = nameOf(request)
    requests.push(name)
    if (hangs?.(name)) hung.push(name)
    if (hangs?.(name)) return NEVER
    return of({
      status: isAway?.(name) ? 500 : fails?.(name) ? 404 : 200,
      body: toBytes(JSON.stringify(answers?.(name) ?? answerTo(request, stocks)), request),
    })
  }
  const collector = createQuickCollector({
    settings: { ...SETTINGS, backoffMs: 0, history },
    storage: folder(out),
    transport,
    clock: () => now ?? EVENING,
    random: () => 0.5,
  })
  const event$ = collector
    .events({ ...(now === undefined ? { asOf: EVENING } : {}), only: [...STREAMS], ...options })
    .pipe(
      takeUntil(crash$),
      tap((event) => events.push(event)),
    )
  const run = lastValueFrom(event$)
  if (hangs !== undefined) {
    // No finished item lacks its line in a journal, for a while.
    for (let quiet = 0; quiet < 50; quiet++) {
      await new Promise((resolve) => setImmediate(resolve))
      const finished = events.filter((event) => event.type === 'item-finished' && !isLost(event)).length
      if (hung.length === 0 || linesIn(out) !== finished) quiet = 0
    }
    crash$.next()
  }
  const last = await run
  return { requests, events, report: last.type === 'run-finished' ? last.report : undefined }
}

const linesIn = (out: string): number =>
  (existsSync(join(out, PART, 'run.json')) ? journalsIn(out, PART) : journalsIn(out)).reduce(
    (lines, file) => lines + (readFileSync(file, 'utf8').match(/^\{"item":/gm)?.length ?? 0),
    0,
  )

/** The place of a run that is a part of an unfinished one. */
const PART = '.scripstream/part'

export const journalsIn = (out: string, place = '.scripstream'): readonly string[] => {
  const path = join(out, place, 'journals')
  return existsSync(path)
    ? readdirSync(path)
        .filter((name) => name.endsWith('.ndjson'))
        .sort()
        .map((name) => join(path, name))
    : []
}

export const copyOf = (path: string): string => {
  const copy = temporaryFolder()
  cpSync(path, copy, { recursive: true, preserveTimestamps: true })
  return copy
}

/**
 * Where lines begin, their first byte, their middle, and their end without its line feed: any other byte of a
 * line is as its middle.
 */
export const placesIn = (text: Buffer): readonly number[] => {
  const ends = [...text].flatMap((byte, at) => (byte === 10 ? [at] : []))
  return ends.flatMap((end, line) => {
    const begin = (ends[line - 1] ?? -1) + 1
    return [begin, begin + 1, Math.floor((begin + end) / 2), end]
  })
}
