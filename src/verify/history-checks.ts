import { listTables, type StreamDefinition } from '../engine/define-stream.js'
import { listRecordedTables } from '../engine/session-request.js'
import { dayToNumber } from '../market/candle-file.js'
import { DamagedFileError } from '../model/errors.js'
import type { RecordedTable } from '../model/history.js'
import { omitUndefined } from '../model/row.js'
import { type Day, isWeekday } from '../model/trading-day.js'
import { findDamages } from '../storage/history/check.js'
import { type ChosenList, chooseEachDay, describeEarlier, listListedDays } from '../storage/history/choose.js'
import { createListReader } from '../storage/history/lists.js'
import { type History, openHistory } from '../storage/history/record.js'
import { createRecordReader, digestRows } from '../storage/table-rows.js'
import { findFailingStreams } from './failing-streams.js'
import type { CheckName, Finding, MissingInput } from './finding.js'
import {
  type ContentDay,
  checkColumns,
  checkCompanyNames,
  checkFigures,
  checkMembers,
  findUnchanged,
  type ListCheck,
} from './list-checks.js'

/** The newest recorded day is compared with these many before. */
const DAYS_BEFORE = 20
const MIN_DAYS = 2

/**
 * Checks what only the recorded days show. Reads one list after the other, and of each its base and then what
 * changed from day to day. A record or a base that is damaged is a finding; the other days are compared
 * without it. `isDeep`: every byte of all days is read.
 */
export const verifyHistory = async (
  root: string,
  options: {
    sessions: readonly number[]
    streams: readonly StreamDefinition[]
    exchange: string
    isDeep: boolean
  },
) => {
  const { sessions, streams: all, exchange, isDeep } = options
  const history = await openHistory(root, listTables(all))
  const damages = (isDeep ? await findDamages(history) : history.damages).map(
    ({ day, file, detail }): Finding =>
      omitUndefined({ check: 'files', severity: 'error', day, file, detail }),
  )
  const days = listListedDays(history).slice(-1 - DAYS_BEFORE)
  const [first, last] = [days[0], days.at(-1)]
  const range = { days: days.length, ...(first === undefined || last === undefined ? {} : { first, last }) }
  const missing = [describeMissingDays(days.length), ...describeEarlier(history.earlier)].map(
    (text): MissingInput => [HISTORY_CHECKS, text],
  )
  if (first === undefined || days.length < MIN_DAYS) return { findings: damages, range, missing }
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
  return {
    findings: [
      ...damages,
      ...found.filter(({ check, file }) => check !== 'files' || !known.has(file)),
      ...failing,
    ],
    range,
    missing,
  }
}

const HISTORY_CHECKS: readonly CheckName[] = [
  'dead-columns',
  'unchanged-lists',
  'restated-figures',
  'blinking-members',
  'failing-streams',
]

const describeMissingDays = (days: number): string | false =>
  days < MIN_DAYS &&
  `recorded days: at least ${MIN_DAYS} are compared, and ${days} can be read; the runs of each day add one`

/** Whether a day is a session; a weekday, where there are no candles. */
const createSessionFilter = (sessions: readonly number[]): ((day: Day) => boolean) => {
  const known = new Set(sessions)
  const [first = Number.POSITIVE_INFINITY, last = 0] = [sessions[0], sessions.at(-1)]
  return (day) => {
    const number = dayToNumber(day)
    return number >= first && number <= last ? known.has(number) : isWeekday(day)
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
        const { checks, contents } = files.get(file) ?? {
          checks: createListChecks(file, recorded),
          contents: [],
        }
        files.set(file, { checks, contents })
        for (const check of checks) check.addDay(record.day, records)
        if (isSession(record.day))
          contents.push({
            day: record.day,
            content: table.files.length === 1 ? list.content : digestRows(table, rows),
          })
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
  [checkCompanyNames, 'master'],
  [(file) => checkMembers(file, 'warning'), 'master'],
  [(file) => checkMembers(file, 'warning'), 'indices'],
  // The exchange may put a stock under surveillance again.
  [(file) => checkMembers(file, 'info'), 'surveillance'],
]

const createListChecks = (file: string, { table }: RecordedTable): readonly ListCheck[] =>
  LIST_CHECKS.flatMap(([create, name = table.name]) => (name === table.name ? [create(file)] : []))
