import { dirname, join } from 'node:path'
import type { RunReport } from '../model/report.js'
import type { RunRecord, SessionRequest } from '../pipeline/session.js'
import { REPORT_FILE, STATE_FOLDER } from '../pipeline/storage.js'
import { writeFileAtomically } from './atomic-file.js'
import { syncFolders } from './file-system.js'
import { recordFullRun, updateFullRun } from './full-run.js'
import { compactOutputDigests } from './output-digests.js'
import { forgetOutputSizes, recordOutputSizes } from './output-sizes.js'
import { savePreviousOutputs } from './previous-outputs.js'
import { deletePart, deleteRunState, mergePart, type RunPaths } from './run-state.js'

/** The facts of a run in a folder that its start and its end need. */
export interface FolderRun {
  readonly paths: RunPaths
  readonly record: RunRecord
  /** Whether it is a part of the run of everything that ended last. */
  readonly isPartOfEnded: boolean
  /** Whether it is a part of an unfinished run, which takes over its journals. */
  readonly isPartOfUnfinished: boolean
  /** Closes the journals. */
  readonly close: () => void
}

/** Replaces the state of an unfinished run by the record of the new one. Resolves to a warning, if any. */
export const replaceRecord = async (
  root: string,
  { outputs, isPartOf, session }: SessionRequest,
  { paths, record, isPartOfEnded, isPartOfUnfinished, unfinished }: FolderRun & { readonly unfinished: RunRecord | undefined },
): Promise<string | undefined> => {
  // `diff` after a partial run still compares with the outputs from before the full run.
  const reusesPrevious = isPartOfEnded || isPartOfUnfinished || (unfinished !== undefined && isPartOf(unfinished))
  const isGivenUp = unfinished !== undefined && unfinished.endedAt === undefined
  const warning = reusesPrevious ? undefined : await savePreviousOutputs(root, { outputs, session, isGivenUp })
  if (isPartOfUnfinished) await mergePart(root)
  else await deleteRunState(paths)
  await deletePart(root)
  await writeFileAtomically(paths.record, [`${JSON.stringify(record, null, 2)}\n`])
  // After a power cut, a run whose record is lost but whose outputs are not would count them as those before it.
  await syncFolders([dirname(paths.record), root])
  return warning
}

/** Ends a run that can be resumed: record and journals stay. */
export const leaveRun = async (
  root: string,
  request: SessionRequest,
  { paths, record, isPartOfEnded, close, endedAt, report }: FolderRun & { readonly endedAt: number; readonly report: RunReport },
): Promise<void> => {
  const { outputs } = request
  close()
  await syncOutputs(root, request)
  await compactOutputDigests(root)
  await recordOutputSizes(root, outputs)
  if (isPartOfEnded) await updateFullRun(root, { run: { ...record, report }, outputs: [...outputs, REPORT_FILE], isComplete: false })
  await writeFileAtomically(paths.record, [`${JSON.stringify({ ...record, endedAt }, null, 2)}\n`])
}

/** Ends a run for good: deletes record and journals, unless an unfinished run of more takes them over. */
export const finishRun = async (
  root: string,
  request: SessionRequest,
  { paths, record, isPartOfEnded, isPartOfUnfinished, close, report }: FolderRun & { readonly report: RunReport | undefined },
): Promise<void> => {
  const { outputs } = request
  const isComplete = report?.outcome === 'complete'
  const coversAllStocks = record.chosen?.symbols === undefined && record.chosen?.pairs === undefined
  close()
  await syncOutputs(root, request)
  await compactOutputDigests(root)
  if (isComplete && !isPartOfEnded && !isPartOfUnfinished && coversAllStocks) await forgetOutputSizes(root, outputs)
  // The note of an ended run is ignored until the record of the unfinished run is deleted below.
  if (!isComplete || isPartOfUnfinished || (isPartOfEnded && report.missing !== undefined)) await recordOutputSizes(root, outputs)
  if (report && !isPartOfUnfinished) {
    const end = { run: { ...record, report }, outputs: [...outputs, REPORT_FILE], isComplete }
    if (isPartOfEnded) await updateFullRun(root, { ...end, isComplete: isComplete && report.missing === undefined })
    else if (isComplete || (report.outcome === 'partial' && coversAllStocks)) await recordFullRun(root, end)
  }
  if (isPartOfUnfinished) await mergePart(root)
  else await deleteRunState(paths)
}

/** Renames must survive a power cut before the journals, from which a lost file could be restored, are deleted. */
const syncOutputs = (root: string, { folders }: SessionRequest): Promise<void> =>
  syncFolders([STATE_FOLDER, ...folders].map((folder) => join(root, folder)))
