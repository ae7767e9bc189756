import type { RunEvent } from './event.js'
import { isLost } from './outcome.js'
import type { FleetState, ItemCounts, Problem, Rewritten, RunOutcome, RunReport, ScriptOutcome, ScriptReport } from './report.js'

const FAILURES_KEPT = 10
const NOTICES_KEPT = 5

/** A stream as it stands while a run goes on. */
export interface StreamTally {
  readonly name: string
  state: 'waiting' | 'running' | ScriptOutcome
  startedAt: number | undefined
  finishedAt: number | undefined
  total: number | undefined
  settled: number
  /** Settled items that were lost to an error. */
  lost: number
  requests: number
  retries: number
  rateLimited: number
  degraded: number
  /** Items that were lost or may lack rows for a reason that may be gone later. */
  temporary: number
  /** Every item that was lost or may lack rows. */
  incomplete: string[]
  /** Items that an unfinished run had in place. */
  takenOver: number
  files: number
  bytes: number
  items: ItemCounts
  failures: Problem[]
  /** What is worth knowing and no failure. */
  notices: Problem[]
  /** Stored files that were replaced as a whole or repaired. */
  rewritten: Rewritten[]
  error: string | undefined
}

/** Adds up a run's events; progress, the summary and the report all read from one. */
export interface Tally {
  readonly record: (event: RunEvent) => void
  readonly streams: () => readonly StreamTally[]
  readonly stocks: () => number
  /** Who works for the run; nothing where no fleet does. */
  readonly fleet: () => FleetState | undefined
  /** The report of the run so far. `end` says how it ended where the streams' own outcomes do not. */
  readonly report: (finishedAt: number, end?: { readonly outcome: RunOutcome; readonly error?: string }) => RunReport
}

export const createTally = (): Tally => {
  const streams = new Map<string, StreamTally>()
  let run = { id: '', asOf: 0, startedAt: 0 }
  let stocks = 0
  let fleet: FleetState | undefined

  const change = (event: RunEvent & { readonly stream: string }): void => {
    const tally = streams.get(event.stream)
    if (tally) count(tally, event)
  }
  return {
    record(event) {
      if (event.type === 'run-started') {
        run = { id: event.run, asOf: event.asOf, startedAt: event.at }
        for (const { name, state } of event.streams) streams.set(name, newTally(name, state))
      } else if (event.type === 'master-read') stocks = event.stocks
      else if (event.type === 'fleet') fleet = event.fleet
      else if ('stream' in event) change(event)
    },
    streams: () => [...streams.values()],
    stocks: () => stocks,
    fleet: () => fleet,
    report(finishedAt, end) {
      const scripts = Object.fromEntries([...streams.values()].map((tally) => [tally.name, scriptReport(tally, finishedAt)]))
      return {
        run: run.id,
        asOf: new Date(run.asOf).toISOString(),
        startedAt: new Date(run.startedAt).toISOString(),
        finishedAt: new Date(finishedAt).toISOString(),
        durationMs: finishedAt - run.startedAt,
        outcome: end?.outcome ?? outcomeOf([...streams.values()]),
        stocks,
        scripts,
        ...(fleet === undefined ? {} : { fleet }),
        ...(end?.error === undefined ? {} : { error: end.error }),
      }
    },
  }
}

const newTally = (name: string, state: StreamTally['state']): StreamTally => ({
  name,
  state,
  startedAt: undefined,
  finishedAt: undefined,
  total: undefined,
  settled: 0,
  lost: 0,
  requests: 0,
  retries: 0,
  rateLimited: 0,
  degraded: 0,
  temporary: 0,
  incomplete: [],
  takenOver: 0,
  files: 0,
  bytes: 0,
  items: { success: 0, empty: 0, skipped: 0, rate_limit: 0, error: 0 },
  failures: [],
  notices: [],
  rewritten: [],
  error: undefined,
})

const count = (tally: StreamTally, event: RunEvent): void => {
  switch (event.type) {
    case 'stream-started':
      tally.state = 'running'
      tally.startedAt = event.at
      break
    case 'items-known':
      tally.total = event.total
      break
    case 'requested':
      tally.requests += 1
      break
    case 'retried':
      tally.retries += 1
      break
    case 'rate-limited':
      tally.rateLimited += 1
      break
    case 'settled':
      tally.settled += 1
      if (event.isTakenOver) tally.takenOver += 1
      tally.items[event.status] = (tally.items[event.status] ?? 0) + 1
      if (event.remark !== undefined) tally.rewritten.push({ item: event.item, reason: event.remark })
      if (isLost(event) || event.degraded !== undefined) tally.incomplete.push(event.item)
      if (event.isTemporary) tally.temporary += 1
      if (isLost(event)) {
        tally.lost += 1
        note(tally.failures, FAILURES_KEPT, problemOf(event, event.reason ?? event.status))
      } else if (event.degraded !== undefined) {
        tally.degraded += 1
        note(tally.failures, FAILURES_KEPT, problemOf(event, event.degraded))
      }
      break
    case 'stored':
      tally.files += 1
      tally.bytes += event.bytes
      break
    case 'noticed':
      note(tally.notices, NOTICES_KEPT, { reason: event.text })
      break
    case 'stream-finished':
      tally.state = event.outcome
      tally.finishedAt = event.at
      tally.error = event.error
  }
}

const problemOf = ({ item, status, code }: RunEvent & { readonly type: 'settled' }, reason: string): Problem => ({
  ...{ item, status },
  ...(code === undefined ? {} : { code }),
  reason,
})

const note = (problems: Problem[], most: number, problem: Problem): void => {
  if (problems.length < most) problems.push(problem)
}

const outcomeOf = (streams: readonly StreamTally[]): RunOutcome =>
  streams.some(({ state, lost, degraded }) => state === 'failed' || state === 'partial' || lost > 0 || degraded > 0)
    ? 'partial'
    : 'complete'

export const NOT_BEGUN = 'the run ended before this began'

/** A stream that had not ended when the run did counts as failed if it had begun, as skipped, with that reason, if it had not. */
const scriptReport = (tally: StreamTally, now: number): ScriptReport => ({
  outcome: tally.state === 'running' ? 'failed' : tally.state === 'waiting' ? 'skipped' : tally.state,
  durationMs: tally.startedAt === undefined ? 0 : (tally.finishedAt ?? now) - tally.startedAt,
  requests: tally.requests,
  retries: tally.retries,
  rateLimited: tally.rateLimited,
  items: { ...tally.items },
  degraded: tally.degraded,
  takenOver: tally.takenOver,
  files: tally.files,
  bytes: tally.bytes,
  problems: [...tally.failures, ...tally.notices],
  ...(tally.rewritten.length === 0 ? {} : { rewritten: [...tally.rewritten] }),
  ...(tally.error === undefined ? {} : { error: tally.error }),
  ...(tally.state === 'waiting' ? { error: NOT_BEGUN } : {}),
})
