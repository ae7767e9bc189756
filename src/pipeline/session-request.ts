import type { RefusalCode } from '../market/never-worse.js'
import type { RunEvent } from '../model/event.js'
import type { Settings } from '../model/settings.js'
import { toFilePath } from './output.js'
import type { PlannedStream } from './plan.js'
import { isPartOf, isReusable, isSameRun } from './record.js'
import { remainderOf } from './remainder.js'
import type { RunRecord, RunSelection, Session, SessionRequest } from './session.js'
import { toJournalFacts } from './store-items.js'

export interface SessionRequestInput {
  readonly record: RunRecord
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
export const createSessionRequest = (
  plan: readonly PlannedStream[],
  { exchange }: Settings,
  { record, fresh, accept, mayReduce, isInstantGiven }: SessionRequestInput,
): SessionRequest => {
  const filesOf = (planned: readonly PlannedStream[]): readonly string[] =>
    planned.flatMap(({ stream: { outputs } }) => outputs.map((output) => toFilePath(output, exchange, { fileName: '*' })))
  const running = plan.filter(({ state }) => state === 'waiting')
  return {
    folders: [...new Set(filesOf(plan).map((file) => file.slice(0, Math.max(0, file.lastIndexOf('/')))))],
    streams: running.map(({ stream }) => toJournalFacts(stream)),
    outputs: filesOf(running),
    isReusable: (complete) => !fresh && accept.length === 0 && isReusable(complete, record, isInstantGiven),
    remainderOf: (ended, unfinished) =>
      mayReduce && !fresh && accept.length === 0 ? remainderOf(ended, unfinished, { wanted: record, isInstantGiven }) : undefined,
    choose: (unfinished) => (unfinished !== undefined && !fresh && isSameRun(unfinished, record, isInstantGiven) ? unfinished : record),
    isPartOf: (other) => isPartOf(record, other),
  }
}

/** The selection in the options of a run. */
export const selectionIn = ({ only, skip, symbols, pairs }: RunSelection): RunSelection => ({
  ...(only === undefined ? {} : { only }),
  ...(skip === undefined ? {} : { skip }),
  ...(symbols === undefined ? {} : { symbols }),
  ...(pairs === undefined ? {} : { pairs }),
})

/** The first event of a run. */
export const createRunStarted = (
  plan: readonly PlannedStream[],
  { record: { run, asOf }, isContinued, givenUp, changed }: Session,
  { at, isRemainder }: { readonly at: number; readonly isRemainder: boolean },
): RunEvent => ({
  ...{ type: 'run-started', at, run, asOf },
  ...(isContinued ? { isContinued } : {}),
  ...(isRemainder ? { isRemainder } : {}),
  ...(givenUp === undefined ? {} : { givenUp }),
  ...(changed === undefined ? {} : { changed }),
  streams: plan.map(({ stream: { name, endpoints }, state }) => ({ name, state, hosts: [...new Set(endpoints.map(({ host }) => host))] })),
})

/** Sorts by time; the random suffix separates runs that start in the same second. */
export const runId = (startedAt: number, random: () => number): string => {
  const second = new Date(startedAt).toISOString().replace(/[-:]|\.\d+/g, '')
  return `${second}-${Math.floor(random() * 0x10000)
    .toString(16)
    .padStart(4, '0')}`
}
