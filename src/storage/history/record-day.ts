import type { RunRecord } from '../../engine/storage.js'
import { findPlace, type KnownSessions, type Place } from '../../market/calendar.js'
import { isSignificant } from '../../model/drift.js'
import type { HistoryRequest, RecordedTable } from '../../model/history.js'
import { findRequestedAt, type RunReport } from '../../model/report.js'
import { omitUndefined } from '../../model/row.js'
import { readHours, toInstant } from '../../model/trading-day.js'
import { describeFileError } from '../file-system.js'
import { readSessionDays } from '../session-days.js'
import { digestRows, hasFile, readTable, readTables } from '../table-rows.js'
import { chooseList, findListTiming, isBetterTiming, listDays, listListedDays } from './choose.js'
import { encodeSeen, listRewrittenRows } from './first-seen.js'
import { writeGuide } from './guide.js'
import { encodeLists, type ReadLists } from './lists.js'
import {
  byDay,
  deleteInterruptedWrites,
  type History,
  leaveOutDamaged,
  openHistory,
  type Publication,
  type Warn,
  writeRecord,
} from './record.js'

interface RecordedRun {
  readonly history: HistoryRequest
  readonly record: RunRecord
  readonly report: RunReport
  /**
   * Whether it completes a run of everything on the same day, so that its files are complete if nothing of
   * them is missing.
   */
  readonly isPartOfEnded: boolean
}

/**
 * Records the lists of a run under its session: those of streams that lack nothing, and which records of
 * other files are new. What an earlier run recorded stays; what this one knows is stored beside it. Never
 * fails; resolves to a warning, if any.
 */
export const recordDay = async (root: string, run: RecordedRun): Promise<string | undefined> => {
  const warnings = new Set<string>()
  try {
    await addRecords(root, run, (warning) => warnings.add(warning))
  } catch (error) {
    warnings.add(`this day could not be added to the history: ${describeFileError(error)}`)
  }
  return warnings.size === 0 ? undefined : [...warnings].join('; ')
}

const addRecords = async (root: string, run: RecordedRun, warn: Warn): Promise<void> => {
  await deleteInterruptedWrites(root)
  let history = await openHistory(
    root,
    run.history.tables.map(({ table }) => table),
  )
  const complete = selectComplete(root, run)
  const misdated = listMisdated(history)
  const daily = new Map<string, string>()
  for (const { table, changesDaily } of complete) {
    const rows = changesDaily
      ? await leaveOutDamaged(
          () => undefined,
          () => readTable(root, table),
        )
      : undefined
    if (rows) daily.set(table.name, digestRows(table, rows))
  }
  const { now, asOf } = await findPlaces(history, run, daily)
  if (now.doubt !== undefined && !run.history.isSimulated) warn(`check the clock: ${now.doubt}`)
  const isNow = asOf.day === now.day
  history = await addRecord(history, {
    run,
    place: now,
    tables: isNow ? complete : [],
    rewrittenOn: asOf.day,
    warn,
  })
  const following = complete.filter(({ followsAsOf }) => !isNow && (followsAsOf || run.history.isLateAllowed))
  history = await addRecord(history, { run, place: asOf, tables: following, warn })
  for (const day of listMisdated(history))
    if (!misdated.includes(day))
      warn(
        `the clock was ahead when ${day} was recorded, so that record is no longer used; delete ${day} from the history`,
      )
  await writeGuide(history)
}

const listMisdated = (history: History) =>
  listDays(history).flatMap(({ day, isMisdated }) => (isMisdated ? [day] : []))

/**
 * The tables whose files are complete: their stream succeeded, and the run requested all of their items, or
 * the last ones that were missing.
 */
const selectComplete = (
  root: string,
  { history: { tables }, record: { chosen }, report, isPartOfEnded }: RecordedRun,
): readonly RecordedTable[] =>
  tables.filter(
    ({ table, stream, isPerItem }) =>
      hasFile(root, table) &&
      report.scripts[stream]?.outcome === 'success' &&
      report.missing?.[stream] === undefined &&
      (isPartOfEnded ||
        (chosen?.pairs?.[stream] === undefined && !(isPerItem && chosen?.symbols !== undefined))),
  )

/**
 * Where the lists of now belong, and where those of the run's `asOf` do. Of a simulated market, now is
 * `asOf`.
 */
const findPlaces = async (
  { root, records }: History,
  { history, record, report }: RecordedRun,
  daily: ReadonlyMap<string, string>,
) => {
  const { calendar, evidence, isSimulated } = history
  const newest = records
    .filter(({ isConfirmed }) => isConfirmed)
    .sort(byDay)
    .at(-1)
  const sessions: KnownSessions = {
    calendar,
    days: await readSessionDays(root, evidence),
    areFresh: evidence.streams.some((name) => report.scripts[name]?.outcome === 'success'),
    isUnchangedSince: (day) =>
      daily.size > 0 &&
      [...daily].every(([table, content]) => chooseList(records, table, day)?.list.content === content),
    recorded: listListedDays({ records }),
    newest: newest && { day: newest.day, knownAt: Date.parse(newest.knownAt) },
  }
  const [startedAt, finishedAt] = [Date.parse(report.startedAt), Date.parse(report.finishedAt)]
  // The end of today may lie after the clock, before its session has opened. A resumed run keeps `asOf`.
  const asOf = findPlace(Math.min(record.asOf, startedAt), sessions, isSimulated ? record.asOf : finishedAt)
  const now = isSimulated ? asOf : findPlace(startedAt, sessions, finishedAt)
  return { asOf, now: now.day === asOf.day ? asOf : now }
}

interface NewDay {
  readonly run: RecordedRun
  readonly place: Place
  readonly tables: readonly RecordedTable[]
  /**
   * If it is the record of what is new in other files, too: the session until which candles were replaced.
   */
  readonly rewrittenOn?: Place['day']
  readonly warn: Warn
}

/** Stores a record with what the earlier records of its day do not have. Resolves to the history with it. */
const addRecord = async (
  history: History,
  { run, place, tables, rewrittenOn, warn }: NewDay,
): Promise<History> => {
  const { day, timing, isConfirmed, seenOn } = place
  const knownAt = new Date(place.knownAt).toISOString()
  const sessionEnd = describeSessionEnd(day, run.history.calendar)
  const describe = (recorded: RecordedTable) => describePublication(recorded, run, day)
  const isKnown = (recorded: RecordedTable, content: string) => {
    const known = chooseList(history.records, recorded.table.name, day)
    const own = findListTiming({ day, timing, knownAt }, describe(recorded))
    if (known === undefined || known.record.knownAt < (sessionEnd ?? '')) return false
    return !isBetterTiming(own, known.timing) && known.list.content === content
  }
  const read: ReadLists = (some) => readTables(history.root, some)
  const encoded = await encodeLists(history, { tables, day, knownAt, warn, describe, isKnown, read })
  const seen =
    rewrittenOn && (await encodeSeen(history, { day, seenOn, documents: run.history.documents, warn }))
  const rewritten = rewrittenOn ? listRewrittenRows(run.report, { ...place, day: rewrittenOn }) : []
  if (Object.keys(encoded.lists).length === 0 && !seen && rewritten.length === 0) return history
  const facts = omitUndefined({
    day,
    knownAt,
    timing,
    isConfirmed,
    sessionEnd,
    run: run.record.run,
    rewritten: rewritten.length === 0 ? undefined : rewritten,
  })
  return writeRecord(history, { ...encoded, seen: seen || undefined, facts })
}

/** When a session with hours of its own ends, if that is known. */
const describeSessionEnd = (
  day: Place['day'],
  { sessions }: HistoryRequest['calendar'],
): string | undefined => {
  const hours = sessions[day]
  return hours === undefined || hours.endsWith('24:00')
    ? undefined
    : new Date(toInstant(day, readHours(hours)[1])).toISOString()
}

/** Of a simulated market, only the record knows when it is. */
const describePublication = (
  { stream, table: { publishedAt } }: RecordedTable,
  { history: { isSimulated }, record: { asOf }, report }: RecordedRun,
  day: Place['day'],
): Publication => {
  const { drift = [], newest = {} } = report
  const end = newest[stream] ?? day
  return omitUndefined({
    publishedAt,
    requestedAt:
      publishedAt === undefined || isSimulated
        ? undefined
        : new Date(findRequestedAt(report, stream, asOf)).toISOString(),
    endsOn: end < day ? end : undefined,
    hasDrift: drift.some((one) => one.stream === stream && isSignificant(one)) || undefined,
  })
}
