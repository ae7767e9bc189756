import { isSignificant } from './drift.js'
import type { Status } from './errors.js'
import type { RunReport, ScriptReport } from './report.js'
import { isRow } from './row.js'

/** One line for each ended run, oldest first. */
export const RUN_LOG = 'runs.ndjson'

/** How many failed items of a stream an entry names. */
const MAX_NAMED = 200

/** The failed items of a stream: all of them, or those named here, out of `count`. */
export interface FailedCount {
  readonly count: number | 'all'
  readonly items?: readonly string[]
}

/** A stream in an entry: the figures of its report, and the first reasons of its failures. */
export type LoggedScript = Pick<
  ScriptReport,
  'outcome' | 'durationMs' | 'requests' | 'retries' | 'rateLimited' | 'items' | 'files' | 'bytes'
> & {
  readonly degraded?: number
  readonly error?: string
  readonly problems?: readonly { readonly item?: string; readonly status?: Status; readonly reason: string }[]
}

/** An ended run, as `scripstream log` shows it. Instants are ISO 8601 in UTC. */
export interface RunLogEntry extends Pick<RunReport, 'run' | 'asOf' | 'startedAt' | 'finishedAt' | 'durationMs' | 'outcome' | 'stocks'> {
  readonly stale?: NonNullable<RunReport['stale']>
  readonly error?: string
  /** The streams that ran. */
  readonly scripts: Readonly<Record<string, LoggedScript>>
  /** What was missing in the folder after the run, from this and earlier runs. */
  readonly missing?: Readonly<Record<string, FailedCount>>
  /** Changes in answers that were not accepted. */
  readonly drift?: number
}

/** The entry of a report. `failed` are the failed items by stream. */
export const toRunLogEntry = (report: RunReport, failed: Readonly<Record<string, readonly string[] | 'all'>>): RunLogEntry => {
  const { run, asOf, startedAt, finishedAt, durationMs, outcome, stocks, error, scripts, stale, drift = [] } = report
  const missing = Object.entries(failed).map(([name, items]) => [name, countFailed(items)] as const)
  const unaccepted = drift.filter(isSignificant).length
  return {
    ...{ run, asOf, startedAt, finishedAt, durationMs, outcome, stocks },
    ...(error === undefined ? {} : { error }),
    scripts: Object.fromEntries(
      Object.entries(scripts).flatMap(([name, script]) => (hasRun(script) ? [[name, toLoggedScript(script)]] : [])),
    ),
    ...(missing.length === 0 ? {} : { missing: Object.fromEntries(missing) }),
    ...(stale === undefined ? {} : { stale }),
    ...(unaccepted === 0 ? {} : { drift: unaccepted }),
  }
}

const countFailed = (items: readonly string[] | 'all'): FailedCount =>
  items === 'all' ? { count: items } : { count: items.length, items: items.slice(0, MAX_NAMED) }

const hasRun = ({ outcome, requests }: ScriptReport): boolean => requests > 0 || outcome === 'failed' || outcome === 'partial'

const toLoggedScript = (script: ScriptReport): LoggedScript => {
  const { outcome, durationMs, requests, retries, rateLimited, items, files, bytes, degraded, error, problems } = script
  return {
    ...{ outcome, durationMs, requests, retries, rateLimited, items, files, bytes },
    ...(degraded === 0 ? {} : { degraded }),
    ...(error === undefined ? {} : { error }),
    ...(problems.length === 0 ? {} : { problems: problems.map(({ item, status, reason }) => ({ item, status, reason })) }),
  } as LoggedScript
}

/** Reads the entries; a line that a kill has cut, or that is not an entry, is ignored. */
export const parseRunLog = (text: string): readonly RunLogEntry[] =>
  text.split('\n').flatMap((line) => {
    const entry = parseLine(line)
    return isRow(entry) && typeof entry.run === 'string' && typeof entry.finishedAt === 'string' && isRow(entry.scripts)
      ? [entry as unknown as RunLogEntry]
      : []
  })

const parseLine = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
