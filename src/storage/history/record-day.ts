import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { DamagedFileError } from '../../model/errors.js'
import type { HistoryRequest, RecordedFile } from '../../model/history.js'
import type { RunReport } from '../../model/report.js'
import { toDay } from '../../model/trading-day.js'
import type { RunRecord } from '../../pipeline/session.js'
import { describeFileError, syncFolders } from '../file-system.js'
import { statePaths } from '../run-state.js'
import { toBaseFolder } from './bases.js'
import { type Entry, FIRST_SEEN, pack, REWRITTEN, type ReadableRecord, type Rewritten, readWhatIsReadable, unpack } from './day-file.js'
import { findNewRecords, mergeFirstSeen } from './first-seen.js'
import { deleteInterruptedWrites, toDayPath, writeDay } from './history-folder.js'
import { createHistoryReader } from './history-reader.js'
import { type FileState, type Recording, recordFile } from './record-file.js'

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
  const warnings = new Set<string>()
  try {
    await updateDay(root, run, (warning) => warnings.add(warning))
  } catch (error) {
    warnings.add(`this day could not be added to the history: ${describeFileError(error)}`)
  }
  return warnings.size === 0 ? undefined : [...warnings].join('; ')
}

type Warn = (warning: string) => void

const updateDay = async (root: string, run: RecordedRun, warn: Warn): Promise<void> => {
  const { history, record, report } = run
  const day = toDay(record.asOf)
  await deleteInterruptedWrites(root)
  const earlier = await readEarlier(toDayPath(root, day), warn)
  const recorded = await recordFiles({ root, day, warn }, selectComplete(history, run))
  const knownAt = report.finishedAt
  const entries: Record<string, Entry> = { ...earlier?.entries }
  for (const [{ file, stream }, state] of recorded) entries[file] = { knownAt, stream, ...state }
  const keep = async (name: string, content: object): Promise<void> => {
    if (Object.keys(content).length > 0) entries[name] = { knownAt, bytes: await pack(content) }
  }
  await keep(FIRST_SEEN, mergeFirstSeen(await unpack(earlier?.entries[FIRST_SEEN]), await findNewRecords(root, history.documents)))
  await keep(REWRITTEN, mergeRewritten((await unpack(earlier?.entries[REWRITTEN])) as Rewritten, report))
  if (earlier && earlier.damaged.length > 0) {
    const lost = earlier.damaged.filter((name) => entries[name] === undefined)
    warn(
      `${toDayPath(root, day)} was damaged: ${lost.length === 0 ? 'this run has replaced what was lost' : `it has lost ${lost.join(', ')}`}`,
    )
  }
  if (Object.keys(entries).length > 0) await writeDay(root, { day, entries })
}

/** What can be read of the earlier record of the day, which is replaced. */
const readEarlier = async (path: string, warn: Warn): Promise<ReadableRecord | undefined> => {
  try {
    return await readWhatIsReadable(path)
  } catch (error) {
    if (!(error instanceof DamagedFileError)) throw error
    warn(`${path} was damaged: it has lost what earlier runs of its day recorded`)
    return undefined
  }
}

/** Records the files one after the other, so that the memory of only one is needed. */
const recordFiles = async (
  recording: Omit<Recording, 'reader'>,
  files: readonly RecordedFile[],
): Promise<readonly (readonly [RecordedFile, FileState])[]> => {
  const recorded: (readonly [RecordedFile, FileState])[] = []
  const { root } = recording
  const reader = createHistoryReader(root, statePaths(root).history)
  try {
    for (const file of files) {
      const state = await recordFile({ ...recording, reader }, file.file)
      if (state) recorded.push([file, state])
      await yieldToEventLoop()
    }
  } finally {
    await reader.close()
  }
  // A day must never be on the disk before its bases.
  await syncFolders([toBaseFolder(root)])
  return recorded
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

/** Adds the files that a run replaced; of two for an item, the later one counts. */
const mergeRewritten = (earlier: Rewritten, { scripts, finishedAt: knownAt }: RunReport): Rewritten => {
  const later = Object.entries(scripts).flatMap(([stream, { rewritten = [] }]) => {
    const items = new Set(rewritten.map(({ item }) => item))
    const others = (earlier[stream] ?? []).filter(({ item }) => !items.has(item))
    return rewritten.length === 0 ? [] : [[stream, [...others, ...rewritten.map((file) => ({ ...file, knownAt }))]] as const]
  })
  return { ...earlier, ...Object.fromEntries(later) }
}
