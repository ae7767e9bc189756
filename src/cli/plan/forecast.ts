import { resolve } from 'node:path'
import { catchError, defer, forkJoin, map, type Observable, of, switchMap, throwError } from 'rxjs'
import type { RunOptions } from '../../collector.js'
import { isLoss } from '../../model/errors.js'
import type { RunReport } from '../../model/report.js'
import { isRow } from '../../model/row.js'
import type { Settings } from '../../model/settings.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { planRun } from '../../pipeline/plan.js'
import { identityOf } from '../../pipeline/record.js'
import type { Stored } from '../../pipeline/storage.js'
import { MASTER } from '../../pipeline/work.js'
import { type Footprint, footprintOf, type Latency, latencyIn, limitIn, timeOf, USUAL_LATENCY_MS, wholeTime } from './estimate.js'
import { createListing, type Worklist } from './items.js'
import { MEASURED_REQUESTS } from './measured.js'
import { type Demand, demandsOf, requestsOf } from './requests.js'
import type { Span } from './span.js'
import { type Standing, standingOf } from './standing.js'

/** The input of a forecast. */
export interface Forecasting {
  readonly streams: readonly StreamDefinition[]
  readonly settings: Settings
  readonly stored: Stored
  readonly run: Pick<RunOptions, 'only' | 'skip' | 'symbols' | 'asOf' | 'fresh' | 'variant'>
  /** Number of stocks, if the folder has no master list. */
  readonly stocks: number | undefined
  /** The time of a request, if given or simulated. */
  readonly latency: Latency | undefined
  /** The current instant, epoch milliseconds. */
  readonly now: number
}

export interface StreamForecast {
  readonly demand: Demand
  readonly stream: StreamDefinition
  readonly requests: Span
  readonly workers: number
  readonly time: Span
  /** Requests per second that the host allowed in the last run, if it limited them. */
  readonly perSecond: number | undefined
  readonly footprint: Footprint | undefined
}

/** The estimated requests, time and files of a run. */
export interface Forecast {
  readonly asOf: number
  /** The stocks of the run; undefined if no stream needs stocks. */
  readonly stocks: Worklist | undefined
  readonly latency: Latency
  readonly resume: Standing
  /** Empty if a complete run is up to date. */
  readonly streams: readonly StreamForecast[]
  readonly time: Span
  /** Remarks on the figures. */
  readonly notes: readonly string[]
}

/** Plans a run from the stored data of a folder. Sends no request, writes nothing. Errors with `UsageError` on wrong names or symbols. */
export const forecastOf = (input: Forecasting): Observable<Forecast> =>
  defer(() => {
    const { streams, settings, stored, run, now } = input
    const plan = planRun(streams, settings, run)
    const chosen = plan.flatMap(({ stream, state }) => (state === 'waiting' ? [stream] : []))
    const { symbols, variant, fresh = false } = run
    const wanted = { run: '', asOf: run.asOf ?? now, ...identityOf({ settings, plan, symbols, variant }) }
    const names = chosen.map(({ name }) => name)
    const query = { wanted, isInstantGiven: run.asOf !== undefined, fresh, streams: names }
    return forkJoin([defer(() => standingOf(resolve(settings.out), query)), lastReport(stored)]).pipe(
      switchMap(([resume, last]) => forecastAfter(input, { chosen, resume, last })),
    )
  })

interface Before {
  readonly chosen: readonly StreamDefinition[]
  readonly resume: Standing
  readonly last: RunReport | undefined
}

const forecastAfter = (input: Forecasting, { chosen, resume, last }: Before): Observable<Forecast> => {
  const { streams, settings, stored, run } = input
  const notes = new Set<string>()
  const warn = (text: string): void => void notes.add(text)
  const listing = { streams, stored, exchange: settings.exchange, symbols: run.symbols, stocks: input.stocks, warn }
  const loadWorklist = createListing(listing)
  const getWorkers = ({ name, workers }: StreamDefinition): number => settings.workers[name] ?? workers
  const running = resume.finishedBefore === undefined ? chosen : []
  const usual = (stream: StreamDefinition, foreseen: number): number => usualRequests(stream, foreseen, last)
  const demandContext = { settings, stored, asOf: resume.asOf, loadWorklist, isFetched: resume.isFetched, usual }
  const needsStocks = running.some(({ work }) => work.of === MASTER)
  return forkJoin([demandsOf(running, demandContext), needsStocks ? loadWorklist(MASTER) : of(undefined)]).pipe(
    map(([demands, stocks]): Forecast => {
      const latency = input.latency ?? latencyFrom(last, demands, getWorkers)
      const forecasts = demands.map((demand): StreamForecast => {
        const { stream } = demand
        const workers = getWorkers(stream)
        const perSecond = last && limitIn(last, stream)
        return {
          ...{ demand, stream, workers, perSecond, requests: requestsOf(demand) },
          time: timeOf(demand, { workers, latencyMs: latency.ms, perSecond }),
          footprint: footprintOf(demand, stocks?.items.length ?? 0, last),
        }
      })
      return { asOf: resume.asOf, stocks, latency, resume, streams: forecasts, time: wholeTime(forecasts), notes: [...notes] }
    }),
  )
}

const latencyFrom = (
  last: RunReport | undefined,
  demands: readonly Demand[],
  getWorkers: (stream: StreamDefinition) => number,
): Latency => {
  const ms = last && latencyIn(last, demands, getWorkers)
  return ms === undefined ? { ms: USUAL_LATENCY_MS, from: 'assumed' } : { ms, from: 'last run' }
}

/** Estimates a stream whose answers lead to further requests: 1.5 times the last run, because some days have more. */
const usualRequests = ({ name, work }: StreamDefinition, foreseen: number, last: RunReport | undefined): number => {
  if (work.of !== undefined) return foreseen
  const { requests = 0, retries = 0, takenOver = 0 } = last?.scripts[name] ?? {}
  const before = takenOver === 0 ? requests - retries : 0
  if (before > foreseen) return Math.ceil(before * 1.5)
  return Math.max(foreseen, before > 0 ? 0 : (MEASURED_REQUESTS[name] ?? 0))
}

/** The report of the last run, if it exists and is readable. */
const lastReport = (stored: Stored): Observable<RunReport | undefined> =>
  stored.document('.scripstream/report.json').pipe(
    map((report) => (isReport(report) ? report : undefined)),
    catchError((error: unknown) => (isLoss(error) ? of(undefined) : throwError(() => error))),
  )

const isReport = (report: unknown): report is RunReport & Record<string, unknown> =>
  isRow(report) &&
  isRow(report.scripts) &&
  Object.values(report.scripts).every(
    (script) =>
      isRow(script) &&
      isRow(script.items) &&
      ['durationMs', 'requests', 'retries', 'rateLimited', 'takenOver', 'bytes'].every((field) => typeof script[field] === 'number'),
  )
