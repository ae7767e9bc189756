import { resolve } from 'node:path'
import { catchError, defer, forkJoin, map, type Observable, of, switchMap, throwError } from 'rxjs'
import type { RunOptions } from '../../collector.js'
import { isItemError } from '../../model/errors.js'
import type { RunReport } from '../../model/report.js'
import { isRow } from '../../model/row.js'
import type { Settings } from '../../model/settings.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { planRun } from '../../pipeline/plan.js'
import { createIdentity } from '../../pipeline/record.js'
import type { Stored } from '../../pipeline/storage.js'
import { MASTER } from '../../pipeline/work.js'
import type { Bounds } from './bounds.js'
import {
  DEFAULT_LATENCY_MS,
  estimateFootprint,
  estimateRunTime,
  estimateTime,
  type Footprint,
  type LatencyEstimate,
  measureLatency,
  measureRateLimit,
} from './estimate.js'
import { createWorklistLoader, type Worklist } from './items.js'
import { MEASURED_REQUESTS } from './measured.js'
import { computeDemands, type Demand, sumRequests } from './requests.js'
import { type ResumeState, resumeState } from './resume-state.js'

/** The input of a forecast. */
export interface ForecastInput {
  readonly streams: readonly StreamDefinition[]
  readonly settings: Settings
  readonly stored: Stored
  readonly run: Pick<RunOptions, 'only' | 'skip' | 'symbols' | 'asOf' | 'fresh' | 'variant'>
  /** Number of stocks, if the folder has no master list. */
  readonly stocks: number | undefined
  /** The time of a request, if given or simulated. */
  readonly latency: LatencyEstimate | undefined
  /** The current instant, epoch milliseconds. */
  readonly now: number
}

export interface StreamForecast {
  readonly demand: Demand
  readonly stream: StreamDefinition
  readonly requests: Bounds
  readonly workers: number
  readonly time: Bounds
  /** Requests per second that the host allowed in the last run, if it limited them. */
  readonly perSecond: number | undefined
  readonly footprint: Footprint | undefined
}

/** The estimated requests, time and files of a run. */
export interface Forecast {
  readonly asOf: number
  /** The stocks of the run; undefined if no stream needs stocks. */
  readonly stocks: Worklist | undefined
  readonly latency: LatencyEstimate
  readonly resume: ResumeState
  /** Empty if a complete run is up to date. */
  readonly streams: readonly StreamForecast[]
  readonly time: Bounds
  /** Remarks on the figures. */
  readonly notes: readonly string[]
}

/** Plans a run from the stored data of a folder. Sends no request, writes nothing. Errors with `UsageError` on wrong names or symbols. */
export const createForecast = (input: ForecastInput): Observable<Forecast> =>
  defer(() => {
    const { streams, settings, stored, run, now } = input
    const plan = planRun(streams, settings, run)
    const chosen = plan.flatMap(({ stream, state }) => (state === 'waiting' ? [stream] : []))
    const { symbols, variant, fresh = false } = run
    const wanted = { run: '', asOf: run.asOf ?? now, ...createIdentity({ settings, plan, symbols, variant }) }
    const names = chosen.map(({ name }) => name)
    const query = { wanted, isInstantGiven: run.asOf !== undefined, fresh, streams: names }
    return forkJoin([defer(() => resumeState(resolve(settings.out), query)), readLastReport(stored)]).pipe(
      switchMap(([resume, last]) => computeForecast(input, { chosen, resume, last })),
    )
  })

interface ForecastBasis {
  readonly chosen: readonly StreamDefinition[]
  readonly resume: ResumeState
  readonly last: RunReport | undefined
}

const computeForecast = (input: ForecastInput, { chosen, resume, last }: ForecastBasis): Observable<Forecast> => {
  const { streams, settings, stored, run } = input
  const notes = new Set<string>()
  const warn = (text: string): void => void notes.add(text)
  const listing = { streams, stored, exchange: settings.exchange, symbols: run.symbols, stocks: input.stocks, warn }
  const loadWorklist = createWorklistLoader(listing)
  const getWorkers = ({ name, workers }: StreamDefinition): number => settings.workers[name] ?? workers
  const running = resume.finishedBefore === undefined ? chosen : []
  const usual = (stream: StreamDefinition, foreseen: number): number => estimateRequests(stream, foreseen, last)
  const demandContext = { settings, stored, asOf: resume.asOf, loadWorklist, isFetched: resume.isFetched, usual }
  const needsStocks = running.some(({ work }) => work.of === MASTER)
  return forkJoin([computeDemands(running, demandContext), needsStocks ? loadWorklist(MASTER) : of(undefined)]).pipe(
    map(([demands, stocks]): Forecast => {
      const latency = input.latency ?? chooseLatency(last, demands, getWorkers)
      const forecasts = demands.map((demand): StreamForecast => {
        const { stream } = demand
        const workers = getWorkers(stream)
        const perSecond = last && measureRateLimit(last, stream)
        return {
          ...{ demand, stream, workers, perSecond, requests: sumRequests(demand) },
          time: estimateTime(demand, { workers, latencyMs: latency.ms, perSecond }),
          footprint: estimateFootprint(demand, stocks?.items.length ?? 0, last),
        }
      })
      return { asOf: resume.asOf, stocks, latency, resume, streams: forecasts, time: estimateRunTime(forecasts), notes: [...notes] }
    }),
  )
}

const chooseLatency = (
  last: RunReport | undefined,
  demands: readonly Demand[],
  getWorkers: (stream: StreamDefinition) => number,
): LatencyEstimate => {
  const ms = last && measureLatency(last, demands, getWorkers)
  return ms === undefined ? { ms: DEFAULT_LATENCY_MS, from: 'assumed' } : { ms, from: 'last run' }
}

/** Estimates a stream whose answers lead to further requests: 1.5 times the last run, because some days have more. */
const estimateRequests = ({ name, work }: StreamDefinition, foreseen: number, last: RunReport | undefined): number => {
  if (work.of !== undefined) return foreseen
  const { requests = 0, retries = 0, takenOver = 0 } = last?.scripts[name] ?? {}
  const before = takenOver === 0 ? requests - retries : 0
  if (before > foreseen) return Math.ceil(before * 1.5)
  return Math.max(foreseen, before > 0 ? 0 : (MEASURED_REQUESTS[name] ?? 0))
}

/** The report of the last run, if it exists and is readable. */
const readLastReport = (stored: Stored): Observable<RunReport | undefined> =>
  stored.document('.scripstream/report.json').pipe(
    map((report) => (isReport(report) ? report : undefined)),
    catchError((error: unknown) => (isItemError(error) ? of(undefined) : throwError(() => error))),
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
