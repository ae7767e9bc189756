import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { DamagedFileError } from '../../model/errors.js'
import type { HistoryRequest, RecordedFile } from '../../model/history.js'
import type { RunReport } from '../../model/report.js'
import type { Row } from '../../model/row.js'
import { type Day, toDay } from '../../model/trading-day.js'
import type { RunRecord } from '../../pipeline/session.js'
import { describeFileError, getErrorCode } from '../file-system.js'
import { readRecords } from '../record-file.js'
import { type Entry, FIRST_SEEN, pack, REWRITTEN, unpack } from './day-file.js'
import { findNewRecords, mergeFirstSeen } from './first-seen.js'
import { deleteInterruptedWrites, findBase, readRecordedDay, toDayPath, writeBase, writeDay } from './history-folder.js'
import { encodeRows } from './table-codec.js'

/** What a run that ended left to record. */
export interface RecordedRun {
  readonly history: HistoryRequest
  readonly record: RunRecord
  readonly report: RunReport
  /** Whether it completes a run of everything on the same day, so that its files are complete if nothing of them is missing. */
  readonly isPartOfEnded: boolean
}

/**
 * Records the outputs of a run under its day: lists of streams that lack nothing, and which records of other files are new. Entries of
 * streams that this run did not complete stay. Never fails; resolves to a warning, if any.
 */
export const recordDay = async (root: string, run: RecordedRun): Promise<string | undefined> => {
  try {
    const { history, record, report } = run
    const day = toDay(record.asOf)
    const knownAt = report.finishedAt
    await deleteInterruptedWrites(root)
    const earlier = await readRecordedDay(root, day).catch(() => undefined)
    const entries: Record<string, Entry> = { ...earlier?.entries }
    for (const file of selectComplete(history, run)) {
      const entry = await recordFile(root, file, { day, knownAt })
      if (entry) entries[file.file] = entry
      await yieldToEventLoop()
    }
    const keep = async (name: string, content: object): Promise<void> => {
      if (Object.keys(content).length > 0) entries[name] = { knownAt, bytes: await pack(JSON.stringify(content)) }
    }
    const readEarlier = async (name: string): Promise<unknown> => {
      const bytes = earlier?.entries[name]?.bytes
      return bytes && unpack(bytes, toDayPath(root, day))
    }
    await keep(FIRST_SEEN, mergeFirstSeen(await readEarlier(FIRST_SEEN), await findNewRecords(root, history.documents)))
    await keep(REWRITTEN, { ...((await readEarlier(REWRITTEN)) as object | undefined), ...listRewritten(report) })
    if (Object.keys(entries).length > 0) await writeDay(root, { day, entries })
    return undefined
  } catch (error) {
    return `this day could not be added to the history: ${describeFileError(error)}`
  }
}

/** The files that are complete: their stream succeeded, and the run requested all of their items, or the last ones that were missing. */
const selectComplete = (
  { files }: HistoryRequest,
  { record: { chosen }, report, isPartOfEnded }: Pick<RecordedRun, 'record' | 'report' | 'isPartOfEnded'>,
): readonly RecordedFile[] => {
  const isOfAll = (stream: string): boolean => chosen?.symbols === undefined && chosen?.pairs?.[stream] === undefined
  return files.filter(
    ({ stream, isPerItem }) =>
      report.scripts[stream]?.outcome === 'success' &&
      report.missing?.[stream] === undefined &&
      (isPartOfEnded || (isPerItem ? isOfAll(stream) : chosen?.pairs?.[stream] === undefined)),
  )
}

const listRewritten = ({ scripts }: RunReport): object =>
  Object.fromEntries(Object.entries(scripts).flatMap(([stream, { rewritten }]) => (rewritten ? [[stream, rewritten]] : [])))

/** Below this, a difference of a list is worth a base. */
const MAX_DIFFERENCE = 0.7
/** Characters; a smaller list that differs in most cells is stored whole. */
const MIN_BASE_LENGTH = 200_000

const recordFile = async (
  root: string,
  { file, stream, format }: RecordedFile,
  { day, knownAt }: { readonly day: Day; readonly knownAt: string },
): Promise<Entry | undefined> => {
  const rows = await readRows(join(root, file), format)
  if (rows === undefined) return undefined
  const base = await findBase(root, file, day)
  const difference = base && JSON.stringify(encodeRows(rows, base.rows))
  const facts = { knownAt, stream, format }
  if (base && difference !== undefined && difference.length < base.length * MAX_DIFFERENCE)
    return { ...facts, base: base.name, bytes: await pack(difference) }
  const whole = JSON.stringify(encodeRows(rows))
  if (base && whole.length < MIN_BASE_LENGTH) return { ...facts, bytes: await pack(whole) }
  const name = await writeBase(root, { file, day }, whole)
  return { ...facts, base: name, bytes: await pack(JSON.stringify(encodeRows(rows, rows))) }
}

/** The rows of a list, the lines of a text, or a document as the only row; `undefined` if there is no such file, or it is damaged. */
const readRows = async (path: string, format: RecordedFile['format']): Promise<readonly unknown[] | undefined> => {
  try {
    if (format !== 'array') {
      const text = await readFile(path, 'utf8')
      return format === 'text' ? text.split('\n') : [JSON.parse(text)]
    }
    // Line by line: the text of a large list is never in memory as a whole.
    const rows: Row[] = []
    for await (const batch of readRecords(path, path)) rows.push(...batch)
    return rows
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof DamagedFileError || getErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
