import type { RunEvent } from '../../model/event.js'
import { isLost } from '../../model/outcome.js'
import { createOverallEstimator, isSelected, type OverallProgress } from '../../model/overall-progress.js'
import { createProgressEstimator, type PausedHosts, type ProgressEstimator } from '../../model/progress-estimator.js'
import { omitUndefined } from '../../model/row.js'
import { createRunStats, type RunStats, type StreamStats } from '../../model/run-stats.js'
import type { Settings } from '../../model/settings.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { forecastStreams, groupByPhase } from '../../pipeline/phases.js'
import type { LivePause, LivePhase, LiveRunState, LiveStream, LiveSummary, Marble, MarbleKind } from '../api/live.js'

/** How many of the newest items of a stream are shown. */
export const MAX_MARBLES = 60

/** Follows a run from its events and requests; has neither clock nor timers. */
export interface LiveRun {
  readonly event: (event: RunEvent) => void
  readonly request: (request: { readonly stream: string; readonly bytes: number }) => void
  /** The run has ended, also without a report: because of `error`, or interrupted. */
  readonly over: (error?: unknown) => void
  /** Measures rates; call it about twice a second. */
  readonly sample: (now: number) => void
  /** Undefined before the run has started. */
  readonly state: (now: number) => LiveRunState | undefined
}

/** What is counted for a stream besides its statistics. */
interface StreamExtras {
  ended: number
  received: number
  deferred: number
  secondPass: number
  hosts: readonly string[]
  readonly retried: Set<string>
  readonly marbles: Marble[]
}

const createExtras = (): StreamExtras => ({ ended: 0, received: 0, deferred: 0, secondPass: 0, hosts: [], retried: new Set(), marbles: [] })

export const createLiveRun = (streams: readonly StreamDefinition[], settings: Pick<Settings, 'workers'>): LiveRun => {
  const stats = createRunStats()
  const estimator = createProgressEstimator()
  const forecasts = forecastStreams(streams, settings)
  const overall = createOverallEstimator(forecasts, estimator)
  const workers = new Map(forecasts.map((forecast) => [forecast.name, forecast.workers]))
  const extras = new Map<string, StreamExtras>()
  let started: RunStarted | undefined
  let ended: Pick<LiveSummary, 'outcome' | 'error'> = {}
  let progress: OverallProgress | undefined

  const sample = (now: number): void => {
    estimator.sample(stats.streams(), now)
    progress = overall.sample(stats, now)
  }
  return {
    event(event) {
      stats.record(event)
      estimator.record(event)
      if (event.type === 'run-started') {
        started = event
        for (const { name, hosts = [] } of event.streams) extras.set(name, { ...createExtras(), hosts })
      } else if (event.type === 'run-finished') ended = omitUndefined({ outcome: event.report.outcome, error: event.report.error })
      else if ('stream' in event) addExtras(extras.get(event.stream), event)
    },
    request({ stream, bytes }) {
      overall.addBytes(bytes)
      const own = extras.get(stream)
      if (own === undefined) return
      own.ended += 1
      own.received += bytes
    },
    over(error) {
      ended = { outcome: error === undefined ? 'interrupted' : 'failed', ...ended }
    },
    sample,
    state(now) {
      if (started === undefined) return undefined
      if (progress === undefined) sample(now)
      return {
        ...summarize(started, now, stats, progress),
        ...ended,
        phases: describePhases(streams),
        streams: stats.streams().map((stream) =>
          toLiveStream(stream, {
            extras: extras.get(stream.name) ?? createExtras(),
            estimator,
            workers: workers.get(stream.name) ?? 1,
            isFleet: stats.fleet() !== undefined,
          }),
        ),
      }
    },
  }
}

type RunStarted = RunEvent & { readonly type: 'run-started' }

const summarize = (run: RunStarted, now: number, stats: RunStats, progress: OverallProgress | undefined): LiveSummary => {
  const { share = 0, total, leftMs, bytesPerSecond } = progress ?? {}
  const selected = stats.streams().filter(isSelected)
  return omitUndefined({
    ...{ run: run.run, asOf: run.asOf, startedAt: run.at, at: now, stocks: stats.stocks() },
    ...{ isContinued: run.isContinued, isRemainder: run.isRemainder },
    ...{ done: selected.reduce((sum, { finished }) => sum + finished, 0), total, share, leftMs, bytesPerSecond },
    fleet: stats.fleet(),
  })
}

const addExtras = (extras: StreamExtras | undefined, event: RunEvent): void => {
  if (extras === undefined) return
  if (event.type === 'items-deferred') extras.deferred = event.items
  else if (event.type === 'second-pass') extras.secondPass = event.items
  else if (event.type === 'retried' && event.item !== undefined) extras.retried.add(event.item)
  else if (event.type === 'item-finished') {
    extras.marbles.push([event.item, toMarbleKind(event, extras.retried.delete(event.item))])
    // Compacted rarely: `shift` for each item would move the others each time.
    if (extras.marbles.length >= 2 * MAX_MARBLES) extras.marbles.splice(0, extras.marbles.length - MAX_MARBLES)
  }
}

const toMarbleKind = (event: RunEvent & { readonly type: 'item-finished' }, isRetried: boolean): MarbleKind => {
  if (isLost(event)) return 'failed'
  if (event.degraded !== undefined) return 'partial'
  if (event.isTakenOver) return 'resumed'
  if (isRetried) return 'retried'
  return event.status === 'empty' || event.status === 'skipped' ? event.status : 'success'
}

interface StreamContext {
  readonly extras: StreamExtras
  readonly estimator: ProgressEstimator
  readonly workers: number
  readonly isFleet: boolean
}

const toLiveStream = (stats: StreamStats, { extras, estimator, workers, isFleet }: StreamContext): LiveStream => {
  const { name, state, finished, takenOver, total, startedAt, finishedAt, failures, warnings, error } = stats
  const { requests, retries, rateLimited, lost, degraded, items, files, bytes } = stats
  const isRunning = state === 'running'
  const { perSecond, leftMs } = estimator.estimate(stats)
  const tookMs = finishedAt === undefined || startedAt === undefined ? 0 : finishedAt - startedAt
  const pauses = isRunning ? estimator.pausedHosts().filter(({ hosts }) => hosts.some((host) => extras.hosts.includes(host))) : []
  return omitUndefined({
    ...{ name, state, done: finished, total, workers, startedAt, finishedAt, requests, retries, rateLimited, lost, partial: degraded },
    // A worker goes on while its answer waits to be decoded: what exceeds the workers has arrived.
    inFlight: isFleet ? undefined : isRunning ? Math.min(workers, Math.max(0, requests - extras.ended)) : 0,
    perSecond: isRunning ? perSecond : tookMs > 0 ? ((finished - takenOver) * 1_000) / tookMs : undefined,
    leftMs: isRunning && pauses.length === 0 ? leftMs : undefined,
    deferred: extras.deferred || undefined,
    secondPass: extras.secondPass || undefined,
    statuses: Object.fromEntries(Object.entries(items).filter(([, count]) => count > 0)),
    received: isFleet ? undefined : extras.received,
    ...{ files, stored: bytes, failures, warnings, pauses: pauses.map(toPause), error },
    marbles: extras.marbles.slice(-MAX_MARBLES),
  })
}

const toPause = ({ hosts, endpoint, why, since, until, giveUpAt }: PausedHosts): LivePause =>
  omitUndefined({ what: endpoint ?? hosts.join(' and '), why, since, until, giveUpAt })

/** The graph of a run: the phases in their order, each with its streams. */
export const describePhases = (streams: readonly StreamDefinition[]): readonly LivePhase[] =>
  groupByPhase(streams).map(({ phase, title, note, isSequential, members }) => ({
    ...{ phase, title, note, isSequential },
    streams: members.map(({ name, summary, work }) => omitUndefined({ name, summary, of: work.of })),
  }))
