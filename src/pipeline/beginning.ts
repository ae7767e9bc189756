import type { RefusalCode } from '../market/never-worse.js'
import type { RunEvent } from '../model/event.js'
import type { Settings } from '../model/settings.js'
import { journalFactsOf } from './kept.js'
import { fileOf } from './output.js'
import type { Planned } from './plan.js'
import { isContinued, isPartOf, suffices } from './record.js'
import type { Beginning, RunRecord, Session } from './session.js'

export interface Wanted {
  readonly record: RunRecord
  /** Start from scratch even if an unfinished run could be resumed. */
  readonly fresh: boolean
  /** Rules whose refused answers are stored all the same: items that a complete run refused are requested again. */
  readonly accept: readonly RefusalCode[]
  /** Whether the caller set `asOf`; otherwise it is the current time. */
  readonly isInstantGiven: boolean
}

/** What the storage must know to open a session for a run. */
export const beginningOf = (
  plan: readonly Planned[],
  { exchange }: Settings,
  { record, fresh, accept, isInstantGiven }: Wanted,
): Beginning => {
  const filesOf = (planned: readonly Planned[]): readonly string[] =>
    planned.flatMap(({ stream: { outputs } }) => outputs.map((output) => fileOf(output, exchange, { fileName: '*' })))
  const running = plan.filter(({ state }) => state === 'waiting')
  return {
    folders: [...new Set(filesOf(plan).map((file) => file.slice(0, Math.max(0, file.lastIndexOf('/')))))],
    streams: running.map(({ stream }) => journalFactsOf(stream)),
    outputs: filesOf(running),
    suffices: (complete) => !fresh && accept.length === 0 && suffices(complete, record, isInstantGiven),
    choose: (unfinished) => (unfinished !== undefined && !fresh && isContinued(unfinished, record, isInstantGiven) ? unfinished : record),
    isPartOf: (other) => isPartOf(record, other),
  }
}

/** The first event of a run. */
export const startOf = (
  plan: readonly Planned[],
  { record: { run, asOf }, isContinued, givenUp, changed }: Session,
  at: number,
): RunEvent => ({
  ...{ type: 'run-started', at, run, asOf },
  ...(isContinued ? { isContinued } : {}),
  ...(givenUp === undefined ? {} : { givenUp }),
  ...(changed === undefined ? {} : { changed }),
  streams: plan.map(({ stream: { name, endpoints }, state }) => ({ name, state, hosts: [...new Set(endpoints.map(({ host }) => host))] })),
})
