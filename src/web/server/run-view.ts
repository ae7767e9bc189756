import type { StreamDefinition } from '../../engine/define-stream.js'
import type { LiveRun } from '../../engine/event-bus.js'
import { groupByPhase } from '../../engine/plan.js'
import type { LimiterStatus } from '../../limiter/limiter-registry.js'
import type { RunEvent } from '../../model/event.js'
import type { OverallProgress, RunProgress } from '../../model/progress.js'
import { omitUndefined } from '../../model/row.js'
import { isSelected, MAX_MARBLES, type PausedHosts, type StreamStats } from '../../model/run-stats.js'
import type { Settings } from '../../model/settings.js'
import type { LiveHost, LivePause, LivePhase, LiveRunState, LiveStream, LiveSummary } from '../api/live.js'

export type RunView = ReturnType<typeof createRunView>

/** Reads a run from its statistics; has neither clock nor timers. */
export const createRunView = (
  streams: readonly StreamDefinition[],
  { workers }: Pick<Settings, 'workers'>,
  progress: RunProgress,
  limiters: LiveRun['limiters'] = () => [],
) => {
  const { stats } = progress
  const workersOf = new Map(streams.map((stream) => [stream.name, workers[stream.name] ?? stream.workers]))
  let end: LiveSummary['outcome']
  let overall: OverallProgress | undefined

  return {
    /** The run has ended, also without a report: because of `error`, or interrupted. */
    over(error?: unknown): void {
      end = error === undefined ? 'interrupted' : 'failed'
    },
    /** Measures rates; call it about twice a second. */
    sample(now: number): void {
      overall = progress.sample(now)
    },
    /** Undefined before the run has started. */
    state(now: number): LiveRunState | undefined {
      const started = stats.started()
      if (started === undefined) return undefined
      overall ??= progress.sample(now)
      const { outcome = end, error } = stats.finished() ?? {}
      const hosts = outcome === undefined ? limiters().filter(isLimited).map(toLiveHost) : []
      return {
        ...summarize(started, now, progress, overall),
        ...omitUndefined({ outcome, error, hosts: hosts.length === 0 ? undefined : hosts }),
        phases: describePhases(streams),
        streams: stats
          .streams()
          .map((stream) => toLiveStream(stream, progress, workersOf.get(stream.name) ?? 1)),
      }
    },
  }
}

/** Most limiters limit nothing. */
const isLimited = ({ isHeld, maxPerSecond, maxInFlight }: LimiterStatus): boolean =>
  isHeld || Number.isFinite(maxPerSecond) || Number.isFinite(maxInFlight)

const toLiveHost = ({
  hosts,
  endpoint,
  inFlight,
  waiting,
  maxInFlight,
  maxPerSecond,
  isHeld,
}: LimiterStatus): LiveHost =>
  omitUndefined({
    what: endpoint ?? hosts.join(' and '),
    inFlight,
    waiting,
    isHeld,
    // JSON has no infinite numbers.
    maxInFlight: Number.isFinite(maxInFlight) ? maxInFlight : undefined,
    maxPerSecond: Number.isFinite(maxPerSecond) ? maxPerSecond : undefined,
  })

type StartEvent = RunEvent & { readonly type: 'run-started' }

const summarize = (
  run: StartEvent,
  now: number,
  { stats }: RunProgress,
  overall: OverallProgress,
): LiveSummary => {
  const { share, total, leftMs, bytesPerSecond, step } = overall
  const selected = stats.streams().filter(isSelected)
  return omitUndefined({
    run: run.run,
    asOf: run.asOf,
    startedAt: run.at,
    at: now,
    stocks: stats.stocks(),
    isContinued: run.isContinued,
    isRemainder: run.isRemainder,
    done: selected.reduce((sum, { finished }) => sum + finished, 0),
    total,
    share,
    leftMs,
    bytesPerSecond,
    step,
    fleet: stats.fleet(),
  })
}

const toLiveStream = (stream: StreamStats, progress: RunProgress, workers: number): LiveStream => {
  const { name, state, finished, takenOver, total, startedAt, finishedAt, failures, warnings, error } = stream
  const {
    requests,
    answered,
    received,
    retries,
    rateLimited,
    lost,
    degraded,
    items,
    files,
    bytes,
    deferred,
    secondPass,
  } = stream
  const isRunning = state === 'running'
  const isFleet = progress.stats.fleet() !== undefined
  const { perSecond, leftMs } = progress.estimate(stream)
  const tookMs = finishedAt === undefined || startedAt === undefined ? 0 : finishedAt - startedAt
  const isPaused = ({ hosts }: PausedHosts): boolean => hosts.some((host) => stream.hosts.includes(host))
  const pauses = isRunning ? progress.stats.pausedHosts().filter(isPaused) : []
  return omitUndefined({
    name,
    state,
    done: finished,
    total,
    workers,
    startedAt,
    finishedAt,
    requests,
    retries,
    rateLimited,
    lost,
    partial: degraded,
    // Shown beside the workers, one of which may have two requests open.
    inFlight: isFleet ? undefined : isRunning ? Math.min(workers, Math.max(0, requests - answered)) : 0,
    perSecond: isRunning ? perSecond : tookMs > 0 ? ((finished - takenOver) * 1_000) / tookMs : undefined,
    leftMs: isRunning && pauses.length === 0 ? leftMs : undefined,
    deferred: deferred || undefined,
    secondPass: secondPass || undefined,
    statuses: Object.fromEntries(Object.entries(items).filter(([, count]) => count > 0)),
    received: isFleet ? undefined : received,
    files,
    stored: bytes,
    failures,
    warnings,
    pauses: pauses.map(toPause),
    error,
    marbles: stream.marbles.slice(-MAX_MARBLES),
  })
}

const toPause = ({ hosts, endpoint, why, since, until, giveUpAt }: PausedHosts): LivePause =>
  omitUndefined({ what: endpoint ?? hosts.join(' and '), why, since, until, giveUpAt })

/** The graph of a run: the phases in their order, each with its streams. */
export const describePhases = (streams: readonly StreamDefinition[]): readonly LivePhase[] =>
  groupByPhase(streams).map(({ phase, title, note, isSequential, members }) => ({
    phase,
    title,
    note,
    isSequential,
    streams: members.map(({ name, summary, work }) => omitUndefined({ name, summary, of: work.of })),
  }))
