import { join } from 'node:path'
import type { RunReport } from '../src/model/report.js'
import type { Beginning, RunRecord } from '../src/pipeline/session.js'
import { writeWhole } from './atomic-file.js'
import { noteComplete } from './complete-run.js'
import { forgetLeft, noteLeft } from './files-left.js'
import { keepPrevious } from './previous-outputs.js'
import { absorbPart, clearPart, clearPlace, type RunPlace } from './run-place.js'
import { syncFolders } from './sync-folders.js'
import { noteIncomplete, updateWhole } from './whole-run.js'

export const STATE = '.scripstream'
export const REPORT = `${STATE}/report.json`

/** A run in a folder, as its beginning and its end must know it. */
export interface RunInFolder {
  readonly place: RunPlace
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
  { outputs, isPartOf }: Beginning,
  { place, record, isPart, isBeside, unfinished }: RunInFolder & { readonly unfinished: RunRecord | undefined },
): Promise<string | undefined> => {
  const state = join(root, STATE)
  // `diff` after a partial run still compares with the outputs from before the full run.
  const reusesPrevious = isPart || isBeside || (unfinished !== undefined && isPartOf(unfinished))
  const isGivenUp = unfinished !== undefined && unfinished.endedAt === undefined
  const warning = reusesPrevious ? undefined : await keepPrevious({ root, state, outputs, isGivenUp })
  if (isBeside) await absorbPart(state)
  else await clearPlace(place)
  await clearPart(state)
  await writeWhole(place.record, [`${JSON.stringify(record, null, 2)}\n`])
  return warning
}

/** Ends a run that can be resumed: record and journals stay. */
export const leaveRun = async (
  root: string,
  { folders, outputs }: Beginning,
  { place, record, isPart, close, endedAt, report }: RunInFolder & { readonly endedAt: number; readonly report: RunReport },
): Promise<void> => {
  const state = join(root, STATE)
  close()
  await syncFolders([STATE, ...folders].map((folder) => join(root, folder)))
  await noteLeft(state, { root, outputs })
  if (isPart) await updateWhole(state, { root, outputs: [...outputs, REPORT], part: { ...record, report }, isComplete: false })
  await writeWhole(place.record, [`${JSON.stringify({ ...record, endedAt }, null, 2)}\n`])
}

/** Ends a run for good: deletes record and journals, unless an unfinished run of more takes them over. */
export const finishRun = async (
  root: string,
  { folders, outputs }: Beginning,
  { place, record, isPart, isBeside, close, report }: RunInFolder & { readonly report: RunReport | undefined },
): Promise<void> => {
  const state = join(root, STATE)
  const isComplete = report?.outcome === 'complete'
  const isAll = record.chosen?.symbols === undefined && record.chosen?.pairs === undefined
  close()
  await syncFolders([STATE, ...folders].map((folder) => join(root, folder)))
  if (isComplete && !isPart && !isBeside && isAll) await forgetLeft(state, outputs)
  // The note of an ended run is ignored until the record of the unfinished run is deleted below.
  if (!isComplete || isBeside || (isPart && report.missing !== undefined)) await noteLeft(state, { root, outputs })
  if (report && !isBeside) await noteEnd(root, { record, isPart, report, isAll, outputs: [...outputs, REPORT] })
  if (isBeside) await absorbPart(state)
  else await clearPlace(place)
}

interface Noting extends Pick<RunInFolder, 'record' | 'isPart'> {
  readonly report: RunReport
  readonly isAll: boolean
  readonly outputs: readonly string[]
}

/** Notes what a run leaves, for the next one. */
const noteEnd = async (root: string, { record, isPart, report, isAll, outputs }: Noting): Promise<void> => {
  const state = join(root, STATE)
  const run = { ...record, report }
  const isComplete = report.outcome === 'complete'
  if (isPart) await updateWhole(state, { root, outputs, part: run, isComplete: isComplete && report.missing === undefined })
  else if (isComplete) await noteComplete(join(state, 'complete.json'), run, { root, outputs })
  else if (report.outcome === 'partial' && isAll) await noteIncomplete(state, run, { root, outputs })
}
