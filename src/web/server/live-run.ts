import type { RunEvent } from '../../model/event.js'
import { getOrAdd } from '../../model/map.js'
import { isLost } from '../../model/outcome.js'
import type { OverallProgress, RunProgress } from '../../model/progress.js'
import { omitUndefined } from '../../model/row.js'
import { isSelected, type PausedHosts, type StreamStats } from '../../model/run-stats.js'
import type { Settings } from '../../model/settings.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { groupByPhase } from '../../pipeline/phases.js'
import type { LivePause, LivePhase, LiveRunState, LiveStream, LiveSummary, Marble, MarbleKind } from '../api/live.js'

/** How many of the newest items of a stream are shown. */
export const MAX_MARBLES = 60

/** Follows a run from its statistics, and its newest items from its events; has neither clock nor timers. */
export interface LiveRun {
  /** To be called when the statistics have the event. */
  readonly event: (event: RunEvent) => void
  /** The run has ended, also without a report: because of `error`, or interrupted. */
  readonly over: (error?: unknown) => void
  /** Measures rates; call it about twice a second. */
  readonly sample: (now: number) => void
  /** Undefined before the run has started. */
  readonly state: (now: number) => LiveRunState | undefined
}

/** The newest items of a stream. */
interface Newest {
  readonly retried: Set<string>
  readonly marbles: Marble[]
}

export const createLiveRun = (
  streams: readonly StreamDefinition[],
  { workers }: Pick<Settings, 'workers'>,
  progress: RunProgress,
): LiveRun => {
  const { stats } = progress
  const workersOf = new Map(streams.map((stream) => [stream.name, workers[stream.name] ?? stream.workers]))
  const newest = new Map<string, Newest>()
  let started: RunStarted | undefined
  let ended: Pick<LiveSummary, 'outcome' | 'error'> = {}
  let overall: OverallProgress | undefined

  return {
    event(event) {
      if (event.type === 'run-started') started = event
      else if (event.type === 'run-finished') ended = omitUndefined({ outcome: event.report.outcome, error: event.report.error })
      else if (event.type === 'retried' || event.type === 'item-finished')
        addNewest(
          getOrAdd(newest, event.stream, () => ({ retried: new Set(), marbles: [] })),
          event,
        )
    },
    over(error) {
      ended = { outcome: error === undefined ? 'interrupted' : 'failed', ...ended }
    },
    sample(now) {
      overall = progress.sample(now)
    },
    state(now) {
      if (started === undefined) return undefined
      overall ??= progress.sample(now)
      return {
        ...summarize(started, now, progress, overall),
        ...ended,
        phases: describePhases(streams),
        streams: stats.streams().map((stream) => {
          const marbles = newest.get(stream.name)?.marbles.slice(-MAX_MARBLES) ?? []
          return toLiveStream(stream, { progress, marbles, workers: workersOf.get(stream.name) ?? 1 })
        }),
      }
    },
  }
}

type RunStarted = RunEvent & { readonly type: 'run-started' }

const summarize = (run: RunStarted, now: number, { stats }: RunProgress, overall: OverallProgress): LiveSummary => {
  const { share, total, leftMs, bytesPerSecond } = overall
  const selected = stats.streams().filter(isSelected)
  return omitUndefined({
    ...{ run: run.run, asOf: run.asOf, startedAt: run.at, at: now, stocks: stats.stocks() },
    ...{ isContinued: run.isContinued, isRemainder: run.isRemainder },
    ...{ done: selected.reduce((sum, { finished }) => sum + finished, 0), total, share, leftMs, bytesPerSecond },
    fleet: stats.fleet(),
  })
}

const addNewest = ({ retried, marbles }: Newest, event: RunEvent & { readonly type: 'retried' | 'item-finished' }): void => {
  if (event.type === 'retried') {
    if (event.item !== undefined) retried.add(event.item)
    return
  }
  marbles.push([event.item, toMarbleKind(event, retried.delete(event.item))])
  // Compacted rarely: `shift` for each item would move the others each time.
  if (marbles.length >= 2 * MAX_MARBLES) marbles.splice(0, marbles.length - MAX_MARBLES)
}

const toMarbleKind = (event: RunEvent & { readonly type: 'item-finished' }, isRetried: boolean): MarbleKind => {
  if (isLost(event)) return 'failed'
  if (event.degraded !== undefined) return 'partial'
  if (event.isTakenOver) return 'resumed'
  if (isRetried) return 'retried'
  return event.status === 'empty' || event.status === 'skipped' ? event.status : 'success'
}

interface StreamContext {
  readonly progress: RunProgress
  readonly marbles: readonly Marble[]
  readonly workers: number
}

const toLiveStream = (stream: StreamStats, { progress, marbles, workers }: StreamContext): LiveStream => {
  const { name, state, finished, takenOver, total, startedAt, finishedAt, failures, warnings, error } = stream
  const { requests, answered, received, retries, rateLimited, lost, degraded, items, files, bytes, deferred, secondPass } = stream
  const isRunning = state === 'running'
  const isFleet = progress.stats.fleet() !== undefined
  const { perSecond, leftMs } = progress.estimate(stream)
  const tookMs = finishedAt === undefined || startedAt === undefined ? 0 : finishedAt - startedAt
  const isPaused = ({ hosts }: PausedHosts): boolean => hosts.some((host) => stream.hosts.includes(host))
  const pauses = isRunning ? progress.stats.pausedHosts().filter(isPaused) : []
  return omitUndefined({
    ...{ name, state, done: finished, total, workers, startedAt, finishedAt, requests, retries, rateLimited, lost, partial: degraded },
    // A worker goes on while its answer waits to be decoded: what exceeds the workers has arrived.
    inFlight: isFleet ? undefined : isRunning ? Math.min(workers, Math.max(0, requests - answered)) : 0,
    perSecond: isRunning ? perSecond : tookMs > 0 ? ((finished - takenOver) * 1_000) / tookMs : undefined,
    leftMs: isRunning && pauses.length === 0 ? leftMs : undefined,
    deferred: deferred || undefined,
    secondPass: secondPass || undefined,
    statuses: Object.fromEntries(Object.entries(items).filter(([, count]) => count > 0)),
    received: isFleet ? undefined : received,
    ...{ files, stored: bytes, failures, warnings, pauses: pauses.map(toPause), error, marbles },
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
