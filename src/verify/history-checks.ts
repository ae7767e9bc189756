import { type Output, type StreamDefinition, toFilePath } from '../engine/define-stream.js'
import { listRecordedTables } from '../engine/session-request.js'
import { dayToNumber } from '../market/candle-file.js'
import { DamagedFileError } from '../model/errors.js'
import type { RecordedTable } from '../model/history.js'
import { getOrAdd } from '../model/map.js'
import { omitUndefined } from '../model/row.js'
import type { LoggedScript } from '../model/run-log.js'
import { type Day, lastWeekday, toDay } from '../model/trading-day.js'
import { findDamages } from '../storage/history/check.js'
import { type ChosenList, chooseEachDay, listListedDays } from '../storage/history/choose.js'
import { createListReader } from '../storage/history/lists.js'
import { type History, openHistory } from '../storage/history/record.js'
import { readRunRecords } from '../storage/run-records.js'
import { createRecordReader, digestRows } from '../storage/table-rows.js'
import type { Finding, MissingInput, Verification } from './finding.js'
import { type ContentDay, checkColumns, checkFigures, checkMembers, findUnchanged, type ListCheck } from './list-checks.js'

/** The newest recorded day is compared with these many before. */
const DAYS_BEFORE = 20
const MIN_DAYS = 2

/**
 * Checks what only the recorded days show. Reads one list after the other, and of each its base and then what changed from day to day. A record
 * or a base that is damaged is a finding; the other days are compared without it. `isWhole`: every byte of all days is read.
 */
export const verifyHistory = async (
  root: string,
  options: { sessions: readonly number[]; streams: readonly StreamDefinition[]; exchange: string; isWhole: boolean },
) => {
  const { sessions, streams: all, exchange, isWhole } = options
  const history = await openHistory(root)
  const damages = (isWhole ? await findDamages(history) : history.damages).map(
    ({ day, file, detail }): Finding => omitUndefined({ check: 'files', severity: 'error', day, file, detail }),
  )
  const days = listListedDays(history).slice(-1 - DAYS_BEFORE)
  const [first, last] = [days[0], days.at(-1)]
  const range = { days: days.length, ...(first === undefined || last === undefined ? {} : { first, last }) }
  if (first === undefined || days.length < MIN_DAYS) return { findings: damages, range }
  const isSession = createSessionFilter(sessions)
  const found: Finding[] = []
  const streams = new Map(days.map((day): [Day, string[]] => [day, []]))
  for (const recorded of listRecordedTables(all, exchange)) {
    const own = chooseEachDay(history, recorded.table.name).filter(({ record }) => record.day >= first)
    for (const { record } of own) streams.get(record.day)?.push(recorded.stream)
    if (own.length > 0) found.push(...(await verifyList(history, recorded, { days: own, isSession })))
  }
  const failing = await findFailingStreams(
    root,
    [...streams].map(([day, names]) => ({ day, streams: names })),
    options,
  )
  const known = new Set(damages.map(({ file }) => file))
  return { findings: [...damages, ...found.filter(({ check, file }) => check !== 'files' || !known.has(file)), ...failing], range }
}

export const describeMissingDays = ({ days }: Verification['history']): MissingInput => [
  ['dead-columns', 'unchanged-lists', 'restated-figures', 'blinking-members', 'failing-streams'],
  days < MIN_DAYS && `recorded days: at least ${MIN_DAYS} are compared, and ${days} can be read; the runs of each day add one`,
]

/** Whether a day is a session; a weekday, where there are no candles. */
const createSessionFilter = (sessions: readonly number[]): ((day: Day) => boolean) => {
  const known = new Set(sessions)
  const [first = Number.POSITIVE_INFINITY, last = 0] = [sessions[0], sessions.at(-1)]
  return (day) => {
    const number = dayToNumber(day)
    return number >= first && number <= last ? known.has(number) : lastWeekday(day) === day
  }
}

const verifyList = async (
  history: History,
  recorded: RecordedTable,
  { days, isSession }: { readonly days: readonly ChosenList[]; readonly isSession: (day: Day) => boolean },
): Promise<readonly Finding[]> => {
  const { table } = recorded
  const read = createListReader(history)
  const toRecords = createRecordReader(table)
  const files = new Map<string, { readonly checks: readonly ListCheck[]; readonly contents: ContentDay[] }>()
  const damages = new Map<string, Finding>()
  for (const { record, list } of days) {
    try {
      for (const [file, { records, rows }] of toRecords(await read(list))) {
        const { checks, contents } = files.get(file) ?? { checks: createListChecks(file, recorded), contents: [] }
        files.set(file, { checks, contents })
        for (const check of checks) check.addDay(record.day, records)
        if (isSession(record.day))
          contents.push({ day: record.day, content: table.files.length === 1 ? list.content : digestRows(table, rows) })
      }
    } catch (error) {
      if (!(error instanceof DamagedFileError)) throw error
      const file = error.message.split(' ')[0] ?? ''
      damages.set(file, { check: 'files', severity: 'error', day: record.day, file, detail: error.message })
    }
  }
  const found = [...files].flatMap(([file, { checks, contents }]) => [
    ...checks.flatMap((check) => check.finish()),
    ...findUnchanged(file, contents),
  ])
  return [...damages.values(), ...found]
}

/** What is checked of the recorded days of a list: of all lists, or of that of a table. */
const LIST_CHECKS: readonly (readonly [create: (file: string) => ListCheck, table?: string])[] = [
  [checkColumns],
  [checkFigures, 'fundamentals'],
  [(file) => checkMembers(file, 'warning'), 'master'],
  [(file) => checkMembers(file, 'warning'), 'indices'],
  // The exchange may put a stock under surveillance again.
  [(file) => checkMembers(file, 'info'), 'surveillance'],
]

const createListChecks = (file: string, { table }: RecordedTable): readonly ListCheck[] =>
  LIST_CHECKS.flatMap(([create, name = table.name]) => (name === table.name ? [create(file)] : []))

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
 * Finds streams that no run of the last days completed, by the log of the runs; and of days that it does not have, those that lack the record of
 * a stream although other streams have one.
 */
const findFailingStreams = async (
  root: string,
  days: readonly StreamDay[],
  { streams: all, exchange }: { readonly streams: readonly StreamDefinition[]; readonly exchange: string },
): Promise<readonly Finding[]> => {
  const { logged, streams } = await readLog(root)
  const failing = [...streams].flatMap(([name, days]) => findFailing(name, days))
  const outputs = new Map(all.map(({ name, outputs: [output] }) => [name, output]))
  const toFile = (output: Output | undefined): string | undefined => output && toFilePath(output, exchange, { fileName: '*' })
  // The file tells streams apart that fail since the same day: their findings are accepted and end one by one.
  return [...failing, ...findUnrecorded(days, logged)].map(({ stream, ...about }) =>
    omitUndefined({ check: 'failing-streams', ...about, file: toFile(outputs.get(stream)) }),
  )
}

type StreamFinding = Omit<Finding, 'check' | 'file'> & { readonly stream: string }

/** The days with a run, and the best outcome of each stream on its days. */
const readLog = async (root: string): Promise<{ readonly logged: ReadonlySet<Day>; readonly streams: ReadonlyMap<string, StreamDays> }> => {
  const runs = (await readRunRecords(root)).runs.map((entry) => ({ day: toDay(Date.parse(entry.asOf)), entry }))
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
    if (since === undefined || lacking.length < MIN_FAILED_DAYS || lacking.some((day) => logged.has(day))) return []
    const detail = `${name} has no record since ${since}, on ${lacking.length} recorded days until ${lacking.at(-1)}; its last one is of ${days[last]?.day}`
    return [{ stream: name, severity: 'warning', day: since, detail }]
  })
