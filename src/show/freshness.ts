import { join } from 'node:path'
import { listTables, toFilePath } from '../engine/define-stream.js'
import { STATE_FOLDER } from '../engine/storage.js'
import { formatQuantity } from '../model/format.js'
import type { RunReport } from '../model/report.js'
import { omitUndefined } from '../model/row.js'
import { RUN_LOG, toRunReport } from '../model/run-log.js'
import { describeStale } from '../model/script-figures.js'
import { type Day, toDay } from '../model/trading-day.js'
import { statFile } from '../storage/file-system.js'
import { type RunRecords, readRunRecords } from '../storage/run-records.js'
import { readMarketDays } from '../storage/session-days.js'
import type { About } from './answers.js'
import { describeFreshness } from './brief.js'
import type { DataSource, MarketFolder } from './folder.js'

export interface KnownRuns extends Pick<RunRecords, 'report' | 'runs'> {
  /** The session that the day of a run is about. */
  readonly toMarketDay: (day: Day) => Day
}

/** The file of the last run's report, in the output folder. */
export const REPORT = `${STATE_FOLDER}/report.json`
const RUNS = `${STATE_FOLDER}/${RUN_LOG}`

/** Reads the report of the last run and the run history, as they were at the end of the day of the folder. */
export const readRunFacts = async ({ root, day, streams, remember }: MarketFolder): Promise<KnownRuns> => {
  const facts: KnownRuns = await remember('runs', [REPORT, RUNS], async () => {
    const { report, runs } = await readRunRecords(root)
    const days = [...runs, ...(report ? [report] : [])].map(({ asOf }) => toDay(Date.parse(asOf)))
    return { report, runs, toMarketDay: await readMarketDays(root, listTables(streams), days) }
  })
  if (day === undefined) return facts
  const runs = facts.runs.filter(({ asOf }) => toDay(Date.parse(asOf)) <= day)
  const last = runs.at(-1)
  return { ...facts, runs, report: last && toRunReport(last) }
}

/** The day that lists of a run are about: its own, on a weekend without a session the Friday before. */
const toListDay = (asOf: string | undefined, { toMarketDay }: KnownRuns): Day | undefined => {
  const instant = Date.parse(asOf ?? '')
  return Number.isNaN(instant) ? undefined : toMarketDay(toDay(instant))
}

/**
 * What an output of a stream is about: the day and the time of the newest run that fetched it, and what is
 * wrong with it.
 */
export const describeAbout = (
  facts: KnownRuns,
  stream: string,
  list: { readonly isMissing?: boolean; readonly damage?: string | undefined } = {},
): About => {
  const fetched = findFetch(facts, stream)
  return omitUndefined({
    day: toListDay(fetched?.asOf, facts),
    fetchedAt: fetched?.finishedAt,
    problem: list.damage ?? describeProblem(facts, stream, list.isMissing === true),
  })
}

/**
 * The first of the files of a stream that is not there: such a list is not known, which is not the same as
 * empty.
 */
export const findMissingFile = (
  { root, exchange, streams, day }: DataSource,
  stream: string,
): string | undefined => {
  const { outputs = [], work } = streams.find(({ name }) => name === stream) ?? {}
  // Files of single stocks may be missing, and those of a past day are in its record.
  if (work === undefined || day !== undefined) return undefined
  const parts = work.parts.length > 0 ? work.parts : [{ fileName: '' }]
  const files = outputs.flatMap((output) =>
    work.of !== undefined && output.file.includes('{')
      ? []
      : parts.map((part) => toFilePath(output, exchange, part)),
  )
  return files.find((file) => statFile(join(root, file)) === undefined)
}

const FETCHED: readonly string[] = ['success', 'partial']

/**
 * The newest run that fetched a stream. A run that resumed everything or found it up to date sent no request,
 * and does not count.
 */
const findFetch = (
  { report, runs }: KnownRuns,
  stream: string,
): Pick<RunReport, 'asOf' | 'finishedAt'> | undefined => {
  const logged = runs.findLast(({ scripts }) => FETCHED.includes(scripts[stream]?.outcome ?? ''))
  return logged ?? (report && FETCHED.includes(report.scripts[stream]?.outcome ?? '') ? report : undefined)
}

const describeProblem = (
  { report, runs }: KnownRuns,
  stream: string,
  isMissing: boolean,
): string | undefined => {
  if (report === undefined)
    return isMissing ? 'not fetched yet: no run has finished in this folder' : undefined
  const { outcome, missing, reason, completeOn } = describeFreshness(stream, report, runs)
  const because = reason === undefined ? '' : `: ${reason}`
  if (outcome === 'failed' || outcome === 'stopped')
    return `${stream} ${outcome === 'failed' ? 'failed' : 'was stopped'} in the last run${because}${isMissing ? '' : '; what is shown is older'}`
  if (missing === 'all') return `${stream} is missing${because}`
  if (missing !== undefined)
    return `${formatQuantity(missing, 'item is', 'items are')} missing in ${stream}${because}`
  const { stale = [] } = report
  const [late] = describeStale({ stale: stale.filter((one) => one.stream === stream) })
  if (late !== undefined) return late
  return isMissing && completeOn === undefined ? `${stream} was not part of the last run` : undefined
}
