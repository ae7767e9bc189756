import type { RunReport, ScriptReport } from '../../model/report.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { countLost } from '../problems.js'
import { addBounds, type Bounds, maxBounds, scaleBounds, sumBounds, ZERO_BOUNDS } from './bounds.js'
import { MEASURED_SIZES } from './measured.js'
import { type Demand, sumRequests } from './requests.js'

/** The assumed time of a request, and its source. */
export interface LatencyEstimate {
  readonly ms: number
  readonly from: 'given' | 'last run' | 'simulation' | 'assumed'
}

export const DEFAULT_LATENCY_MS = 100

/** With fewer requests per worker, the duration of a stream says little about one request. */
const MIN_REQUESTS_PER_WORKER = 3

/** The workers of a stream under the settings in force. */
export type GetWorkers = (stream: StreamDefinition) => number

/**
 * The time of a request in the last run, with the work of this machine: the minimum over all streams with a list, whose workers were all
 * busy, because parallel streams slow each other down. Undefined if every stream was rate limited, resumed or too short.
 */
export const measureLatency = (
  { scripts }: Pick<RunReport, 'scripts'>,
  demands: readonly Demand[],
  getWorkers: GetWorkers,
): number | undefined => {
  const samples = demands.flatMap(({ stream }) => {
    const script = scripts[stream.name]
    if (script === undefined || stream.work.of === undefined || !isConclusive(script)) return []
    const fetched = countScriptItems(script) - script.items.skipped
    const workers = getWorkers(stream)
    return fetched >= MIN_REQUESTS_PER_WORKER * workers ? [(script.durationMs * workers) / fetched] : []
  })
  return samples.length === 0 ? undefined : Math.min(...samples)
}

const isConclusive = (script: ScriptReport): boolean =>
  isNearlyComplete(script) && script.rateLimited === 0 && script.takenOver === 0 && script.retries === 0

/** If many items were lost, the time says little: after a host is given up, each of its items fails at once. */
const isNearlyComplete = (script: ScriptReport): boolean =>
  script.outcome === 'success' || (script.outcome === 'partial' && countLost(script) * 10 <= countScriptItems(script))

const countScriptItems = ({ items }: ScriptReport): number => Object.values(items).reduce((total, number) => total + number, 0)

/** Requests per second of a rate-limited stream in the last run; undefined if it was not limited. */
export const measureRateLimit = ({ scripts }: Pick<RunReport, 'scripts'>, { name }: StreamDefinition): number | undefined => {
  const { rateLimited = 0, requests = 0, durationMs = 0 } = scripts[name] ?? {}
  const answered = requests - rateLimited
  return rateLimited > 0 && answered > 0 && durationMs > 0 ? (answered * 1_000) / durationMs : undefined
}

/** The time of a stream alone: its rounds divided among its workers, but at least its longest item, and within the rate limit. */
export const estimateTime = (demand: Demand, { workers, latencyMs, perSecond }: StreamCapacity): Bounds => {
  const busy = scaleBounds(maxBounds([scaleBounds(demand.rounds, 1 / workers), demand.longest]), latencyMs)
  return perSecond === undefined ? busy : maxBounds([busy, scaleBounds(sumRequests(demand), 1_000 / perSecond)])
}

export interface StreamCapacity {
  readonly workers: number
  readonly latencyMs: number
  readonly perSecond?: number | undefined
}

export interface TimedStream {
  readonly stream: StreamDefinition
  readonly time: Bounds
}

/** The time of a run: phase 1 stream by stream, then the longest parallel chain, where a stream starts after the one that it follows. */
export const estimateRunTime = (timed: readonly TimedStream[]): Bounds => {
  const isCore = ({ stream }: TimedStream): boolean => stream.phase === 'core'
  const later = timed.filter((one) => !isCore(one))
  const findEnd = ({ stream, time }: TimedStream): Bounds => {
    const source = later.find(({ stream: { name } }) => name === stream.work.of)
    return source === undefined ? time : addBounds(findEnd(source), time)
  }
  return addBounds(
    sumBounds(timed.filter(isCore).map(({ time }) => time)),
    later.length === 0 ? ZERO_BOUNDS : maxBounds(later.map(findEnd)),
  )
}

/** The size of the files of a stream, and its source. */
export interface Footprint {
  readonly bytes: number
  readonly from: 'last run' | 'captured'
}

export const estimateFootprint = (demand: Demand, stocks: number, last: Pick<RunReport, 'scripts'> | undefined): Footprint | undefined => {
  const { stream, items } = demand
  const script = last?.scripts[stream.name]
  const before = script === undefined ? 0 : countScriptItems(script)
  if (script !== undefined && script.bytes > 0 && before > 0)
    return { bytes: Math.round((script.bytes * items) / before), from: 'last run' }
  const size = MEASURED_SIZES[stream.name]
  if (size === undefined) return undefined
  const number = { item: items, stock: stocks, run: 1 }[size.per]
  return { bytes: size.bytes * number, from: 'captured' }
}
