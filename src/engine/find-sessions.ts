import { concat, EMPTY, forkJoin, ignoreElements, map, type Observable, of, switchMap } from 'rxjs'
import { findDueSession, isSession, listDaysBetween, USUAL_CALENDAR } from '../market/calendar.js'
import { createResult } from '../model/outcome.js'
import type { RunReport } from '../model/report.js'
import { isRow, omitUndefined } from '../model/row.js'
import {
  type Day,
  formatSecond,
  type MarketCalendar,
  readDay,
  SESSION_END,
  SESSION_START,
  toDay,
  toInstant,
} from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import type { WantedRun } from './earlier-runs.js'
import { type Looked, type LookedAt, listCandleLooks, look, lookAtCandles } from './look.js'
import type { RunDependencies } from './run-options.js'
import type { PlannedRun } from './run-services.js'
import { REPORT_FILE, type Stored, toStatePath } from './storage.js'

/** What the runs of a folder have seen of the newest session. */
interface SessionNote {
  readonly day: Day
  /** When it was first seen, epoch milliseconds, */
  readonly seenAt: number
  /** and when it was looked at last, or nothing newer was there. */
  readonly lookedAt: number
  /** What the last look without a later session asked for. */
  readonly by?: LookedAt
  /** Its hours, if they are not the usual ones. */
  readonly hours?: string
  /** Whether it was seen twice without a change. */
  readonly isOver?: boolean
}

const SESSION_NOTE = 'session.json'

/** What is known of the sessions up to now. */
interface SeenSessions {
  readonly calendar: MarketCalendar
  /** To be stored, if it is not as before. */
  readonly note?: SessionNote
  /** If this run has looked for a later session, and seen none. */
  readonly looked?: RunReport['looked']
}

/** A usual session shows within half an hour. */
const SHOWN_BY = '09:45'

/**
 * How long a session must stand still to be over; one that seems to be a usual one is not looked at again
 * before that.
 */
const STILL_MS = { special: 10 * 60_000, usual: 30 * 60_000 }

/**
 * With more unnamed weekdays without a session in a row, or with one if something is not up to date, the
 * provider may stand still: then a run requests everything, and says so.
 */
const MAX_UNKNOWN_DAYS = 1

type Dependencies = PlannedRun['dependencies']

/**
 * The calendar with what earlier runs have seen: sessions, and an unnamed weekday on which a look saw none.
 */
export const readSeenSessions = (stored: Stored, calendar: MarketCalendar): Observable<MarketCalendar> =>
  readNote(stored).pipe(
    map((note) => {
      const looked =
        note?.by === undefined
          ? []
          : listDaysAfter(note.day, note.lookedAt).filter((day) => isSession(day, calendar))
      const seen = addNote(calendar, note)
      return looked.length > MAX_UNKNOWN_DAYS
        ? seen
        : { ...seen, holidays: new Set([...seen.holidays, ...looked]) }
    }),
  )

/** The days after one that have reached the usual opening at an instant. */
const listDaysAfter = (after: Day, instant: number): readonly Day[] =>
  listDaysBetween(after, toDay(instant)).filter((day) => toInstant(day, SESSION_START) <= instant)

/** A run that knows the sessions up to now. */
export interface FoundSessions extends Pick<SeenSessions, 'looked'> {
  readonly wanted: WantedRun
  /**
   * The same, if it begins all the same: then its data shows whether there is a session, and not the answer
   * to one request.
   */
  readonly begun: WantedRun
  /**
   * Its settings and the rest of its dependencies with that, for the work on items, here or elsewhere, and
   * for the rest of an earlier run.
   */
  readonly dependencies: Dependencies
}

/** What the settings say about sessions; without any, each weekday has one. */
export const findCalendar = ({ readCalendar }: RunDependencies): MarketCalendar =>
  readCalendar?.() ?? USUAL_CALENDAR

/**
 * Completes what a run knows of sessions, in a locked storage, and stores it for the next run. A run as of a
 * given instant, of a simulated market, or of what is left of another one does not look.
 */
export const findSessions = (dependencies: Dependencies, wanted: WantedRun): Observable<FoundSessions> => {
  const { calendar, startedAt, isInstantGiven, isSimulated, mayReduce } = wanted
  const mayLook = mayReduce && !isInstantGiven && !isSimulated
  return (mayLook ? lookForSessions(dependencies, calendar, startedAt) : of<SeenSessions>({ calendar })).pipe(
    switchMap(({ note, calendar: seen, looked }) => {
      const settings = { ...dependencies.settings, sessions: seen.sessions }
      const begun = { ...wanted, calendar: { ...seen, holidays: calendar.holidays } }
      const found = {
        begun,
        wanted: { ...wanted, calendar: seen },
        dependencies: { ...dependencies, settings, readCalendar: () => seen },
      }
      return concat(
        note ? dependencies.storage.storeDocument(SESSION_NOTE, note).pipe(ignoreElements()) : EMPTY,
        of({ ...found, ...(looked && { looked }) }),
      )
    }),
  )
}

/**
 * Finds out with at most one request whether there is a session that the calendar does not know: on weekends,
 * holidays, and weekdays, each of which may be a holiday. On a day with a session it asks again after its
 * usual end, if it was not seen before that, until the session stands still.
 */
const lookForSessions = (
  dependencies: Dependencies,
  calendar: MarketCalendar,
  now: number,
): Observable<SeenSessions> =>
  forkJoin([readNote(dependencies.storage.stored), readLastReport(dependencies)]).pipe(
    switchMap(([stored, report]) => {
      const base = addNote(calendar, stored)
      if (report === undefined) return of({ calendar: base })
      // The clock may have been ahead.
      const isKnown = stored !== undefined && stored.day >= report.day && stored.day <= toDay(now)
      const note = isKnown ? stored : createNote(report.day, report.at, isSession(report.day, calendar))
      const context = { dependencies, calendar, base, now, isBehind: report.isBehind }
      const found$ = note.day === toDay(now) ? watchToday(note, context) : lookForLater(note, context)
      // That it was seen before its usual end is worth a note.
      return found$.pipe(
        map((found) =>
          isKnown || report.at >= toInstant(report.day, SESSION_END) ? found : { note, ...found },
        ),
      )
    }),
  )

interface LookContext {
  readonly dependencies: Dependencies
  /** As the settings have it. */
  readonly calendar: MarketCalendar
  /** With what earlier runs have seen. */
  readonly base: MarketCalendar
  readonly now: number
  /** Whether something ended before a session that was due. */
  readonly isBehind: boolean
}

/** Whether the session of today is over: from 15:30 on it may be a special one. */
const watchToday = (
  note: SessionNote,
  { dependencies, calendar, now }: LookContext,
): Observable<SeenSessions> => {
  const { day, seenAt, lookedAt, hours } = note
  const isUsual = isSession(day, calendar) && !hours?.endsWith(MIDNIGHT)
  const isDecided =
    day in calendar.sessions ||
    note.isOver ||
    seenAt < toInstant(day, SESSION_END) ||
    now < toInstant(day, SESSION_END)
  const ago = now - lookedAt
  if (isDecided || (hours === undefined && ago < STILL_MS.usual))
    return of({ calendar: addNote(calendar, note) })
  const found$: Observable<Looked> =
    ago < STILL_MS.special ? of(createResult([day])) : lookAtCandles(day, dependencies, now)
  return found$.pipe(
    map((found) => {
      if (typeof found !== 'object') return { calendar: addNote(calendar, note) }
      const isOver = found.status === 'skipped'
      // A usual session whose candle changes in the evening is taken to have ended now: what was fetched
      // before is fetched again.
      const ends = isOver === isUsual ? hours : `${SESSION_START}-${formatSecond(now).slice(11, 16)}`
      const next = omitUndefined({ ...note, lookedAt: now, hours: ends, isOver: isOver || undefined })
      return { calendar: addNote(calendar, next), note: next }
    }),
  )
}

/** Hours that are not known end at midnight: a candle of such a day is complete on the next day only. */
const MIDNIGHT = '24:00'

const lookForLater = (
  note: SessionNote,
  { dependencies, calendar, base, now, isBehind }: LookContext,
): Observable<SeenSessions> => {
  const days = listDaysAfter(note.day, now).filter((day) => !(day in calendar.sessions))
  const unnamed = days.filter((day) => isSession(day, calendar))
  const open = days.filter((day) => note.lookedAt < toInstant(day, MIDNIGHT))
  if (unnamed.length > (isBehind ? 0 : MAX_UNKNOWN_DAYS)) return of({ calendar: base })
  const without = { ...base, holidays: new Set([...base.holidays, ...unnamed]) }
  if (open.length === 0) return of({ calendar: without })
  // In turns, because each of both may stand still or be late on its own. Outside of usual days a list may be
  // that of another day.
  const by: LookedAt = unnamed.length > 0 && note.by !== 'list' ? 'list' : 'candle'
  return look(by, note.day, dependencies, now).pipe(
    map((found): SeenSessions => {
      if (found === undefined) return { calendar: base }
      if (typeof found === 'string') return { calendar: base, looked: { failure: found } }
      if (found.status === 'skipped')
        return {
          calendar: without,
          note: { ...note, lookedAt: now, by },
          looked: omitUndefined({ newest: note.day, expected: unnamed.at(-1) }),
        }
      const day = found.newest ?? findDueSession(now, base)
      const wasAbsent = note.lookedAt >= toInstant(day, SHOWN_BY) && toDay(note.lookedAt) === day
      const next = createNote(day, now, isSession(day, calendar) && !wasAbsent)
      return { calendar: addNote(base, next), note: next }
    }),
  )
}

/** One that is seen before 15:30 has the usual hours on any day. */
const createNote = (day: Day, at: number, isUsual: boolean): SessionNote => ({
  day,
  seenAt: at,
  lookedAt: at,
  ...(isUsual
    ? {}
    : { hours: `${SESSION_START}-${at < toInstant(day, SESSION_END) ? SESSION_END : MIDNIGHT}` }),
})

const addNote = (calendar: MarketCalendar, note: SessionNote | undefined): MarketCalendar =>
  note?.hours === undefined
    ? calendar
    : { ...calendar, sessions: { [note.day]: note.hours, ...calendar.sessions } }

const readNote = (stored: Stored): Observable<SessionNote | undefined> =>
  stored.document(toStatePath(SESSION_NOTE)).pipe(
    catchItemFailure(() => of(undefined)),
    map((note) =>
      isRow(note) && readDay(note.day) === note.day && [note.seenAt, note.lookedAt].every(Number.isFinite)
        ? (note as unknown as SessionNote)
        : undefined,
    ),
  )

/**
 * The newest session of the candles that one request can look at, as the last report has it, and the time of
 * that run.
 */
const readLastReport = ({ storage, streams }: RunDependencies) =>
  storage.stored.document(REPORT_FILE).pipe(
    catchItemFailure(() => of(undefined)),
    map((report) => {
      const newest = isRow(report) && isRow(report.newest) ? report.newest : {}
      // Without enough series of its own, what other streams end with is the newest session, too.
      const [own] = listCandleLooks(streams).flatMap(({ name }) => newest[name] ?? [])
      const day = readDay(own ?? Object.values(newest).map(String).sort().at(-1))
      const at = isRow(report) ? Date.parse(String(report.asOf)) : Number.NaN
      return day === undefined || Number.isNaN(at)
        ? undefined
        : { day, at, isBehind: isRow(report) && report.stale !== undefined }
    }),
  )
