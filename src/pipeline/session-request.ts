import { map, type Observable, of } from 'rxjs'
import type { RefusalCode } from '../market/refusal-policy.js'
import type { RunEvent } from '../model/event.js'
import { isRow, omitUndefined } from '../model/row.js'
import type { Settings } from '../model/settings.js'
import { catchDamagedFile } from '../operators/catch-item-failure.js'
import { type RowsInOneFile, type StreamDefinition, toFilePath } from './define-stream.js'
import { FAILED_ITEMS, parseFailedItems, selectionOf } from './failed-items.js'
import { createHistoryRequest, findAsOfSession, findSession, type HistoryFacts } from './history-request.js'
import { listRunning, type PlannedStream } from './plan.js'
import { findDifference, isPartOf, isReusable, listDue, resolveRecord, type WantedRun } from './record.js'
import type { KnownStocks } from './select-items.js'
import {
  type EarlierRuns,
  type EndedRun,
  type JournalFacts,
  type RunRecord,
  type RunSelection,
  type SessionChoice,
  type SessionRequest,
  type Stored,
  toStatePath,
} from './storage.js'

export interface SessionRequestInput {
  readonly record: RunRecord
  /** What the folder knows about the symbols of the run. */
  readonly known: KnownStocks
  /** When the run began, epoch milliseconds. */
  readonly startedAt: number
  /** Absent if nothing is recorded, as in an estimate. */
  readonly history?: HistoryFacts
  /** Start from scratch even if an unfinished run could be resumed. */
  readonly fresh: boolean
  /** Rules whose refused answers are stored all the same: items that a complete run refused are requested again. */
  readonly accept: readonly RefusalCode[]
  /** Whether the run may be reduced to what is left of an earlier one. */
  readonly mayReduce: boolean
  /** Whether the caller set `asOf`; otherwise it is the current time. */
  readonly isInstantGiven: boolean
}

/** What the storage must know to open a session for a run. */
export const createSessionRequest = (plan: readonly PlannedStream[], settings: Settings, wanted: SessionRequestInput): SessionRequest => {
  const { record, startedAt, history } = wanted
  const { exchange } = settings
  const filesOf = (streams: ReturnType<typeof listRunning>): readonly string[] =>
    streams.flatMap(({ outputs }) => outputs.map((output) => toFilePath(output, exchange, { fileName: '*' })))
  const running = listRunning(plan)
  return {
    folders: [...new Set(filesOf(plan.map(({ stream }) => stream)).map((file) => file.slice(0, Math.max(0, file.lastIndexOf('/')))))],
    streams: running.map(toJournalFacts),
    outputs: filesOf(running),
    session: findSession(history?.isSimulated ? record.asOf : startedAt, history),
    ...(settings.history ? { history: createHistoryRequest(plan, settings, history) } : {}),
  }
}

/** What is left to do of a run that ended with items missing. */
export interface Remainder {
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
  /** It ended before, and only this is left to do of it, as another run. */
  | { readonly kind: 'reduce'; readonly remainder: Remainder }

/** Decides what a run does about those before it. A run that ended is used only if its files are unchanged. */
export const decide = (plan: readonly PlannedStream[], wanted: SessionRequestInput, earlier: EarlierRuns): Observable<Decision> => {
  const choice = chooseBeginning(wanted, earlier)
  const use = choice.isContinued || choice.isPartOfUnfinished ? undefined : findReusableRun(plan, wanted, earlier)
  if (use === undefined) return of({ kind: 'begin', choice })
  const changed$ = earlier.findChangedFile?.(use.ended) ?? of(undefined)
  return changed$.pipe(
    map((changed): Decision => {
      if (changed !== undefined) return { kind: 'begin', choice, changed }
      return use.remainder ? { kind: 'reduce', remainder: use.remainder } : { kind: 'reuse', ended: use.ended }
    }),
  )
}

const toWantedRun = ({ record, isInstantGiven, history }: SessionRequestInput): WantedRun => ({
  ...{ record, isInstantGiven, holidays: history?.holidays },
})

/** How the run begins, if no ended run makes it unnecessary or smaller. */
const chooseBeginning = (wanted: SessionRequestInput, earlier: EarlierRuns): SessionChoice => {
  const { record, known, fresh } = wanted
  const run = toWantedRun(wanted)
  const isPart = (whole: RunRecord | undefined): boolean => whole !== undefined && isPartOf(record, whole, run.holidays)
  const isPartOfEnded = isPart(earlier.complete ?? earlier.incomplete)
  const isPartOfUnfinished = !isPartOfEnded && isPart(earlier.unfinished)
  const unfinished = isPartOfUnfinished ? earlier.unfinishedPart : earlier.unfinished
  const isContinued = unfinished !== undefined && !fresh && findDifference(resolveRecord(unfinished, known), run) === undefined
  return {
    ...{ record: isContinued ? unfinished : record, isContinued, isPartOfEnded, isPartOfUnfinished, unfinished },
    keepsPrevious: isPartOfEnded || isPart(earlier.unfinished),
  }
}

/** The ended run that makes this one unnecessary, or smaller by all but the remainder. */
const findReusableRun = (
  plan: readonly PlannedStream[],
  wanted: SessionRequestInput,
  { unfinished, complete, completePart, incomplete }: EarlierRuns,
): { readonly ended: EndedRun; readonly remainder?: Remainder } | undefined => {
  const { record, known, startedAt, fresh, accept, mayReduce, history } = wanted
  // An ended run as of the same instant did not record what this one is to record.
  const recorded = findAsOfSession(plan, { asOf: record.asOf, now: startedAt, facts: history })?.recorded
  if (fresh || accept.length > 0 || recorded === 'all') return undefined
  const run = toWantedRun(wanted)
  const isWhole = (ended: EndedRun | undefined): ended is EndedRun =>
    ended !== undefined && isReusable(resolveRecord(ended, known), run) && listDue(plan, ended, run).length === 0
  const whole = unfinished === undefined ? [complete, completePart].find(isWhole) : undefined
  if (whole) return { ended: whole }
  const ended = complete ?? incomplete
  const remainder = ended && mayReduce ? findRemainder(ended, unfinished, { run, due: listDue(plan, ended, run) }) : undefined
  return ended && remainder && { ended, remainder }
}

const toJournalFacts = ({ name, outputs, offers }: StreamDefinition): JournalFacts => {
  const gathered = outputs.find((output): output is RowsInOneFile => output.shape === 'rows-in-one-file')
  const offersRows = offers !== undefined
  return {
    stream: name,
    carriesRows: gathered !== undefined || offersRows,
    offersRows,
    ...(gathered?.sortBy === undefined ? {} : { sortBy: gathered.sortBy }),
  }
}

/** The selection in the options of a run. */
export const selectionIn = ({ only, skip, symbols, pairs }: RunSelection): RunSelection => omitUndefined({ only, skip, symbols, pairs })

/** The first event of a run. */
export const createRunStarted = (
  plan: readonly PlannedStream[],
  { choice, changed }: Extract<Decision, { kind: 'begin' }>,
  { isRemainder, wanted }: { readonly isRemainder: boolean; readonly wanted: SessionRequestInput },
): RunEvent => ({
  ...{ type: 'run-started', at: wanted.startedAt, run: choice.record.run, asOf: choice.record.asOf },
  ...omitUndefined({ asOfSession: findAsOfSession(plan, { asOf: choice.record.asOf, now: wanted.startedAt, facts: wanted.history }) }),
  ...(choice.isContinued ? { isContinued: true } : {}),
  ...(isRemainder ? { isRemainder } : {}),
  ...explainGivenUp(choice, wanted),
  ...(changed === undefined ? {} : { changed }),
  streams: plan.map(({ stream: { name, endpoints }, state }) => ({ name, state, hosts: [...new Set(endpoints.map(({ host }) => host))] })),
})

const explainGivenUp = (
  { unfinished, isContinued }: SessionChoice,
  wanted: SessionRequestInput,
): Pick<Extract<RunEvent, { type: 'run-started' }>, 'givenUp'> => {
  if (unfinished === undefined || unfinished.endedAt !== undefined || isContinued) return {}
  const reason = wanted.fresh ? 'fresh' : findDifference(resolveRecord(unfinished, wanted.known), toWantedRun(wanted))
  return reason === undefined ? {} : { givenUp: { run: unfinished.run, reason } }
}

/** Sorts by time; the random suffix separates runs that start in the same second. */
export const runId = (startedAt: number, random: () => number): string => {
  const second = new Date(startedAt).toISOString().replace(/[-:]|\.\d+/g, '')
  return `${second}-${Math.floor(random() * 0x10000)
    .toString(16)
    .padStart(4, '0')}`
}

/**
 * What is left to do of a run that ended, if it can be reused for the requested one: the smaller run of it that did not finish, or what
 * failed and what has become due since. A run of some stocks only is not reused this way, because another part of it is no part of a whole run.
 */
const findRemainder = (
  ended: EndedRun,
  unfinished: RunRecord | undefined,
  { run, due }: { readonly run: WantedRun; readonly due: readonly string[] },
): Remainder | undefined => {
  const { symbols, pairs } = ended.chosen ?? {}
  if (symbols !== undefined || pairs !== undefined || !isReusable(ended, run)) return undefined
  if (unfinished === undefined) return { due }
  if (!isPartOf(unfinished, ended, run.holidays)) return undefined
  return unfinished.endedAt === undefined ? { chosen: parseSelection(unfinished.chosen), due } : { due }
}

/** The selection of the run that does what is left; emits `undefined` if only a run of everything can. */
export const selectionLeft = (
  { chosen, due }: Remainder,
  stored: Stored,
  plan: readonly PlannedStream[],
): Observable<RunSelection | undefined> => {
  if (chosen) return of(chosen)
  return stored.document(toStatePath(FAILED_ITEMS)).pipe(
    catchDamagedFile(() => undefined),
    map((document) => {
      const missing = parseFailedItems(document)
      const failed = Object.fromEntries([...Object.entries(missing), ...due.map((name) => [name, 'all'] as const)])
      const names = listRunning(plan).flatMap(({ name }) => (Object.hasOwn(failed, name) ? [name] : []))
      return names.length === 0 ? undefined : selectionOf(failed, names)
    }),
  )
}

/** The selection of an unfinished run, from its record. */
export const parseSelection = (given: unknown): RunSelection => {
  if (!isRow(given)) return {}
  const listed = (field: 'only' | 'skip' | 'symbols'): object => (isTexts(given[field]) ? { [field]: given[field] } : {})
  const { pairs } = given
  const isPairs = isRow(pairs) && Object.values(pairs).every(isTexts)
  return {
    ...listed('only'),
    ...listed('skip'),
    ...listed('symbols'),
    ...(isPairs ? { pairs: pairs as NonNullable<RunSelection['pairs']> } : {}),
  }
}

const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((text) => typeof text === 'string')
