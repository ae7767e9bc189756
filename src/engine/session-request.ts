import { findDueSession, findNewestSession, USUAL_CALENDAR } from '../market/calendar.js'
import type { HistoryRequest, RecordedDocuments, RecordedTable, SessionEvidence } from '../model/history.js'
import type { Settings } from '../model/settings.js'
import {
  DAYS,
  listTables,
  MASTER,
  type Output,
  type RowsInOneFile,
  type StreamDefinition,
  toFilePath,
} from './define-stream.js'
import type { WantedRun } from './earlier-runs.js'
import { listRunning, type PlannedStream } from './plan.js'
import type { JournalFacts, SessionRequest } from './storage.js'

/** The session of a run; `begunAt` if it is a resumed one. */
export const createSessionRequest = (
  plan: readonly PlannedStream[],
  settings: Settings,
  wanted: WantedRun,
  begunAt = wanted.startedAt,
): SessionRequest => {
  const { record, startedAt, calendar, isSimulated, isRecorded, isInstantGiven } = wanted
  const { exchange } = settings
  const filesOf = (streams: ReturnType<typeof listRunning>): readonly string[] =>
    streams.flatMap(({ outputs }) => outputs.map((output) => toFilePath(output, exchange, { fileName: '*' })))
  const running = listRunning(plan)
  const isOutdated = ({ publishedAt }: StreamDefinition): boolean =>
    publishedAt !== undefined &&
    !isInstantGiven &&
    findNewestSession(begunAt, publishedAt, calendar) < findNewestSession(startedAt, publishedAt, calendar)
  return {
    folders: [
      ...new Set(
        filesOf(plan.map(({ stream }) => stream)).map((file) =>
          file.slice(0, Math.max(0, file.lastIndexOf('/'))),
        ),
      ),
    ],
    streams: running.map((stream) => ({ ...toJournalFacts(stream), isOutdated: isOutdated(stream) })),
    outputs: filesOf(running),
    session: findDueSession(isSimulated ? record.asOf : startedAt, calendar),
    ...(isRecorded ? { history: createHistoryRequest(plan, settings, wanted) } : {}),
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

/** Those of a run as of now. */
const USUAL_FACTS = { isLateAllowed: false, calendar: USUAL_CALENDAR, isSimulated: false }

/** What the history keeps of the streams that run. */
export const createHistoryRequest = (
  plan: readonly PlannedStream[],
  { exchange }: Pick<Settings, 'exchange'>,
  {
    isLateAllowed,
    calendar,
    isSimulated,
  }: Pick<HistoryRequest, 'isLateAllowed' | 'calendar' | 'isSimulated'> = USUAL_FACTS,
): HistoryRequest => {
  const streams = plan.map(({ stream }) => stream)
  return {
    tables: listRecordedTables(streams, exchange),
    documents: listRunning(plan).flatMap((stream) =>
      stream.outputs.flatMap((output) => listRecordedDocuments(stream, output, exchange)),
    ),
    isLateAllowed,
    calendar,
    isSimulated,
    evidence: listSessionEvidence(streams, exchange),
  }
}

/** Whether an output shows on which days the market traded. */
export const isEvidence = (output: Output): boolean =>
  output.shape === 'candles-per-item' || ('tradedOn' in output && output.tradedOn !== undefined)

/** What the outputs of some streams show about the days on which the market traded. */
export const listSessionEvidence = (
  streams: readonly StreamDefinition[],
  exchange: string,
): SessionEvidence => {
  const toPattern = (output: Output): string => toFilePath(output, exchange, { fileName: '*' })
  const isOfDays = (output: Output): boolean =>
    streams.some(({ work, outputs }) => work.of === DAYS && outputs.includes(output))
  const indicesFirst = [...streams].sort(
    (one, other) => Number(one.work.of === MASTER) - Number(other.work.of === MASTER),
  )
  const outputs = indicesFirst.flatMap((stream) => stream.outputs)
  return {
    streams: streams.filter((stream) => stream.outputs.some(isEvidence)).map(({ name }) => name),
    candles: outputs.filter(({ shape }) => shape === 'candles-per-item').map(toPattern),
    trades: outputs.flatMap((output) =>
      'tradedOn' in output && output.tradedOn !== undefined && !isOfDays(output)
        ? [{ pattern: toPattern(output), key: output.tradedOn }]
        : [],
    ),
    days: outputs.filter((output) => isOfDays(output) && isEvidence(output)).map(toPattern),
  }
}

/** The tables that the history keeps: all but candles, and those of files of single stocks or indices. */
export const listRecordedTables = (
  streams: readonly StreamDefinition[],
  exchange: string,
): readonly RecordedTable[] =>
  streams.flatMap((stream) => {
    const { name, work, publishedAt, followsAsOf = false } = stream
    const isRecorded = (output: Output): boolean =>
      output.shape !== 'candles-per-item' && (work.of === undefined || output.shape === 'rows-in-one-file')
    const outputs = stream.outputs.filter(isRecorded)
    const changesDaily = outputs.some((output) => 'changesDaily' in output && output.changesDaily === true)
    const toPath = (file: string): string => toFilePath({ file }, exchange, { fileName: '' })
    return listTables([
      { work, publishedAt, outputs: outputs as unknown as StreamDefinition['outputs'] },
    ]).map(({ files, ...table }) => ({
      table: { ...table, files: files.map((one) => ({ ...one, path: toPath(one.path) })) },
      stream: name,
      isPerItem: work.of !== undefined,
      followsAsOf,
      changesDaily,
    }))
  })

const listRecordedDocuments = (
  { work }: StreamDefinition,
  output: Output,
  exchange: string,
): readonly RecordedDocuments[] => {
  if (output.shape !== 'document-per-item' || work.of === undefined) return []
  const pattern = toFilePath(output, exchange, { fileName: '*' })
  return (output.tables ?? []).flatMap(({ lists, identity }) =>
    lists === undefined || identity === undefined ? [] : [{ pattern, lists, identity }],
  )
}
