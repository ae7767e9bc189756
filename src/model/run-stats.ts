import type { ErrorCode } from './errors.js'
import type { RunEvent } from './event.js'
import { type ItemOutcome, isLost } from './outcome.js'
import type {
  FleetState,
  ItemCounts,
  Problem,
  ReportedCause,
  RewrittenFile,
  RunOutcome,
  RunReport,
  ScriptOutcome,
  ScriptReport,
  WrongSymbol,
} from './report.js'
import { omitUndefined } from './row.js'
import type { Host } from './settings.js'

/** How many of the newest items of a stream are kept for display. */
export const MAX_MARBLES = 60
const MAX_FAILURES = 10
const MAX_WARNINGS = 5

/**
 * How one of the newest items ended; `retried` is a success after a further attempt, `partial` one that may
 * lack rows.
 */
export type MarbleKind = 'success' | 'empty' | 'skipped' | 'retried' | 'partial' | 'failed' | 'resumed'

/** One of the newest items of a stream. */
export type Marble = readonly [item: string, kind: MarbleKind]

/** The state and the counts of one stream during a run. */
export class StreamStats {
  startedAt: number | undefined
  finishedAt: number | undefined
  total: number | undefined
  finished = 0
  /** Items that failed. */
  lost = 0
  requests = 0
  /**
   * Requests that have ended, and the size of their decompressed bodies; both are counted only where somebody
   * watches the run.
   */
  answered = 0
  received = 0
  retries = 0
  rateLimited = 0
  degraded = 0
  /** Items that failed or may lack rows for a temporary reason. */
  temporary = 0
  /** How often stored data was kept because an answer looked wrong. */
  refusals = 0
  /** All items that failed or may lack rows. */
  readonly incomplete: string[] = []
  /** Items that were resumed from an unfinished run. */
  takenOver = 0
  /** Items that failed and are tried once more after the other streams. */
  deferred = 0
  /** Items that are tried once more now. */
  secondPass = 0
  files = 0
  bytes = 0
  readonly items: ItemCounts = { success: 0, empty: 0, skipped: 0, rate_limit: 0, error: 0 }
  readonly failures: Problem[] = []
  /** Problems that are no failure. */
  readonly warnings: Problem[] = []
  /** Stored files that were replaced as a whole or repaired. */
  readonly rewritten: RewrittenFile[] = []
  /** How many items end with each session. */
  readonly newest = new Map<string, number>()
  /** Why requests failed, each cause once. */
  readonly causes = new Map<string, ReportedCause>()
  /** The newest items, oldest first: at least `MAX_MARBLES` of them if there are as many. */
  readonly marbles: Marble[] = []
  /** Items that were retried and have not finished. */
  readonly retriedItems = new Set<string>()
  error: string | undefined
  code: ErrorCode | undefined

  constructor(
    readonly name: string,
    public state: 'waiting' | 'running' | ScriptOutcome,
    /** The services that the stream uses. */
    readonly hosts: readonly Host[] = [],
  ) {}
}

/** Whether the run includes the stream. */
export const isSelected = ({ state, startedAt }: StreamStats): boolean =>
  startedAt !== undefined || (state !== 'skipped' && state !== 'disabled')

export const hasEnded = ({ state }: StreamStats): boolean => state !== 'waiting' && state !== 'running'

/** Hosts that are paused now; `endpoint` is absent if all their endpoints are. */
export type PausedHosts = Omit<Extract<RunEvent, { readonly type: 'host-paused' }>, 'type' | 'at'>

/**
 * The statistics of a run: the sum of its events. The progress display, the page, the log, the summary and
 * the report all read this one object.
 */
export type RunStats = ReturnType<typeof createRunStats>

type RunStarted = Extract<RunEvent, { readonly type: 'run-started' }>

/** What can be read of the statistics of a run. */
export type RunStatsReading = Omit<RunStats, 'record'>

export const createRunStats = () => {
  const streams = new Map<string, StreamStats>()
  const pauses = new Map<string, PausedHosts>()
  let started: RunStarted | undefined
  let finished: RunReport | undefined
  let stocks = 0
  let wrongSymbols: readonly WrongSymbol[] = []
  let fleet: FleetState | undefined
  let step: string | undefined
  const notes: string[] = []
  const all = (): readonly StreamStats[] => [...streams.values()]

  return {
    record(event: RunEvent): void {
      if (event.type === 'run-started') {
        started = event
        for (const { name, state, hosts } of event.streams)
          streams.set(name, new StreamStats(name, state, hosts))
      } else if (event.type === 'host-paused' || event.type === 'host-resumed') recordPause(pauses, event)
      else if (event.type === 'master-read') stocks = event.stocks
      else if (event.type === 'wrong-symbols') wrongSymbols = event.symbols
      else if (event.type === 'fleet') fleet = event.fleet
      else if (event.type === 'run-finished') finished = event.report
      else if (event.type === 'step') step = event.step
      else if (event.type === 'note') notes.push(event.text)
      else if ('stream' in event) applyEvent(streams.get(event.stream), event)
    },
    streams: all,
    stream: (name: string): StreamStats | undefined => streams.get(name),
    /**
     * The hosts that are paused now. A host whose streams have all ended gets no request any more, so that
     * its pause would never end.
     */
    pausedHosts: (): readonly PausedHosts[] =>
      [...new Set(pauses.values())].filter(({ hosts }) => hosts.some((host) => isNeeded(host, all()))),
    /** The pauses of a stream's hosts as a whole. */
    pausesOf: ({ hosts }: StreamStats): readonly PausedHosts[] =>
      hosts.flatMap((host) => pauses.get(host) ?? []),
    stocks: (): number => stocks,
    /** The first event of the run; undefined before it. */
    started: () => started,
    /** The report with which the run has ended. */
    finished: () => finished,
    /** What the run does after its streams; undefined until then. */
    step: (): string | undefined => step,
    /** The workers of the run; undefined without a fleet. */
    fleet: (): FleetState | undefined => fleet,
    /** The report of the run so far. `end` overrides the outcome that follows from the streams. */
    report: (finishedAt: number, end?: Pick<RunReport, 'outcome' | 'error' | 'code'>): RunReport => ({
      ...describeTime(started, finishedAt),
      outcome: end?.outcome ?? (wrongSymbols.length > 0 ? 'partial' : deriveOutcome(all())),
      stocks,
      scripts: reportStreams(all(), finishedAt),
      ...(wrongSymbols.length === 0 ? {} : { wrongSymbols }),
      ...(notes.length === 0 ? {} : { notes: [...notes] }),
      ...omitUndefined({ asOfSession: started?.asOfSession, fleet, error: end?.error, code: end?.code }),
    }),
  }
}

const reportStreams = (all: readonly StreamStats[], finishedAt: number): RunReport['scripts'] =>
  Object.fromEntries(all.map((stats) => [stats.name, createScriptReport(stats, finishedAt)]))

const describeTime = (started: RunStarted | undefined, finishedAt: number) => {
  const { run = '', asOf = 0, at = 0 } = started ?? {}
  return {
    run,
    asOf: new Date(asOf).toISOString(),
    startedAt: new Date(at).toISOString(),
    finishedAt: new Date(finishedAt).toISOString(),
    durationMs: finishedAt - at,
  }
}

const isNeeded = (host: Host, streams: readonly StreamStats[]): boolean => {
  const users = streams.filter(({ hosts }) => hosts.includes(host))
  return users.length === 0 || users.some(({ finishedAt }) => finishedAt === undefined)
}

const recordPause = (
  pauses: Map<string, PausedHosts>,
  event: Extract<RunEvent, { readonly type: 'host-paused' | 'host-resumed' }>,
): void => {
  for (const host of event.hosts) {
    const key = event.endpoint === undefined ? host : `${host} ${event.endpoint}`
    if (event.type === 'host-paused') pauses.set(key, event)
    else pauses.delete(key)
  }
}

/** A warning with a code is a refusal of an answer. */
const countWarning = (
  stats: StreamStats,
  { text, code }: Extract<RunEvent, { readonly type: 'warning' }>,
): void => {
  if (code === undefined) addProblem(stats.warnings, MAX_WARNINGS, { reason: text })
  else {
    stats.refusals += 1
    addCauses(stats, { code })
    addProblem(stats.failures, MAX_FAILURES, { code, reason: text })
  }
}

const applyEvent = (stats: StreamStats | undefined, event: RunEvent): void => {
  if (stats === undefined) return
  switch (event.type) {
    case 'stream-started':
      stats.state = 'running'
      stats.startedAt = event.at
      break
    case 'items-known':
      stats.total = event.total
      break
    case 'requested':
      stats.requests += event.count ?? 1
      break
    case 'retried':
      stats.retries += 1
      if (event.item !== undefined) stats.retriedItems.add(event.item)
      break
    case 'rate-limited':
      stats.rateLimited += 1
      break
    case 'item-finished':
      finishItem(stats, event)
      break
    case 'items-deferred':
      stats.deferred = event.items
      break
    case 'second-pass':
      stats.secondPass = event.items
      break
    case 'stored':
      stats.files += 1
      stats.bytes += event.bytes
      break
    case 'warning':
      countWarning(stats, event)
      break
    case 'stream-finished':
      stats.state = event.outcome === 'success' && stats.refusals > 0 ? 'partial' : event.outcome
      stats.finishedAt = event.at
      stats.error = event.error
      stats.code = event.code
  }
}

const finishItem = (stats: StreamStats, event: RunEvent & { readonly type: 'item-finished' }): void => {
  stats.finished += 1
  if (event.isTakenOver) stats.takenOver += 1
  stats.items[event.status] = (stats.items[event.status] ?? 0) + 1
  const { item, remark: reason, onlyDay } = event
  if (reason !== undefined) stats.rewritten.push(omitUndefined({ item, reason, onlyDay }))
  if (isLost(event) || event.degraded !== undefined) stats.incomplete.push(event.item)
  if (event.isTemporary) stats.temporary += 1
  if (event.newest !== undefined) stats.newest.set(event.newest, (stats.newest.get(event.newest) ?? 0) + 1)
  addCauses(stats, event)
  stats.marbles.push([event.item, toMarbleKind(event, stats.retriedItems.delete(event.item))])
  // Compacted rarely: `shift` for each item would move the others each time.
  if (stats.marbles.length >= 2 * MAX_MARBLES) stats.marbles.splice(0, stats.marbles.length - MAX_MARBLES)
  if (isLost(event)) {
    stats.lost += 1
    addProblem(stats.failures, MAX_FAILURES, toProblem(event, event.reason ?? event.status))
  } else if (event.degraded !== undefined) {
    stats.degraded += 1
    addProblem(stats.failures, MAX_FAILURES, toProblem(event, event.degraded))
  }
}

const toMarbleKind = (
  event: Extract<RunEvent, { readonly type: 'item-finished' }>,
  isRetried: boolean,
): MarbleKind => {
  if (isLost(event)) return 'failed'
  if (event.degraded !== undefined) return 'partial'
  if (event.isTakenOver) return 'resumed'
  if (isRetried) return 'retried'
  return event.status === 'empty' || event.status === 'skipped' ? event.status : 'success'
}

const toProblem = (
  { item, status, code }: RunEvent & { readonly type: 'item-finished' },
  reason: string,
): Problem => omitUndefined({ item, status, code, reason })

const addCauses = (
  { causes }: StreamStats,
  { code, causes: found }: Pick<ItemOutcome, 'code' | 'causes'>,
): void => {
  const reported: readonly ReportedCause[] = found ?? (code === undefined ? [] : [{ code }])
  for (const cause of reported) causes.set(`${cause.code} ${cause.host} ${cause.advice}`, cause)
}

const addProblem = (problems: Problem[], limit: number, problem: Problem): void => {
  if (problems.length < limit) problems.push(problem)
}

const deriveOutcome = (streams: readonly StreamStats[]): RunOutcome =>
  streams.some(
    ({ state, lost, degraded }) => state === 'failed' || state === 'partial' || lost > 0 || degraded > 0,
  )
    ? 'partial'
    : 'complete'

export const NOT_STARTED = 'the run ended before this stream started'

/**
 * A stream that was still running when the run ended counts as failed; one that had not started, as skipped
 * with that reason.
 */
const createScriptReport = (stats: StreamStats, now: number): ScriptReport => {
  const {
    state,
    startedAt,
    finishedAt = now,
    requests,
    retries,
    rateLimited,
    degraded,
    takenOver,
    files,
    bytes,
  } = stats
  return {
    outcome: state === 'running' ? 'failed' : state === 'waiting' ? 'skipped' : state,
    durationMs: startedAt === undefined ? 0 : finishedAt - startedAt,
    requests,
    retries,
    rateLimited,
    items: { ...stats.items },
    degraded,
    takenOver,
    files,
    bytes,
    problems: [...stats.failures, ...stats.warnings],
    ...(stats.rewritten.length === 0 ? {} : { rewritten: [...stats.rewritten] }),
    ...(stats.causes.size === 0 ? {} : { causes: [...stats.causes.values()] }),
    ...omitUndefined({ error: state === 'waiting' ? NOT_STARTED : stats.error, code: stats.code }),
  }
}
