import { basename, join } from 'node:path'
import { type EndedRun, REPORT_FILE, toStatePath } from '../engine/storage.js'
import { driftIn, isSignificant, joinDrift } from '../model/drift.js'
import { isRow, omitUndefined } from '../model/row.js'
import {
  type FileStamp,
  hasStamp,
  readStamp,
  readStateDocument,
  statFile,
  writeFileAtomically,
} from './file-system.js'
import { createOutputMatcher, forEachYielding, readOutputDigests } from './output-files.js'
import { isRunRecord, statePaths } from './run-state.js'

/** A run that ended, and its outputs; `output-digests` has the size and time of each. */
export interface RunSnapshot {
  readonly run: EndedRun
  /** Whether nothing of it is missing, and no run of a part of it is active. */
  readonly isComplete: boolean
  /** Paths relative to the folder, with `*` for any name. */
  readonly outputs: readonly string[]
  /** The report of the run; absent while a run of a part of it may replace the report. */
  readonly report?: FileStamp | undefined
  /** The last complete run that fetched only a part of it again. */
  readonly part?: RunSnapshot
}

/** The last run of everything; `undefined` without one. */
export const readFullRun = async (root: string): Promise<RunSnapshot | undefined> => {
  const snapshot = await readStateDocument(statePaths(root).fullRun)
  if (!isRunSnapshot(snapshot)) return undefined
  const { part, ...run } = snapshot
  return isRunSnapshot(part) ? { ...run, part } : run
}

/**
 * Finds the first file that has changed since the run stored it; `undefined` if none has. Without its
 * digests, nothing shows that.
 */
export const findChangedFile = async (snapshot: RunSnapshot, root: string): Promise<string | undefined> => {
  const written = await listWritten(snapshot, root)
  if (written.length === 0) return toStatePath(basename(statePaths(root).digests))
  const own = snapshot.report ? [...written, [REPORT_FILE, snapshot.report] as const] : written
  let changed: string | undefined
  await forEachYielding(own, ([file, stamp]) => {
    if (changed === undefined && !hasStamp(readStamp(join(root, file)), stamp)) changed = file
  })
  return changed
}

/** Lists the outputs of the run that no longer exist. */
export const listMissingOutputs = async (snapshot: RunSnapshot, root: string): Promise<readonly string[]> => {
  const gone: string[] = []
  await forEachYielding(await listWritten(snapshot, root), ([file]) => {
    if (statFile(join(root, file)) === undefined) gone.push(file)
  })
  return gone
}

/** The files of the outputs of a run, with their sizes and times. */
const listWritten = async (
  { outputs }: RunSnapshot,
  root: string,
): Promise<readonly (readonly [file: string, FileStamp])[]> => {
  const isOutput = createOutputMatcher(outputs)
  const digests = await readOutputDigests(root, { hasUnwritten: false })
  return [...digests].flatMap(([file, { stamp }]) => (isOutput(file) ? [[file, stamp] as const] : []))
}

/** Call before a run of a part writes: until it ends, the folder is not complete. */
export const markIncomplete = async (root: string): Promise<void> => {
  const whole = await readFullRun(root)
  if (whole !== undefined)
    await writeSnapshot(root, { run: whole.run, outputs: whole.outputs, isComplete: false })
}

/** A run that ended, its outputs, and whether it left nothing missing. */
export type RunEnd = Pick<RunSnapshot, 'run' | 'outputs' | 'isComplete'>

/** Records a run of everything that ended. */
export const recordFullRun = (root: string, end: RunEnd): Promise<void> =>
  writeSnapshot(root, { ...end, report: readReportStamp(root) })

/** After a run of a part: if nothing is missing, the run of everything is complete again. */
export const updateFullRun = async (
  root: string,
  { run: part, outputs, isComplete: isPartComplete }: RunEnd,
): Promise<void> => {
  const whole = await readFullRun(root)
  if (whole === undefined) return
  const { newest, early, stale, ...earlier } = whole.run.report
  const isWhole = part.chosen?.symbols === undefined
  const freshness = omitUndefined(isWhole ? pickFreshness(part.report) : { newest, early, stale })
  const run = addPartDrift(part, { ...whole.run, report: { ...earlier, ...freshness } })
  const isComplete = isPartComplete && !driftIn(run.report.drift).some(isSignificant)
  const report = readReportStamp(root)
  await writeSnapshot(root, {
    run,
    outputs: [...new Set([...whole.outputs, ...outputs])],
    report,
    isComplete,
    ...(isComplete && { part: { run: part, outputs, report, isComplete } }),
  })
}

const readReportStamp = (root: string): FileStamp | undefined => readStamp(join(root, REPORT_FILE))

/** Unaccepted drift in a part prevents the reuse of the whole run, which finds it again. */
const pickFreshness = ({ newest, early, stale }: EndedRun['report']) => ({ newest, early, stale })

const addPartDrift = ({ report: { drift: found = [] } }: EndedRun, whole: EndedRun): EndedRun => {
  const drift = joinDrift(driftIn(whole.report.drift), found.filter(isSignificant))
  return drift.length === 0 ? whole : { ...whole, report: { ...whole.report, drift } }
}

const writeSnapshot = async (root: string, snapshot: RunSnapshot): Promise<void> =>
  void (await writeFileAtomically(statePaths(root).fullRun, [`${JSON.stringify(snapshot)}\n`]))

const isRunSnapshot = (snapshot: unknown): snapshot is RunSnapshot & Record<string, unknown> =>
  isRow(snapshot) &&
  isRunRecord(snapshot.run) &&
  isRow(snapshot.run.report) &&
  isRow(snapshot.run.report.scripts) &&
  Object.values(snapshot.run.report.scripts).every((script) => isRow(script) && isRow(script.items)) &&
  Array.isArray(snapshot.outputs)
