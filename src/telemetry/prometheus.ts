import type Prometheus from 'prom-client'
import type { Registry } from 'prom-client'
import type { FinishedRequest, Follower, LiveRun } from '../engine/event-bus.js'
import { isSignificant } from '../model/drift.js'
import type { RunEvent } from '../model/event.js'
import { requireOptional } from '../model/optional-package.js'
import type { RunOutcome, RunReport, ScriptReport } from '../model/report.js'
import { omitUndefined } from '../model/row.js'
import { countItems } from '../model/script-figures.js'
import { createRunMetrics, type RunMetrics } from './run-metrics.js'

/** The part of a registry of prom-client that is used. */
export interface MetricsRegistry {
  /** All metrics in the text format of Prometheus. */
  metrics(): Promise<string>
  readonly contentType: string
}

/** Metrics of runs, and what feeds them. */
export interface Metrics {
  readonly registry: MetricsRegistry
  /** Pass it to `createCollector({ telemetry })`; several collectors may share it. */
  readonly telemetry: (
    run: Pick<LiveRun, 'limiters'>,
  ) => Follower & { readonly event: NonNullable<Follower['event']> }
}

/** Options of `createMetrics`; nothing is required. */
export interface MetricsOptions {
  /**
   * The registry of prom-client in which the metrics are created, such as `prom.register`. Default: one of
   * their own.
   */
  readonly registry?: MetricsRegistry | undefined
  /**
   * Also creates the default metrics of prom-client: memory, CPU, event loop, garbage collection. Default:
   * `false`.
   */
  readonly processMetrics?: boolean | undefined
  /** When the last complete run ended, epoch milliseconds, if it was in another process. */
  readonly lastSuccessAt?: number | undefined
  /** Labels of all metrics of the registry. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The name of the collector, a label of its metrics: several collectors share a registry by it. */
  readonly collector?: string | undefined
  /** The module `prom-client`, for a bundle, in which it is not found by its name. */
  readonly client?: object | undefined
}

/**
 * Creates Prometheus metrics of runs: requests, items, limiters, and how the last run ended. Needs the
 * package `prom-client`.
 *
 * @throws UsageError if prom-client is not installed, or if the registry has the metrics of another collector
 * and one of the two has no name
 * @example
 * const { registry, telemetry } = createMetrics()
 * createCollector({ settings, telemetry }).run().subscribe()
 * server.get('/metrics', async (_, response) => response.type(registry.contentType).send(await registry.metrics()))
 */
export const createMetrics = ({
  registry: given,
  processMetrics = false,
  lastSuccessAt,
  labels,
  collector,
  client,
}: MetricsOptions = {}): Metrics => {
  const prom = (client as typeof Prometheus | undefined) ?? loadClient()
  const registry = (given as Registry | undefined) ?? new prom.Registry()
  if (labels !== undefined) registry.setDefaultLabels(labels)
  if (processMetrics) prom.collectDefaultMetrics({ register: registry })
  const live = new Set<Pick<LiveRun, 'limiters'>>()
  const metrics = createRunMetrics({ prom, registry, own: omitUndefined({ collector }) }, live)
  if (lastSuccessAt !== undefined) metrics.succeededAt.set({}, lastSuccessAt / 1_000)
  const telemetry: Metrics['telemetry'] = (run) => {
    live.add(run)
    const timer = createHoldTimer((hold, seconds) => metrics.heldSeconds.inc(hold, seconds))
    let hasReport = false
    return {
      event: (event) => {
        if (event.type === 'run-finished') hasReport = true
        recordEvent(metrics, timer, event)
      },
      request: (request) => recordRequest(metrics, request),
      over: (error) => {
        live.delete(run)
        if (!hasReport) recordOutcome(metrics, error === undefined ? 'interrupted' : 'failed')
      },
    }
  }
  return { registry, telemetry }
}

/**
 * The metrics of the process, in a registry of their own: other programs on the machine have metrics of the
 * same names.
 */
export const createProcessMetrics = (labels: Readonly<Record<string, string>>): MetricsRegistry => {
  const prom = loadClient()
  const registry = new prom.Registry()
  registry.setDefaultLabels(labels)
  prom.collectDefaultMetrics({ register: registry })
  return registry
}

const loadClient = (): typeof Prometheus =>
  requireOptional<typeof Prometheus>('prom-client', 'metrics need a package that is not installed')

const recordEvent = (
  metrics: RunMetrics,
  timer: ReturnType<typeof createHoldTimer>,
  event: RunEvent,
): void => {
  switch (event.type) {
    case 'run-started':
      // A counter that first appears with a value has no increase.
      for (const host of event.streams.flatMap(({ state, hosts = [] }) => (state === 'waiting' ? hosts : [])))
        metrics.heldSeconds.inc({ host }, 0)
      break
    case 'retried':
      metrics.retries.inc({ stream: event.stream })
      break
    case 'rate-limited':
      metrics.limited.inc({ stream: event.stream })
      break
    case 'items-known':
      metrics.expected.set({ stream: event.stream }, event.total)
      break
    case 'item-finished':
      metrics.items.inc({ stream: event.stream, status: event.status })
      break
    case 'stored':
      metrics.files.inc({ stream: event.stream })
      metrics.stored.inc({ stream: event.stream }, event.bytes)
      break
    case 'stream-started':
      metrics.running.set({ stream: event.stream }, 1)
      break
    case 'stream-finished':
      metrics.ended.inc({ stream: event.stream, outcome: event.outcome })
      metrics.running.set({ stream: event.stream }, 0)
      break
    case 'host-paused':
    case 'host-resumed':
      for (const host of event.hosts) {
        const hold = omitUndefined({ host, endpoint: event.endpoint })
        if (timer.record(hold, event) && event.type === 'host-paused')
          metrics.holds.inc({ ...hold, why: event.why })
      }
      break
    case 'run-finished':
      timer.end(Date.parse(event.report.finishedAt))
      recordReport(metrics, event.report)
  }
}

const recordRequest = (
  metrics: RunMetrics,
  { endpoint: { host, name: endpoint }, status, failure, bytes, ms }: FinishedRequest,
): void => {
  const labels = status === undefined ? { host, endpoint } : { host, endpoint, status: String(status) }
  metrics.requests.inc({ ...labels, outcome: failure ?? 'success' })
  metrics.received.inc({ host, endpoint }, bytes)
  if (failure !== 'cancelled') metrics.seconds.observe(labels, ms / 1_000)
}

const recordReport = (metrics: RunMetrics, report: RunReport): void => {
  const {
    outcome,
    durationMs,
    finishedAt,
    stocks,
    scripts,
    missing = {},
    newest = {},
    stale = [],
    drift = [],
  } = report
  recordOutcome(metrics, outcome)
  metrics.runSeconds.set({}, durationMs / 1_000)
  metrics.endedAt.set({}, Date.parse(finishedAt) / 1_000)
  if (outcome === 'complete') metrics.succeededAt.set({}, Date.parse(finishedAt) / 1_000)
  metrics.stocks.set({}, stocks)
  for (const gauge of [metrics.streamSeconds, metrics.missing, metrics.behind, metrics.drift]) gauge.reset()
  // A stream that lacks nothing has a 0, so that an alert ends.
  for (const [stream, script] of Object.entries(scripts)) {
    metrics.missing.set({ stream }, countMissing(missing[stream], script))
    const late = newest[stream] === undefined ? [] : stale.filter((one) => (one.stream ?? stream) === stream)
    metrics.behind.set({ stream }, Math.max(0, ...late.map(({ sessions }) => sessions)))
    if (script.outcome === 'skipped' || script.outcome === 'disabled') continue
    metrics.drift.set({ stream }, drift.filter((one) => one.stream === stream && isSignificant(one)).length)
    metrics.streamSeconds.set({ stream }, script.durationMs / 1_000)
  }
}

/**
 * If nobody knows how many items are missing, the number is that of the items that the stream had, or one.
 */
const countMissing = (missing: number | 'all' | undefined, script: ScriptReport): number =>
  missing === 'all' ? Math.max(1, countItems(script)) : (missing ?? 0)

const OUTCOMES: readonly RunOutcome[] = ['complete', 'partial', 'failed', 'interrupted']

const recordOutcome = (metrics: RunMetrics, outcome: RunOutcome): void => {
  for (const one of OUTCOMES) metrics.outcome.set({ outcome: one }, Number(one === outcome))
}

/** A host, or one endpoint of it. */
interface Hold {
  readonly host: string
  readonly endpoint?: string
}

type HoldEvent = Extract<RunEvent, { readonly type: 'host-paused' | 'host-resumed' }>

/**
 * Measures for how long hosts are held, by the times of events. `add` receives the time since the last event
 * of a hold: while it lasts, each probe that fails causes one.
 */
const createHoldTimer = (add: (hold: Hold, seconds: number) => void) => {
  const open = new Map<string, { readonly hold: Hold; readonly at: number }>()
  const close = (key: string, at: number) => {
    const before = open.get(key)
    if (before) add(before.hold, Math.max(0, at - before.at) / 1_000)
    open.delete(key)
  }
  return {
    /** Returns whether a hold begins with this event. */
    record: (hold: Hold, { type, at }: HoldEvent) => {
      const key = `${hold.host} ${hold.endpoint ?? ''}`
      const isNew = type === 'host-paused' && !open.has(key)
      close(key, at)
      if (type === 'host-paused') open.set(key, { hold, at })
      return isNew
    },
    /** Ends all holds: the run is over. */
    end: (at: number) => {
      for (const key of [...open.keys()]) close(key, at)
    },
  }
}
