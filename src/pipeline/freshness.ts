import { forkJoin, map, type Observable, of } from 'rxjs'
import { findDueSession, PUBLISHED_AT } from '../market/calendar.js'
import type { RunReport, StaleOutput } from '../model/report.js'
import { isRow } from '../model/row.js'
import type { StreamStats } from '../model/run-stats.js'
import { addDays, type Day, lastWeekday, readDay, SESSION_END, toDay, toInstant } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import type { StreamDefinition } from './define-stream.js'
import { hasSelectedItems } from './failed-items.js'
import { isEvidence, listSessionEvidence } from './history-request.js'
import type { RunContext } from './run.js'
import { REPORT_FILE, type Stored } from './storage.js'

/**
 * Adds to a report with which session each stream ends, and what is not up to date. What this run did not fetch is as the report of the run
 * before has it. A complete run becomes partial if the settings say so.
 */
export const addFreshness = (
  report: RunReport,
  { plan, stats, storage, settings, holidays, chosen }: RunContext,
): Observable<RunReport> => {
  const enabled = plan.flatMap(({ stream, state }) => (state === 'disabled' ? [] : [stream]))
  const sessions$ = storage.readSessionDays?.(listSessionEvidence(enabled, settings.exchange)) ?? of([])
  return forkJoin([readEarlier(storage.stored), sessions$]).pipe(
    map(([earlier, sessions]) => {
      const counts = new Map(stats.streams().map(({ name, newest }) => [name, newest]))
      const outputs = enabled.flatMap((stream) => {
        const [own, before] = [findNewest(stream, counts.get(stream.name)), earlier[stream.name]]
        // Selected items do not tell for all of them.
        return toDatedOutput(stream, hasSelectedItems(stream, chosen) ? (before ?? own) : (own ?? before))
      })
      const instant = Math.min(Date.parse(report.asOf), Date.parse(report.startedAt))
      const stale = findStale(outputs, { instant, holidays, sessions })
      const hasRun = (name?: string): boolean =>
        plan.some(({ stream, state }) => state === 'waiting' && stream.name === (name ?? stream.name))
      const hasFailed = stale.some((one) => hasRun(one.stream) && isFailure(one, settings))
      return {
        ...report,
        ...(outputs.length > 0 ? { newest: Object.fromEntries(outputs.map(({ stream, newest }) => [stream, newest])) } : {}),
        ...(stale.length > 0 ? { stale } : {}),
        outcome: report.outcome === 'complete' && hasFailed ? 'partial' : report.outcome,
      }
    }),
  )
}

/** On the first evening it is a note. Without any sign of a session, two holidays in a row are no failure either. */
const isFailure = ({ sessions, shownBy }: StaleOutput, { stale }: RunContext['settings']): boolean =>
  stale === 'fail' || sessions > (shownBy.length > 0 ? 1 : 2)

/** Whether what a run of the whole market stored is final. If data of its session is still to come, to resume the run would keep the old one. */
export const hasWholeSession = (report: RunReport, { asOf, holidays, chosen }: RunContext): boolean => {
  const session = findDueSession(asOf, holidays)
  const isOver = asOf >= toInstant(session, SESSION_END) && chosen.symbols === undefined
  return !isOver || Object.values(report.newest ?? {}).every((day) => day >= session)
}

const toDatedOutput = (
  { name, publishedAt = PUBLISHED_AT, outputs }: StreamDefinition,
  newest: Day | undefined,
): readonly DatedOutput[] => {
  if (newest === undefined) return []
  const [first] = outputs
  const output = (first.tables?.[0]?.name ?? name).replaceAll('_', ' ')
  const isEverySession = first.shape === 'candles-per-item'
  return [{ stream: name, output, publishedAt, newest, isEverySession, isEvidence: outputs.some(isEvidence) }]
}

/** With fewer series, none may have traded lately. */
const MIN_SERIES = 3
/** A market ends with a session that half of its series have: some stocks are suspended, and some do not trade every day. */
const CURRENT_SHARE = 0.5

/** The session with which the items of a stream end. */
const findNewest = ({ work }: StreamDefinition, newest: StreamStats['newest'] = new Map()): Day | undefined => {
  const count = (isCounted: (day: Day) => boolean): number =>
    [...newest].reduce((sum, [day, items]) => sum + (isCounted(day) ? items : 0), 0)
  const known = count(() => true)
  const days = known < (work.of === undefined ? 1 : MIN_SERIES) ? [] : [...newest.keys()].sort()
  return days.findLast((day) => count((one) => one >= day) >= known * CURRENT_SHARE)
}

const readEarlier = (stored: Stored): Observable<Readonly<Record<string, Day>>> =>
  stored.document(REPORT_FILE).pipe(
    catchItemFailure(() => of(undefined)),
    map((report) => Object.entries(isRow(report) && isRow(report.newest) ? report.newest : {})),
    map((newest) => Object.fromEntries(newest.flatMap(([name, day]) => (readDay(day) === day ? [[name, day as Day]] : [])))),
  )

/** A stream whose outputs end with a session. */
export interface DatedOutput {
  readonly stream: string
  /** What people call it. */
  readonly output: string
  /** `HH:MM` in India. */
  readonly publishedAt: string
  readonly newest: Day
  /** Whether it has a day only if the market traded on it. An archive can answer a holiday with the file of another day. */
  readonly isEvidence: boolean
  /** Whether it has the special sessions on weekends, too. */
  readonly isEverySession: boolean
}

/** From so many weekdays on of which nothing is known, it is said: a single one is a holiday more often than not. */
const MIN_UNKNOWN_DAYS = 2

/**
 * What ends before a session that is due. That a session took place is shown by candles and deals alone: filings and news are published on
 * holidays, too. If nothing shows a session for several weekdays, that is one entry without a stream. `sessions`: the days with a session
 * that the stored files show.
 */
export const findStale = (
  outputs: readonly DatedOutput[],
  { instant, holidays, sessions }: { readonly instant: number; readonly holidays: ReadonlySet<Day>; readonly sessions: readonly Day[] },
): readonly StaleOutput[] => {
  const today = toDay(instant)
  const evidence = outputs.filter(({ isEvidence, newest }) => isEvidence && newest <= today)
  const known = new Set([...sessions, ...evidence.map(({ newest }) => newest)].filter((day) => day <= today))
  const last = findLast(known)
  if (last === undefined) return []
  // Up to the newest session that is stored, a weekday that shows none had none.
  const lastStored = findLast(sessions.filter((day) => day <= today)) ?? ''
  const mayBeSession = (day: Day): boolean => known.has(day) || (day > lastStored && isWeekday(day) && !holidays.has(day))
  const late = outputs.flatMap(({ stream, output, publishedAt, newest, isEverySession }): readonly StaleOutput[] => {
    const isExpected = (day: Day): boolean => day > newest && (isEverySession || isWeekday(day)) && toInstant(day, publishedAt) <= instant
    const expected = findLast([...known].filter(isExpected))
    if (expected === undefined) return []
    const shownBy = evidence.filter((other) => other.newest >= expected).map((other) => other.output)
    // Once a session is missing, the later ones that nothing shows count, too.
    const due = listDays(newest, today).filter((day) => isExpected(day) && mayBeSession(day))
    return [{ stream, output, newest, expected, sessions: due.length, shownBy }]
  })
  const unknown = listDays(last, today).filter((day) => mayBeSession(day) && toInstant(day, PUBLISHED_AT) <= instant)
  const expected = unknown.at(-1)
  if (expected === undefined || unknown.length < MIN_UNKNOWN_DAYS || !evidence.some((one) => one.isEverySession)) return late
  return [...late, { output: 'everything', newest: last, expected, sessions: unknown.length, shownBy: [] }]
}

const isWeekday = (day: Day): boolean => lastWeekday(day) === day

const findLast = (days: Iterable<Day>): Day | undefined => [...days].sort().at(-1)

/** The days after one until another. */
const listDays = (from: Day, to: Day): readonly Day[] => {
  const days: Day[] = []
  for (let day = addDays(from, 1); day <= to; day = addDays(day, 1)) days.push(day)
  return days
}
