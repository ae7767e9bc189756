import { omitUndefined } from '../../model/row.js'
import { type LoggedScript, type RunLogEntry, toRunReport } from '../../model/run-log.js'
import { countLost, describeStale } from '../../model/script-figures.js'
import type { OneRun, RunRow } from '../api/runs.js'
import { toRunState } from './folder-state.js'
import { AnswerError } from './guard.js'
import type { Served } from './route.js'

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
export const describeRun = (runs: readonly RunLogEntry[], id: string, served: Pick<Served, 'streams' | 'workers'>): OneRun => {
  const { entry, index } = findRun(runs, id)
  return omitUndefined({
    ...toRunRow(entry),
    state: toRunState(toRunReport(entry), served),
    lacks: entry.missing ?? {},
    earlier: runs[index - 1]?.run,
    later: runs[index + 1]?.run,
  })
}
