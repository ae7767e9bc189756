import { omitUndefined } from '../../model/row.js'
import type { LoggedScript, RunLogEntry } from '../../model/run-log.js'
import { countItems, countLost, describeStale, wasStopped } from '../../model/script-figures.js'
import type { OneRun, RunRow, RunStream } from '../api/runs.js'
import { AnswerError } from './guard.js'

/** One run, as a list shows it. */
export const toRunRow = (entry: RunLogEntry): RunRow => {
  const { run, startedAt, asOf, durationMs, outcome, stocks, scripts, missing = {}, drift = 0, error } = entry
  const sum = (read: (script: LoggedScript) => number): number => Object.values(scripts).reduce((total, script) => total + read(script), 0)
  return omitUndefined({
    ...{ run, startedAt, asOf, durationMs, outcome, stocks, error, drift },
    requests: sum(({ requests }) => requests),
    retries: sum(({ retries }) => retries),
    lost: sum(countLost),
    stale: describeStale(entry),
    missing: Object.entries(missing).map(([name, { count }]) => `${name}: ${count}`),
  })
}

/** The run that wrote the files of the folder: one that failed as a whole wrote none. */
export const findLastWriter = (runs: readonly RunLogEntry[]): RunLogEntry | undefined =>
  runs.findLast(({ outcome }) => outcome !== 'failed')

/** @throws AnswerError if the folder has no such run */
export const findRun = (runs: readonly RunLogEntry[], id: string): { readonly entry: RunLogEntry; readonly index: number } => {
  const index = runs.findLastIndex(({ run }) => run === id)
  const entry = runs[index]
  if (entry === undefined) throw new AnswerError(404, `no run ${id} is recorded in this folder`)
  return { entry, index }
}

/** @throws AnswerError if the folder has no such run */
export const describeRun = (runs: readonly RunLogEntry[], id: string): OneRun => {
  const { entry, index } = findRun(runs, id)
  const earlier = runs[index - 1]
  return omitUndefined({
    ...toRunRow(entry),
    streams: Object.entries(entry.scripts).map(([name, script]) =>
      toRunStream(name, script, { missing: entry.missing?.[name], before: earlier?.scripts[name] }),
    ),
    earlier: earlier?.run,
    later: runs[index + 1]?.run,
  })
}

const toRunStream = (
  name: string,
  script: LoggedScript,
  { missing, before }: { readonly missing: RunStream['missing']; readonly before: LoggedScript | undefined },
): RunStream => {
  const { outcome, durationMs, requests, retries, rateLimited, files, bytes, degraded = 0, error, problems = [] } = script
  return omitUndefined({
    outcome: wasStopped(script) ? 'interrupted' : outcome,
    ...{ name, durationMs, requests, retries, rateLimited, files, bytes, error, problems, missing },
    done: countItems(script),
    lost: countLost(script),
    partial: degraded,
    beforeMs: before?.durationMs,
  })
}
