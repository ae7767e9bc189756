import { omitUndefined } from '../../model/row.js'
import type { LoggedScript, RunLogEntry } from '../../model/run-log.js'
import { countLost, describeStale } from '../../model/script-figures.js'
import type { RunRow } from '../api/runs.js'
import { AnswerError } from './guard.js'

/** One run, as a list shows it. */
export const toRunRow = (entry: RunLogEntry): RunRow => {
  const { scripts, missing = {}, drift = 0, finishedAt: _, ...row } = entry
  const sum = (read: (script: LoggedScript) => number): number =>
    Object.values(scripts).reduce((total, script) => total + read(script), 0)
  return omitUndefined({
    ...row,
    drift,
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
export const findRun = (
  runs: readonly RunLogEntry[],
  id: string,
): { readonly entry: RunLogEntry; readonly index: number } => {
  const index = runs.findLastIndex(({ run }) => run === id)
  const entry = runs[index]
  if (entry === undefined) throw new AnswerError(404, `no run ${id} is recorded in this folder`)
  return { entry, index }
}
