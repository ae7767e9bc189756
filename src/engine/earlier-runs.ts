import { map, type Observable, of, switchMap } from 'rxjs'
import { findDueSession, findNewestSession, PUBLISHED_AT, toSessionInstant } from '../market/calendar.js'
import type { RefusalCode } from '../market/refusal-policy.js'
import { driftIn, isSignificant } from '../model/drift.js'
import type { GiveUpReason, RunEvent } from '../model/event.js'
import { omitUndefined } from '../model/row.js'
import { type MarketCalendar, SESSION_END, toDay } from '../model/trading-day.js'
import { catchDamagedFile } from '../operators/catch-item-failure.js'
import { FAILED_ITEMS, parseFailedItems, parseSelection } from './failed-items.js'
import { listRunning, type PlannedStream } from './plan.js'
import { createIdentity, type IdentityFacts, resolveRecord } from './run-identity.js'
import type { RunOptions } from './run-options.js'
import { type KnownStocks, resolveSelection } from './select-items.js'
import {
  type EarlierRuns,
  type EndedRun,
  type RunRecord,
  type RunSelection,
  type SessionChoice,
  type Stored,
  toStatePath,
} from './storage.js'

/** A run as it was requested. */
export interface WantedRun {
  readonly record: RunRecord
  /** Whether the caller set `asOf`; otherwise it is the current time. */
  readonly isInstantGiven: boolean
  /** What the folder knows about the symbols of the run. */
  readonly known: KnownStocks
  /** When the run began, epoch milliseconds. */
  readonly startedAt: number
  readonly calendar: MarketCalendar
  readonly isSimulated: boolean
  /** What the history keeps of the run: everything that may be recorded, late outputs too, or nothing. */
  readonly isRecorded: boolean
  readonly isLateAllowed: boolean
  /** Start from scratch even if an unfinished run could be resumed. */
  readonly fresh: boolean
  /**
   * Rules whose refused answers are stored all the same: items that a complete run refused are requested
   * again.
   */
  readonly accept: readonly RefusalCode[]
  /** Whether the run may be reduced to what is left of an earlier one. */
  readonly mayReduce: boolean
}

interface RunPlan
  extends Pick<WantedRun, 'known' | 'startedAt' | 'calendar' | 'mayReduce'>,
    Pick<IdentityFacts, 'settings' | 'plan'> {
  readonly run: string
}

/** Describes a run for the comparison with earlier ones. */
export const toWantedRun = (
  { fresh = false, accept = [], recordLate = false, asOf, variant, ...options }: RunOptions,
  { run, settings, plan, ...facts }: RunPlan,
): WantedRun => {
  const { known, startedAt } = facts
  const chosen = resolveSelection(selectionIn(options), known)
  const identity = createIdentity({ ...chosen, settings, plan, variant })
  return {
    record: { run, asOf: asOf ?? startedAt, ...identity, chosen },
    ...facts,
    fresh,
    accept,
    isInstantGiven: asOf !== undefined,
    isRecorded: settings.history,
    isLateAllowed: recordLate,
    isSimulated: variant !== undefined,
  }
}

const selectionIn = ({ only, skip, symbols, pairs }: RunSelection): RunSelection =>
  omitUndefined({ only, skip, symbols, pairs })

/** What decides whether another run is the requested one. */
type ComparedRun = Pick<WantedRun, 'record' | 'isInstantGiven' | 'calendar'>

/**
 * The session of an instant, and how far it is: under way, over, or with its data published. It lasts until
 * the next opening.
 */
const findStage = (instant: number, calendar: MarketCalendar): string => {
  const session = findDueSession(instant, calendar)
  return `${session} ${[SESSION_END, PUBLISHED_AT].filter((time) => instant >= toSessionInstant(session, time, calendar)).length}`
}

/** Whether no session has ended between two instants. */
const hasSameEnded = (one: number, other: number, calendar: MarketCalendar): boolean =>
  findNewestSession(one, SESSION_END, calendar) === findNewestSession(other, SESSION_END, calendar)

const isOfSameDay = (one: number, other: number, calendar: MarketCalendar): boolean =>
  toDay(one) === toDay(other) || findDueSession(one, calendar) === findDueSession(other, calendar)

const isSameSession = (one: number, other: number, calendar: MarketCalendar): boolean =>
  hasSameEnded(one, other, calendar) &&
  (toDay(one) === toDay(other) || findStage(one, calendar) === findStage(other, calendar))

/**
 * Why an unfinished run is not the requested one; `undefined` if it is: same version, same configuration,
 * same trading day or session, of which both or neither were made after its end or, if `asOf` is set, same
 * instant.
 */
export const findDifference = (unfinished: RunRecord, run: ComparedRun): GiveUpReason | undefined => {
  const { record: wanted, isInstantGiven, calendar } = run
  if (unfinished.version !== wanted.version) return 'version'
  if (
    isInstantGiven ? unfinished.asOf !== wanted.asOf : !isSameSession(unfinished.asOf, wanted.asOf, calendar)
  )
    return !isInstantGiven && isOfSameDay(unfinished.asOf, wanted.asOf, calendar) ? 'session' : 'instant'
  if (unfinished.configuration === wanted.configuration) return undefined
  return unfinished.settings === wanted.settings ? 'selection' : 'settings'
}

/**
 * Whether a run requests only a part of an earlier one: fewer streams or stocks, with the same settings, on
 * the same trading day, not before it, and both before or both after the end of the session.
 */
export const isPartOf = (wanted: RunRecord, other: RunRecord, calendar: MarketCalendar): boolean =>
  wanted.version === other.version &&
  wanted.configuration !== other.configuration &&
  wanted.settings !== undefined &&
  wanted.settings === other.settings &&
  wanted.asOf >= other.asOf &&
  isSameSession(wanted.asOf, other.asOf, calendar) &&
  other.chosen?.symbols === undefined &&
  other.chosen?.pairs === undefined &&
  (wanted.streams ?? []).every((name) => other.streams?.includes(name))

/**
 * Whether what an ended run fetched can be used for the requested one: same configuration, and the same
 * instant or, without `asOf`, the same session, of which both or neither were made after its data was
 * published. A session under way changes all the time. News and filings that arrive later belong to the next
 * session.
 */
const isReusable = ({ report, ...complete }: EndedRun, wanted: WantedRun): boolean => {
  const { asOf } = complete
  const { record, isInstantGiven, calendar } = wanted
  // Unaccepted drift must not be forgotten: the next run fetches everything again and finds it.
  if (driftIn(report.drift).some(isSignificant)) return false
  // A run whose `asOf` was in its future could not fetch what arrived until then.
  if (findDifference(complete, wanted) !== undefined || Date.parse(report.startedAt) < asOf) return false
  if (isInstantGiven) return true
  const isOver = asOf >= toSessionInstant(findDueSession(asOf, calendar), SESSION_END, calendar)
  return (
    isOver &&
    findStage(asOf, calendar) === findStage(record.asOf, calendar) &&
    record.asOf >= Date.parse(report.finishedAt)
  )
}

/**
 * The streams of a run that lack a session which is due, seen or by the calendar; as of a given instant, one
 * that was seen.
 */
const listDue = (
  plan: readonly PlannedStream[],
  { report }: EndedRun,
  { record, isInstantGiven, calendar }: WantedRun,
) =>
  listRunning(plan).flatMap(({ name, publishedAt = PUBLISHED_AT }): readonly string[] => {
    const [end, early] = [report.newest?.[name], report.early?.[name]]
    const session = findNewestSession(record.asOf, publishedAt, calendar)
    const isDue =
      !isInstantGiven && ((end !== undefined && end < session) || (early !== undefined && early <= session))
    return isDue || report.stale?.some(({ stream }) => stream === name) ? [name] : []
  })

/** What is left to do of a run that ended. */
interface Remainder {
  /** The selection of a smaller run that did not finish; absent if the list of failed items says it. */
  readonly chosen?: RunSelection
  /** The streams that lack a session which is due. */
  readonly due: readonly string[]
}

/** What a run does about those before it. */
export type Decision =
  /** It begins or is resumed. `changed`: the file because of which an ended run could not be used. */
  | { readonly kind: 'begin'; readonly choice: SessionChoice; readonly changed?: string }
  /** A complete run already did it. */
  | { readonly kind: 'reuse'; readonly ended: EndedRun }
  /** It ended before, and another run of this selection does what is left of it. */
  | { readonly kind: 'reduce'; readonly selection: RunSelection }

/**
 * Decides what of a run is already here: it resumes an unfinished run of the same streams and stocks, reuses
 * a complete one, does what is left of one that ended, or begins. A run that ended is used only if its files
 * are unchanged and it is known what they lack.
 */
export const decide = (
  plan: readonly PlannedStream[],
  wanted: WantedRun,
  { earlier, stored }: { readonly earlier: EarlierRuns; readonly stored: Stored },
): Observable<Decision> => {
  const choice = chooseBeginning(wanted, earlier)
  const begin: Decision = { kind: 'begin', choice }
  const use =
    choice.isContinued || choice.isPartOfUnfinished ? undefined : findReusableRun(plan, wanted, earlier)
  if (use === undefined) return of(begin)
  const { ended, remainder } = use
  const changed$ = earlier.findChangedFile?.(ended) ?? of(undefined)
  return changed$.pipe(
    switchMap((changed): Observable<Decision> => {
      if (changed !== undefined) return of({ ...begin, changed })
      if (remainder === undefined) return of({ kind: 'reuse', ended })
      return selectLeft(remainder, stored, plan).pipe(
        map((selection) => (selection === undefined ? begin : { kind: 'reduce', selection })),
      )
    }),
  )
}

/** How the run begins, if no ended run makes it unnecessary or smaller. */
const chooseBeginning = (wanted: WantedRun, earlier: EarlierRuns): SessionChoice => {
  const { record, known, fresh, calendar } = wanted
  const isPart = (whole: RunRecord | undefined): boolean =>
    whole !== undefined && isPartOf(record, whole, calendar)
  const isPartOfEnded = isPart(earlier.complete ?? earlier.incomplete)
  const isPartOfUnfinished = !isPartOfEnded && isPart(earlier.unfinished)
  const unfinished = isPartOfUnfinished ? earlier.unfinishedPart : earlier.unfinished
  const isContinued =
    unfinished !== undefined &&
    !fresh &&
    findDifference(resolveRecord(unfinished, known), wanted) === undefined
  return {
    record: isContinued ? unfinished : record,
    isContinued,
    isPartOfEnded,
    isPartOfUnfinished,
    unfinished,
    keepsPrevious: isPartOfEnded || isPart(earlier.unfinished),
  }
}

/** The ended run that makes this one unnecessary, or smaller by all but the remainder. */
const findReusableRun = (
  plan: readonly PlannedStream[],
  wanted: WantedRun,
  { unfinished, complete, completePart, incomplete }: EarlierRuns,
): { readonly ended: EndedRun; readonly remainder?: Remainder } | undefined => {
  const { record, known, fresh, accept, mayReduce } = wanted
  // An ended run as of the same instant did not record what this one is to record.
  if (fresh || accept.length > 0 || findAsOfSession(plan, record, wanted)?.recorded === 'all')
    return undefined
  const isWhole = (ended: EndedRun | undefined): ended is EndedRun =>
    ended !== undefined &&
    isReusable(resolveRecord(ended, known), wanted) &&
    listDue(plan, ended, wanted).length === 0
  const whole = unfinished === undefined ? [complete, completePart].find(isWhole) : undefined
  if (whole) return { ended: whole }
  const ended = complete ?? incomplete
  const remainder =
    ended && mayReduce
      ? findRemainder(ended, unfinished, { wanted, due: listDue(plan, ended, wanted) })
      : undefined
  return ended && remainder && { ended, remainder }
}

/**
 * What is left to do of a run that ended, if it can be reused for the requested one: the smaller run of it
 * that did not finish, or what failed and what has become due since. A run of some stocks only is not reused
 * this way, because another part of it is no part of a whole run.
 */
const findRemainder = (
  ended: EndedRun,
  unfinished: RunRecord | undefined,
  { wanted, due }: { readonly wanted: WantedRun; readonly due: readonly string[] },
): Remainder | undefined => {
  const { symbols, pairs } = ended.chosen ?? {}
  if (symbols !== undefined || pairs !== undefined || !isReusable(ended, wanted)) return undefined
  if (unfinished === undefined) return { due }
  if (!isPartOf(unfinished, ended, wanted.calendar)) return undefined
  return unfinished.endedAt === undefined ? { chosen: parseSelection(unfinished.chosen), due } : { due }
}

/** The selection of the run that does what is left; emits `undefined` if only a run of everything can. */
export const selectLeft = (
  { chosen, due }: Remainder,
  stored: Stored,
  plan: readonly PlannedStream[],
): Observable<RunSelection | undefined> => {
  if (chosen) return of(chosen)
  return stored.document(toStatePath(FAILED_ITEMS)).pipe(
    catchDamagedFile(() => undefined),
    map((document) => {
      const failed = new Map(Object.entries(parseFailedItems(document)))
      for (const name of due) failed.set(name, 'all')
      const only = listRunning(plan).flatMap(({ name }) => (failed.has(name) ? [name] : []))
      const pairs = only.flatMap((name) => {
        const items = failed.get(name) ?? 'all'
        return items === 'all' ? [] : [[name, items] as const]
      })
      return only.length === 0 ? undefined : { only, pairs: Object.fromEntries(pairs) }
    }),
  )
}

type RunStartedEvent = Extract<RunEvent, { readonly type: 'run-started' }>

export const createRunStarted = (
  plan: readonly PlannedStream[],
  { choice, changed }: Extract<Decision, { kind: 'begin' }>,
  { isRemainder, wanted }: { readonly isRemainder: boolean; readonly wanted: WantedRun },
): RunEvent => ({
  type: 'run-started',
  at: wanted.startedAt,
  run: choice.record.run,
  asOf: choice.record.asOf,
  ...omitUndefined({ asOfSession: findAsOfSession(plan, choice.record, wanted) }),
  ...(choice.isContinued ? { isContinued: true } : {}),
  ...(isRemainder ? { isRemainder } : {}),
  ...explainGivenUp(choice, wanted),
  ...(changed === undefined ? {} : { changed }),
  streams: plan.map(({ stream: { name, endpoints }, state }) => ({
    name,
    state,
    hosts: [...new Set(endpoints.map(({ host }) => host))],
  })),
})

const explainGivenUp = (
  { unfinished, isContinued }: SessionChoice,
  wanted: WantedRun,
): Pick<RunStartedEvent, 'givenUp'> => {
  if (unfinished === undefined || unfinished.endedAt !== undefined || isContinued) return {}
  const reason = wanted.fresh ? 'fresh' : findDifference(resolveRecord(unfinished, wanted.known), wanted)
  return reason === undefined ? {} : { givenUp: { run: unfinished.run, reason } }
}

/**
 * Which outputs are of `asOf`, if it is of another session than the one due now; undefined if all of them are
 * of one session: a simulated market has no other "now" than `asOf`.
 */
export const findAsOfSession = (
  plan: readonly PlannedStream[],
  { asOf }: Pick<RunRecord, 'asOf'>,
  { startedAt: now, calendar, isLateAllowed, isSimulated, isRecorded }: WantedRun,
): RunStartedEvent['asOfSession'] => {
  // The end of today stands for today, whose session may not have opened yet.
  const session = findDueSession(Math.min(asOf, now), calendar)
  const due = findDueSession(now, calendar)
  const running = listRunning(plan)
  const listNames = (follows: boolean): readonly string[] =>
    running.filter(({ followsAsOf = false }) => followsAsOf === follows).map(({ name }) => name)
  const others = listNames(false)
  if (session === due || isSimulated || others.length === 0) return undefined
  return {
    session,
    due,
    following: listNames(true),
    others,
    recorded: !isRecorded ? 'none' : isLateAllowed ? 'all' : 'following',
  }
}
