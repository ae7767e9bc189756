import { forkJoin, map, type Observable, of } from 'rxjs'
import {
  type DatedOutput,
  findDueSession,
  findStale,
  PUBLISHED_AT,
  toSessionInstant,
} from '../market/calendar.js'
import { findRequestedAt, type RunReport, type StaleOutput } from '../model/report.js'
import { isRow } from '../model/row.js'
import type { StreamStats } from '../model/run-stats.js'
import { type Day, readDay, SESSION_END } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import { DAYS, type StreamDefinition } from './define-stream.js'
import { hasSelectedItems } from './failed-items.js'
import type { RunContext } from './run.js'
import { isEvidence, listSessionEvidence } from './session-request.js'
import { REPORT_FILE, type Stored } from './storage.js'

/**
 * Adds to a report with which session each stream ends, and what is not up to date. What this run did not
 * fetch is as the report of the run before has it. A complete run becomes partial if the settings say so.
 */
export const addFreshness = (
  report: RunReport,
  { plan, stats, storage, settings, calendar, chosen }: RunContext,
): Observable<RunReport> => {
  const enabled = plan.flatMap(({ stream, state }) => (state === 'disabled' ? [] : [stream]))
  const sessions$ = storage.readSessionDays?.(listSessionEvidence(enabled, settings.exchange)) ?? of([])
  return forkJoin([readEarlier(storage.stored), sessions$]).pipe(
    map(([{ newest: earlier, early: tooEarly }, sessions]) => {
      const counts = new Map(stats.streams().map(({ name, newest }) => [name, newest]))
      const outputs = enabled.flatMap((stream) => {
        const [own, before] = [findNewest(stream, counts.get(stream.name)), earlier[stream.name]]
        // Selected items do not tell for all of them.
        return toDatedOutput(stream, hasSelectedItems(stream, chosen) ? (before ?? own) : (own ?? before))
      })
      const stale = findStale(outputs, { instant: findInstant(report), calendar, sessions })
      const hasRun = (name?: string): boolean =>
        plan.some(({ stream, state }) => state === 'waiting' && stream.name === (name ?? stream.name))
      const early = enabled.flatMap((stream) => {
        const session =
          hasRun(stream.name) && !hasSelectedItems(stream, chosen)
            ? findEarly(stream, report, calendar)
            : tooEarly[stream.name]
        return session === undefined ? [] : [[stream.name, session] as const]
      })
      const hasFailed = stale.some((one) => hasRun(one.stream) && isTooLate(one, settings))
      return {
        ...report,
        ...(outputs.length > 0
          ? { newest: Object.fromEntries(outputs.map(({ stream, newest }) => [stream, newest])) }
          : {}),
        ...(early.length > 0 ? { early: Object.fromEntries(early) } : {}),
        ...(stale.length > 0 ? { stale } : {}),
        outcome: report.outcome === 'complete' && hasFailed ? 'partial' : report.outcome,
      }
    }),
  )
}

/**
 * On the first evening it is a note. Without any sign of a session, two holidays in a row are no failure
 * either.
 */
const isTooLate = ({ sessions, shownBy }: StaleOutput, { stale }: RunContext['settings']): boolean =>
  stale === 'fail' || sessions > (shownBy.length > 0 ? 1 : 2)

/**
 * Whether what a run of the whole market stored is final. If data of its session is still to come, to resume
 * the run would keep the old one.
 */
export const hasWholeSession = (report: RunReport, { asOf, calendar, chosen }: RunContext): boolean => {
  const session = findDueSession(asOf, calendar)
  const isOver = asOf >= toSessionInstant(session, SESSION_END, calendar) && chosen.symbols === undefined
  return !isOver || Object.values(report.newest ?? {}).every((day) => day >= session)
}

/** Whether nothing newer than what a run fetched is due before the next session opens. */
export const isPublished = (report: RunReport, { calendar }: Pick<RunContext, 'calendar'>): boolean => {
  const instant = findInstant(report)
  return instant >= toSessionInstant(findDueSession(instant, calendar), PUBLISHED_AT, calendar)
}

/** An `asOf` in the future, the end of today, stands for now. */
const findInstant = ({ asOf, startedAt }: RunReport): number =>
  Math.min(Date.parse(asOf), Date.parse(startedAt))

/** The session whose data a stream requested before it was published. */
const findEarly = (
  { name, publishedAt }: StreamDefinition,
  report: RunReport,
  calendar: RunContext['calendar'],
): Day | undefined => {
  const requestedAt = findRequestedAt(report, name)
  const session = findDueSession(requestedAt, calendar)
  return publishedAt !== undefined && requestedAt < toSessionInstant(session, publishedAt, calendar)
    ? session
    : undefined
}

const toDatedOutput = (
  { name, publishedAt = PUBLISHED_AT, outputs, work }: StreamDefinition,
  newest: Day | undefined,
): readonly DatedOutput[] => {
  if (newest === undefined) return []
  const [first] = outputs
  const output = (first.tables?.[0]?.name ?? name).replaceAll('_', ' ')
  const isEverySession = first.shape === 'candles-per-item' || work.of === DAYS
  return [{ stream: name, output, publishedAt, newest, isEverySession, isEvidence: outputs.some(isEvidence) }]
}

/** With fewer series, none may have traded lately. */
const MIN_SERIES = 3
/**
 * A market ends with a session that half of its series have: some stocks are suspended, and some do not trade
 * every day.
 */
const CURRENT_SHARE = 0.5

/** The session with which the items of a stream end. */
const findNewest = (
  { work }: StreamDefinition,
  newest: StreamStats['newest'] = new Map(),
): Day | undefined => {
  const count = (isCounted: (day: Day) => boolean): number =>
    [...newest].reduce((sum, [day, items]) => sum + (isCounted(day) ? items : 0), 0)
  const known = count(() => true)
  const days = [...newest.keys()].sort()
  if (work.of === DAYS) return days.at(-1)
  if (known < (work.of === undefined ? 1 : MIN_SERIES)) return undefined
  return days.findLast((day) => count((one) => one >= day) >= known * CURRENT_SHARE)
}

const readEarlier = (
  stored: Stored,
): Observable<Readonly<Record<'newest' | 'early', Readonly<Record<string, Day>>>>> =>
  stored.document(REPORT_FILE).pipe(
    catchItemFailure(() => of(undefined)),
    map((document) => {
      const report = isRow(document) ? document : {}
      return { newest: readDays(report.newest), early: readDays(report.early) }
    }),
  )

const readDays = (days: unknown): Readonly<Record<string, Day>> =>
  Object.fromEntries(
    Object.entries(isRow(days) ? days : {}).flatMap(([name, day]) =>
      readDay(day) === day ? [[name, day as Day]] : [],
    ),
  )
