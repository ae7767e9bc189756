import type { RunReport, ScriptReport } from '../../model/report.js'
import { omitUndefined } from '../../model/row.js'
import { type RunLogEntry, toRunReport } from '../../model/run-log.js'
import { countItems, countLost, isIdle, wasStopped } from '../../model/script-figures.js'
import type { LiveRunState, LiveStream } from '../api/live.js'
import type { OneRun } from '../api/runs.js'
import type { Served } from './route.js'
import { describePhases } from './run-view.js'
import { findRun, toRunRow } from './runs.js'

/** @throws AnswerError if the folder has no such run */
export const describeRun = (
  runs: readonly RunLogEntry[],
  id: string,
  served: Pick<Served, 'streams' | 'workers'>,
): OneRun => {
  const { entry, index } = findRun(runs, id)
  return omitUndefined({
    ...toRunRow(entry),
    state: toRunState(toRunReport(entry), served),
    lacks: entry.missing ?? {},
    earlier: runs[index - 1]?.run,
    later: runs[index + 1]?.run,
  })
}

/** A run that has ended, in the shape of an active one. */
export const toRunState = (
  report: RunReport,
  { streams, workers }: Pick<Served, 'streams' | 'workers'>,
): LiveRunState => {
  const isCut = report.outcome === 'failed' || report.outcome === 'interrupted'
  const all = streams.flatMap(({ name, workers: usual }) => {
    const script = report.scripts[name]
    return script === undefined ? [] : [toStream(name, script, { workers: workers[name] ?? usual, isCut })]
  })
  const done = all.reduce((sum, stream) => sum + stream.done, 0)
  return omitUndefined({
    run: report.run,
    asOf: Date.parse(report.asOf),
    startedAt: Date.parse(report.startedAt),
    at: Date.parse(report.finishedAt),
    stocks: report.stocks,
    done,
    total: done,
    share: 1,
    outcome: report.outcome,
    error: report.error,
    fleet: report.fleet,
    notes: report.notes,
    phases: describePhases(streams),
    streams: all,
  })
}

interface StreamContext {
  readonly workers: number
  /** Whether the run ended early, so that it has not started all of its streams. */
  readonly isCut: boolean
}

const toStream = (name: string, script: ScriptReport, { workers, isCut }: StreamContext): LiveStream => {
  const { durationMs, requests, retries, rateLimited, degraded, items, files, bytes, error, problems } =
    script
  const done = countItems(script)
  const failures = problems.filter(
    ({ item, status, code }) => item !== undefined || status !== undefined || code !== undefined,
  )
  return omitUndefined({
    state: toEndState(script, isCut),
    total: wasStopped(script) ? undefined : done,
    lost: countLost(script),
    name,
    done,
    workers,
    requests,
    retries,
    rateLimited,
    partial: degraded,
    startedAt: 0,
    finishedAt: durationMs,
    inFlight: 0,
    perSecond: durationMs > 0 ? ((done - script.takenOver) * 1_000) / durationMs : undefined,
    statuses: Object.fromEntries(Object.entries(items).filter(([, count]) => count > 0)),
    warnings: problems.filter((problem) => !failures.includes(problem)),
    files,
    stored: bytes,
    failures,
    pauses: [],
    marbles: [],
    error,
  })
}

const toEndState = (script: ScriptReport, isCut: boolean): LiveStream['state'] => {
  if (wasStopped(script)) return 'interrupted'
  return isCut && script.outcome === 'skipped' && isIdle(script) ? 'waiting' : script.outcome
}
