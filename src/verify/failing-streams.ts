import { type Output, type StreamDefinition, toFilePath } from '../engine/define-stream.js'
import { getOrAdd } from '../model/map.js'
import { omitUndefined } from '../model/row.js'
import type { LoggedScript } from '../model/run-log.js'
import { type Day, toDay } from '../model/trading-day.js'
import { readRunRecords } from '../storage/run-records.js'
import type { Finding } from './finding.js'

/** Days in a row without success that are reported. */
const MIN_FAILED_DAYS = 2
/** Days of the log that are looked at. */
const MAX_LOGGED_DAYS = 20

interface StreamDay {
  readonly day: Day
  readonly streams: readonly string[]
}

type StreamDays = ReadonlyMap<Day, LoggedScript>

/**
 * Finds streams that no run of the last days completed, by the log of the runs; and of days that it does not
 * have, those that lack the record of a stream although other streams have one.
 */
export const findFailingStreams = async (
  root: string,
  days: readonly StreamDay[],
  { streams: all, exchange }: { readonly streams: readonly StreamDefinition[]; readonly exchange: string },
): Promise<readonly Finding[]> => {
  const { logged, streams } = await readLog(root)
  const failing = [...streams].flatMap(([name, days]) => findFailing(name, days))
  const outputs = new Map(all.map(({ name, outputs: [output] }) => [name, output]))
  const toFile = (output: Output | undefined): string | undefined =>
    output && toFilePath(output, exchange, { fileName: '*' })
  // The file tells streams apart that fail since the same day: their findings are accepted and end one by
  // one.
  return [...failing, ...findUnrecorded(days, logged)].map(({ stream, ...about }) =>
    omitUndefined({ check: 'failing-streams', ...about, file: toFile(outputs.get(stream)) }),
  )
}

type StreamFinding = Omit<Finding, 'check' | 'file'> & { readonly stream: string }

/** The days with a run, and the best outcome of each stream on its days. */
const readLog = async (
  root: string,
): Promise<{ readonly logged: ReadonlySet<Day>; readonly streams: ReadonlyMap<string, StreamDays> }> => {
  const runs = (await readRunRecords(root)).runs.map((entry) => ({
    day: toDay(Date.parse(entry.asOf)),
    entry,
  }))
  const logged = [...new Set(runs.map(({ day }) => day))].sort().slice(-MAX_LOGGED_DAYS)
  const streams = new Map<string, Map<Day, LoggedScript>>()
  for (const { day, entry } of runs) {
    if (!logged.includes(day)) continue
    for (const [name, script] of Object.entries(entry.scripts)) {
      const days = getOrAdd(streams, name, () => new Map<Day, LoggedScript>())
      if (days.get(day)?.outcome !== 'success') days.set(day, script)
    }
  }
  return { logged: new Set(logged), streams }
}

const findFailing = (name: string, byDay: StreamDays): readonly StreamFinding[] => {
  const days = [...byDay].sort(([one], [other]) => (one < other ? -1 : 1))
  const from = days.findLastIndex(([, { outcome }]) => outcome === 'success') + 1
  const [since] = days[from] ?? []
  const [last, script] = days.at(-1) ?? []
  if (since === undefined || script === undefined || days.length - from < MIN_FAILED_DAYS) return []
  const success = days[from - 1]?.[0]
  const reason = script.error ?? script.problems?.[0]?.reason ?? 'see the log of the runs'
  const isFailed = script.outcome === 'failed'
  return [
    {
      stream: name,
      severity: isFailed ? 'error' : 'warning',
      day: since,
      detail: `${name} ${isFailed ? 'fails' : 'loses items'} since ${since}, on ${days.length - from} days until ${last}; ${success === undefined ? 'no earlier success is in the log' : `the last success was on ${success}`}; the newest reason: ${reason}`,
    },
  ]
}

const findUnrecorded = (days: readonly StreamDay[], logged: ReadonlySet<Day>): readonly StreamFinding[] =>
  [...new Set(days.flatMap(({ streams }) => streams))].flatMap((name): readonly StreamFinding[] => {
    const last = days.findLastIndex(({ streams }) => streams.includes(name))
    const lacking = days.slice(last + 1).map(({ day }) => day)
    const [since] = lacking
    if (since === undefined || lacking.length < MIN_FAILED_DAYS || lacking.some((day) => logged.has(day)))
      return []
    const detail = `${name} has no record since ${since}, on ${lacking.length} recorded days until ${lacking.at(-1)}; its last one is of ${days[last]?.day}`
    return [{ stream: name, severity: 'warning', day: since, detail }]
  })
