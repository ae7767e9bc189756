import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { formatError } from '../../model/errors.js'
import { groupBy } from '../../model/map.js'
import { createRedactor } from '../../model/redact.js'
import type { RunReport, ScriptReport } from '../../model/report.js'
import {
  countItems,
  countLost,
  describeStale,
  isIdle,
  isIncomplete,
  wasStopped,
} from '../../model/script-figures.js'
import type { Settings } from '../../model/settings.js'
import { toDay } from '../../model/trading-day.js'
import type { Brief } from '../../show/brief.js'
import type { Finding } from '../../verify/finding.js'
import { briefHead } from '../brief/lines.js'
import type { EndedCommand } from '../run/context.js'
import { OUTCOME_WORDS } from '../run/summary.js'
import { clean, cut, formatQuantity } from '../terminal/text.js'

const PAYLOAD_VERSION = 1
const MAX_CHANGED_STOCKS = 50
const MAX_NEW_FINDINGS = 50
const MAX_TEXT_COLUMNS = 500
/** Room for what follows the reason of a failure. */
const MAX_REASON_COLUMNS = 240

/** What a notification says besides how its command ended. */
export interface Facts {
  readonly command: string
  /** What failed while the notification was made, a sentence each. */
  readonly notes: readonly string[]
  readonly brief?: Brief | undefined
  /** What happened, of a command that is no run. */
  readonly headline?: string
  readonly findings?: readonly Finding[]
  /** Whether it only tests the notification. */
  readonly isTest?: boolean
}

interface PayloadSource {
  readonly settings: Settings
  readonly isSimulated: boolean
}

/** What a notification contains, as src/cli/README.md documents it. */
export const createPayload = (
  { report, signal, error, exitCode, at }: EndedCommand,
  { settings, isSimulated }: PayloadSource,
  { command, notes, brief, headline, findings = brief?.findings, isTest = false }: Facts,
) => {
  const outcome = isTest ? 'complete' : (report?.outcome ?? (signal === undefined ? 'failed' : 'interrupted'))
  const redact = createRedactor(settings)
  const why = report?.error ?? (error === undefined ? undefined : redact(formatError(error)))
  const now = new Date(at).toISOString()
  const { run, asOf = now, startedAt = now, finishedAt = now, durationMs = 0, stocks = 0 } = report ?? {}
  const failed = report === undefined ? [] : listFailed(report)
  const stale = describeStale(report ?? {})
  const parts = [
    ...(headline === undefined
      ? composeText({ outcome, why, failed, stale, brief })
      : [`${command}: ${redact(headline)}`]),
    ...notes.map((note) => `${note}.`),
  ]
  return {
    version: PAYLOAD_VERSION,
    text: cut(clean(`scripstream: ${parts.join(' ')}`), MAX_TEXT_COLUMNS),
    command,
    test: isTest || undefined,
    outcome,
    exitCode,
    error: why,
    run,
    machine: hostname(),
    folder: resolve(settings.out),
    simulated: isSimulated,
    upToDate: report?.finishedBefore !== undefined,
    day: toDay(Date.parse(asOf)),
    asOf,
    startedAt,
    finishedAt,
    durationMs,
    counts: { stocks, ...countAll(Object.values(report?.scripts ?? {})) },
    failed,
    stale,
    ...(brief === undefined ? {} : listChanges(brief)),
    findings: findings?.slice(0, MAX_NEW_FINDINGS),
    newFindings: findings?.length,
    ...(brief === undefined && notes.length === 0 ? {} : { notes: [...notes, ...(brief?.notes ?? [])] }),
  }
}

export type Payload = ReturnType<typeof createPayload>

const countAll = (scripts: readonly ScriptReport[]) => {
  const ran = scripts.filter((script) => !isIdle(script))
  const sum = (count: (script: ScriptReport) => number): number =>
    ran.reduce((total, script) => total + count(script), 0)
  return {
    streams: ran.length,
    failedStreams: ran.filter((script) => isIncomplete(script) && !wasStopped(script)).length,
    items: sum(countItems),
    failedItems: sum(countLost),
    requests: sum(({ requests }) => requests),
    files: sum(({ files }) => files),
    bytes: sum(({ bytes }) => bytes),
  }
}

/** The streams that failed or lack items, with the first reasons; not those that a signal stopped. */
const listFailed = ({ scripts, missing = {} }: RunReport) =>
  Object.entries(scripts)
    .filter(([, script]) => isIncomplete(script) && !wasStopped(script))
    .map(([stream, { outcome, error, problems }]) => ({
      stream,
      outcome,
      error,
      missing: missing[stream],
      problems: problems.map(({ item, status, reason }) => ({ item, status, reason })),
    }))

const listChanges = ({ since, counts, changes, signals }: Brief) => ({
  since,
  changed: counts,
  changes: changes.filter(({ isWatched }, index) => isWatched || index < MAX_CHANGED_STOCKS),
  changedStocks: changes.length,
  signals: signals?.slice(0, MAX_NEW_FINDINGS),
})

/** The rules with what they name: `asm-stages TCS, INFY`. */
const countSignals = (signals: NonNullable<Brief['signals']>): string =>
  [...groupBy(signals, ({ rule }) => rule)]
    .map(([rule, own]) => `${rule} ${own.map(({ subject }) => subject).join(', ')}`)
    .join('; ')

const composeText = (facts: {
  readonly outcome: RunReport['outcome']
  readonly why: string | undefined
  readonly failed: ReturnType<typeof listFailed>
  readonly stale: readonly string[]
  readonly brief: Brief | undefined
}): readonly string[] => {
  const { outcome, why, failed, stale, brief } = facts
  const sums = Object.entries(brief?.counts ?? {}).filter(([, count]) => count > 0)
  const watched = (brief?.changes ?? []).filter(({ isWatched }) => isWatched).map(({ symbol }) => symbol)
  return [
    brief === undefined
      ? `${OUTCOME_WORDS[outcome][0]}${why === undefined ? '' : `: ${cut(why, MAX_REASON_COLUMNS)}`}.`.replace(
          /\.\.$/,
          '.',
        )
      : briefHead(brief),
    // The error of the whole run is that of a stream.
    ...(why === undefined ? failed : []).map(
      ({ stream, missing }) =>
        `${stream}: ${typeof missing === 'number' ? `${formatQuantity(missing, 'item')} missing` : 'failed'}.`,
    ),
    ...stale.map((line) => `Not up to date: ${line}.`),
    ...(sums.length > 0 ? [`Changed: ${sums.map(([name, count]) => `${name} ${count}`).join(', ')}.`] : []),
    ...(watched.length > 0 ? [`On the watchlist: ${watched.join(', ')}.`] : []),
    ...(brief?.signals ? [`Signals: ${countSignals(brief.signals)}.`] : []),
    ...(brief?.findings?.length ? [`New findings: ${brief.findings.length}.`] : []),
  ]
}
