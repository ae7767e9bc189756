import { findDueSession } from '../market/calendar.js'
import type { HistoryRequest, RecordedDocuments, RecordedTable, SessionEvidence } from '../model/history.js'
import type { AsOfSession } from '../model/report.js'
import type { Settings } from '../model/settings.js'
import type { Day } from '../model/trading-day.js'
import { listTables, MASTER, type Output, type StreamDefinition, toFilePath } from './define-stream.js'
import { listRunning, type PlannedStream } from './plan.js'

/** The facts of a run that decide what the history keeps of it. */
export interface HistoryFacts extends Pick<HistoryRequest, 'isLateAllowed' | 'holidays' | 'isSimulated'> {
  /** Whether the history is switched on. */
  readonly isRecorded: boolean
}

/** Those of a run as of now. */
const USUAL_FACTS: HistoryFacts = { isRecorded: true, isLateAllowed: false, holidays: new Set(), isSimulated: false }

/** What the history keeps of the streams that run. */
export const createHistoryRequest = (
  plan: readonly PlannedStream[],
  { exchange }: Pick<Settings, 'exchange'>,
  { isLateAllowed, holidays, isSimulated }: HistoryFacts = USUAL_FACTS,
): HistoryRequest => {
  const streams = plan.map(({ stream }) => stream)
  return {
    tables: listRecordedTables(streams, exchange),
    documents: listRunning(plan).flatMap((stream) => stream.outputs.flatMap((output) => listRecordedDocuments(stream, output, exchange))),
    ...{ isLateAllowed, holidays, isSimulated },
    evidence: listSessionEvidence(streams, exchange),
  }
}

/** Whether an output shows on which days the market traded. */
export const isEvidence = (output: Output): boolean =>
  output.shape === 'candles-per-item' || ('tradedOn' in output && output.tradedOn !== undefined)

/** What the outputs of some streams show about the days on which the market traded. */
export const listSessionEvidence = (streams: readonly StreamDefinition[], exchange: string): SessionEvidence => {
  const toPattern = (output: Output): string => toFilePath(output, exchange, { fileName: '*' })
  const indicesFirst = [...streams].sort((one, other) => Number(one.work.of === MASTER) - Number(other.work.of === MASTER))
  const outputs = indicesFirst.flatMap((stream) => stream.outputs)
  return {
    streams: streams.filter((stream) => stream.outputs.some(isEvidence)).map(({ name }) => name),
    candles: outputs.filter(({ shape }) => shape === 'candles-per-item').map(toPattern),
    trades: outputs.flatMap((output) =>
      'tradedOn' in output && output.tradedOn !== undefined ? [{ pattern: toPattern(output), key: output.tradedOn }] : [],
    ),
  }
}

/** The session of an instant, as far as holidays are known. */
export const findSession = (instant: number, { holidays } = USUAL_FACTS): Day => findDueSession(instant, holidays)

/**
 * Which outputs are of `asOf`, if it is of another session than the one due now; undefined if all of them are of one session: a simulated
 * market has no other "now" than `asOf`.
 */
export const findAsOfSession = (
  plan: readonly PlannedStream[],
  { asOf, now, facts = USUAL_FACTS }: { readonly asOf: number; readonly now: number; readonly facts: HistoryFacts | undefined },
): AsOfSession | undefined => {
  const { holidays, isLateAllowed, isSimulated, isRecorded } = facts
  // The end of today stands for today, whose session may not have opened yet.
  const session = findDueSession(Math.min(asOf, now), holidays)
  const due = findDueSession(now, holidays)
  const running = listRunning(plan)
  const listNames = (follows: boolean): readonly string[] =>
    running.filter(({ followsAsOf = false }) => followsAsOf === follows).map(({ name }) => name)
  const others = listNames(false)
  if (session === due || isSimulated || others.length === 0) return undefined
  return { session, due, following: listNames(true), others, recorded: !isRecorded ? 'none' : isLateAllowed ? 'all' : 'following' }
}

/** The tables that the history keeps: all but candles, and those of files of single stocks or indices. */
export const listRecordedTables = (streams: readonly StreamDefinition[], exchange: string): readonly RecordedTable[] =>
  streams.flatMap((stream) => {
    const { name, work, followsAsOf = false } = stream
    const isRecorded = (output: Output): boolean =>
      output.shape !== 'candles-per-item' && (work.of === undefined || output.shape === 'rows-in-one-file')
    const outputs = stream.outputs.filter(isRecorded)
    const changesDaily = outputs.some((output) => 'changesDaily' in output && output.changesDaily === true)
    const toPath = (file: string): string => toFilePath({ file }, exchange, { fileName: '' })
    return listTables([{ work, outputs: outputs as unknown as StreamDefinition['outputs'] }]).map(({ files, ...table }) => ({
      table: { ...table, files: files.map((one) => ({ ...one, path: toPath(one.path) })) },
      ...{ stream: name, isPerItem: work.of !== undefined, followsAsOf, changesDaily },
    }))
  })

const listRecordedDocuments = ({ work }: StreamDefinition, output: Output, exchange: string): readonly RecordedDocuments[] => {
  if (output.shape !== 'document-per-item' || work.of === undefined) return []
  const pattern = toFilePath(output, exchange, { fileName: '*' })
  return (output.tables ?? []).flatMap(({ lists, identity }) =>
    lists === undefined || identity === undefined ? [] : [{ pattern, lists, identity }],
  )
}
