import { map, type Observable, of } from 'rxjs'
import type { RefusalCode } from '../market/refusal-policy.js'
import type { RunEvent } from '../model/event.js'
import { isRow, omitUndefined } from '../model/row.js'
import type { Settings } from '../model/settings.js'
import { catchDamagedFile } from '../operators/catch-damaged-file.js'
import type { StreamDefinition } from './define-stream.js'
import { FAILED_ITEMS, parseFailedItems, selectionOf } from './failed-items.js'
import { createHistoryRequest, findAsOfSession, findSession, type HistoryFacts } from './history-request.js'
import type { KnownStocks } from './known-stocks.js'
import { type RowsInOneFile, toFilePath } from './output.js'
import { listRunning, type PlannedStream } from './plan.js'
import { findDifference, isPartOf, isReusable, listDue, resolveRecord, type WantedRun } from './record.js'
import type { EndedRun, JournalFacts, Remainder, RunRecord, RunSelection, Session, SessionRequest } from './session.js'
import { type Stored, toStatePath } from './storage.js'

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
  const { record, known, startedAt, fresh, accept, mayReduce, isInstantGiven, history } = wanted
  const { exchange } = settings
  const filesOf = (streams: ReturnType<typeof listRunning>): readonly string[] =>
    streams.flatMap(({ outputs }) => outputs.map((output) => toFilePath(output, exchange, { fileName: '*' })))
  // An ended run as of the same instant did not record what this one is to record.
  const mayReuse =
    !fresh && accept.length === 0 && findAsOfSession(plan, { asOf: record.asOf, now: startedAt, facts: history })?.recorded !== 'all'
  const running = listRunning(plan)
  const run: WantedRun = { record, isInstantGiven, holidays: history?.holidays }
  return {
    folders: [...new Set(filesOf(plan.map(({ stream }) => stream)).map((file) => file.slice(0, Math.max(0, file.lastIndexOf('/')))))],
    streams: running.map(toJournalFacts),
    outputs: filesOf(running),
    session: findSession(history?.isSimulated ? record.asOf : startedAt, history),
    ...(settings.history ? { history: createHistoryRequest(plan, settings, history) } : {}),
    isReusable: (complete) => mayReuse && isReusable(resolveRecord(complete, known), run) && listDue(plan, complete, run).length === 0,
    remainderOf: (ended, unfinished) =>
      mayReduce && mayReuse ? remainderOf(ended, unfinished, { run, due: listDue(plan, ended, run) }) : undefined,
    choose: (unfinished) =>
      unfinished !== undefined && !fresh && findDifference(resolveRecord(unfinished, known), run) === undefined ? unfinished : record,
    isPartOf: (other) => isPartOf(record, other, run.holidays),
  }
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
  { record, isContinued, givenUp, changed }: Session,
  { isRemainder, wanted }: { readonly isRemainder: boolean; readonly wanted: SessionRequestInput },
): RunEvent => ({
  ...{ type: 'run-started', at: wanted.startedAt, run: record.run, asOf: record.asOf },
  ...omitUndefined({ asOfSession: findAsOfSession(plan, { asOf: record.asOf, now: wanted.startedAt, facts: wanted.history }) }),
  ...(isContinued ? { isContinued } : {}),
  ...(isRemainder ? { isRemainder } : {}),
  ...explainGivenUp(givenUp, wanted),
  ...(changed === undefined ? {} : { changed }),
  streams: plan.map(({ stream: { name, endpoints }, state }) => ({ name, state, hosts: [...new Set(endpoints.map(({ host }) => host))] })),
})

const explainGivenUp = (
  unfinished: RunRecord | undefined,
  { fresh, record, known, isInstantGiven, history }: SessionRequestInput,
): Pick<Extract<RunEvent, { type: 'run-started' }>, 'givenUp'> => {
  if (unfinished === undefined) return {}
  const reason = fresh ? 'fresh' : findDifference(resolveRecord(unfinished, known), { record, isInstantGiven, holidays: history?.holidays })
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
const remainderOf = (
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
