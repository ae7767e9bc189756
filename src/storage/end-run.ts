import { join } from 'node:path'
import type { RunReport } from '../model/report.js'
import type { RunRecord, SessionRequest } from '../pipeline/session.js'
import { writeFileAtomically } from './atomic-file.js'
import { recordIncomplete, updateFullRun } from './full-run.js'
import { forgetOutputSizes, recordOutputSizes } from './output-sizes.js'
import { savePreviousOutputs } from './previous-outputs.js'
import { deletePartState, deleteRunState, mergePart, type RunPaths } from './run-paths.js'
import { writeRunSnapshot } from './run-snapshot.js'
import { syncFolders } from './sync-folders.js'

export const STATE_FOLDER = '.scripstream'
export const REPORT_FILE = `${STATE_FOLDER}/report.json`

/** A run in a folder, as its beginning and its end must know it. */
export interface FolderRun {
  readonly place: RunPaths
  readonly record: RunRecord
  /** Whether it is a part of the run of everything that ended last. */
  readonly isPart: boolean
  /** Whether it is a part of the unfinished run in the main place. */
  readonly isBeside: boolean
  /** Closes the journals. */
  readonly close: () => void
}

/** Replaces the state of an unfinished run by the record of the new one. Resolves to a warning, if any. */
export const replaceRecord = async (
  root: string,
  { outputs, isPartOf }: SessionRequest,
  { place, record, isPart, isBeside, unfinished }: FolderRun & { readonly unfinished: RunRecord | undefined },
): Promise<string | undefined> => {
  const state = join(root, STATE_FOLDER)
  // `diff` after a partial run still compares with the outputs from before the full run.
  const reusesPrevious = isPart || isBeside || (unfinished !== undefined && isPartOf(unfinished))
  const isGivenUp = unfinished !== undefined && unfinished.endedAt === undefined
  const warning = reusesPrevious ? undefined : await savePreviousOutputs({ root, state, outputs, isGivenUp })
  if (isBeside) await mergePart(state)
  else await deleteRunState(place)
  await deletePartState(state)
  await writeFileAtomically(place.record, [`${JSON.stringify(record, null, 2)}\n`])
  return warning
}

/** Ends a run that can be resumed: record and journals stay. */
export const leaveRun = async (
  root: string,
  { folders, outputs }: SessionRequest,
  { place, record, isPart, close, endedAt, report }: FolderRun & { readonly endedAt: number; readonly report: RunReport },
): Promise<void> => {
  const state = join(root, STATE_FOLDER)
  close()
  await syncFolders([STATE_FOLDER, ...folders].map((folder) => join(root, folder)))
  await recordOutputSizes(state, { root, outputs })
  if (isPart) await updateFullRun(state, { root, outputs: [...outputs, REPORT_FILE], part: { ...record, report }, isComplete: false })
  await writeFileAtomically(place.record, [`${JSON.stringify({ ...record, endedAt }, null, 2)}\n`])
}

/** Ends a run for good: deletes record and journals, unless an unfinished run of more takes them over. */
export const finishRun = async (
  root: string,
  { folders, outputs }: SessionRequest,
  { place, record, isPart, isBeside, close, report }: FolderRun & { readonly report: RunReport | undefined },
): Promise<void> => {
  const state = join(root, STATE_FOLDER)
  const isComplete = report?.outcome === 'complete'
  const isAll = record.chosen?.symbols === undefined && record.chosen?.pairs === undefined
  close()
  await syncFolders([STATE_FOLDER, ...folders].map((folder) => join(root, folder)))
  if (isComplete && !isPart && !isBeside && isAll) await forgetOutputSizes(state, outputs)
  // The note of an ended run is ignored until the record of the unfinished run is deleted below.
  if (!isComplete || isBeside || (isPart && report.missing !== undefined)) await recordOutputSizes(state, { root, outputs })
  if (report && !isBeside) await recordRunEnd(root, { record, isPart, report, isAll, outputs: [...outputs, REPORT_FILE] })
  if (isBeside) await mergePart(state)
  else await deleteRunState(place)
}

interface Noting extends Pick<FolderRun, 'record' | 'isPart'> {
  readonly report: RunReport
  readonly isAll: boolean
  readonly outputs: readonly string[]
}

/** Notes what a run leaves, for the next one. */
const recordRunEnd = async (root: string, { record, isPart, report, isAll, outputs }: Noting): Promise<void> => {
  const state = join(root, STATE_FOLDER)
  const run = { ...record, report }
  const isComplete = report.outcome === 'complete'
  if (isPart) await updateFullRun(state, { root, outputs, part: run, isComplete: isComplete && report.missing === undefined })
  else if (isComplete) await writeRunSnapshot(join(state, 'complete.json'), run, { root, outputs })
  else if (report.outcome === 'partial' && isAll) await recordIncomplete(state, run, { root, outputs })
}
