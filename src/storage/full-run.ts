import { basename, join } from 'node:path'
import { type EndedRun, REPORT_FILE, toStatePath } from '../engine/storage.js'
import { driftIn, isSignificant, joinDrift } from '../model/drift.js'
import { isRow, omitUndefined } from '../model/row.js'
import { disk } from './disk.js'
import { type FileStamp, hasStamp, readStamp, readStateDocument, statFile, writeFileAtomically } from './file-system.js'
import { createOutputMatcher, forEachYielding, readOutputDigests } from './output-files.js'
import { isRunRecord, statePaths } from './run-state.js'

/** A run that ended, and its outputs; `output-digests` has the size and time of each. */
export interface RunSnapshot {
  readonly run: EndedRun
  /** Paths relative to the folder, with `*` for any name. */
  readonly outputs: readonly string[]
  /** The report of the run; absent while a run of a part of it may replace the report. */
  readonly report?: FileStamp | undefined
  /** The last complete run that fetched only a part of it again. */
  readonly part?: RunSnapshot
}

/** The run that left the folder complete; `undefined` without one. */
export const readCompleteRun = (root: string): Promise<RunSnapshot | undefined> => readSnapshot(statePaths(root).complete)

/** The last run of everything while something of it is missing, or while a run of a part of it is active; `undefined` without one. */
export const readIncompleteRun = (root: string): Promise<RunSnapshot | undefined> => readSnapshot(statePaths(root).incomplete)

/** Finds the first file that has changed since the run stored it; `undefined` if none has. Without its digests, nothing shows that. */
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
const listWritten = async ({ outputs }: RunSnapshot, root: string): Promise<readonly (readonly [file: string, FileStamp])[]> => {
  const isOutput = createOutputMatcher(outputs)
  const digests = await readOutputDigests(root, { hasUnwritten: false })
  return [...digests].flatMap(([file, { stamp }]) => (isOutput(file) ? [[file, stamp] as const] : []))
}

/** Call before a run writes: deletes the note of the last run of everything. */
export const deleteFullRun = async (root: string): Promise<void> => {
  const { complete, incomplete } = statePaths(root)
  for (const path of [incomplete, complete]) await disk.rm(path, { force: true })
}

/** Call before a run of a part writes: until it ends, the folder is not complete. */
export const markIncomplete = async (root: string): Promise<void> => {
  const { complete, incomplete } = statePaths(root)
  const whole = (await readCompleteRun(root)) ?? (await readIncompleteRun(root))
  if (whole === undefined) return
  await writeSnapshot(incomplete, { run: whole.run, outputs: whole.outputs })
  await disk.rm(complete, { force: true })
}

/** A run that ended, its outputs, and whether it left nothing missing. */
export interface RunEnd extends Pick<RunSnapshot, 'run' | 'outputs'> {
  readonly isComplete: boolean
}

/** Records a run of everything that ended. */
export const recordFullRun = async (root: string, { run, outputs, isComplete }: RunEnd): Promise<void> => {
  const { complete, incomplete } = statePaths(root)
  await writeSnapshot(isComplete ? complete : incomplete, { run, outputs, report: readStamp(join(root, REPORT_FILE)) })
}

/** After a run of a part: if nothing is missing, the run of everything is complete again. */
export const updateFullRun = async (root: string, { run: part, outputs, isComplete }: RunEnd): Promise<void> => {
  const { complete, incomplete } = statePaths(root)
  const whole = await readSnapshot(incomplete)
  if (whole === undefined) return
  const { newest, stale, ...earlier } = whole.run.report
  const isWhole = part.chosen?.symbols === undefined
  const freshness = omitUndefined(isWhole ? { newest: part.report.newest, stale: part.report.stale } : { newest, stale })
  const run = addPartDrift(part, { ...whole.run, report: { ...earlier, ...freshness } })
  const report = readStamp(join(root, REPORT_FILE))
  const snapshot: RunSnapshot = { run, outputs: [...new Set([...whole.outputs, ...outputs])], report }
  if (!isComplete || driftIn(run.report.drift).some(isSignificant)) return writeSnapshot(incomplete, snapshot)
  await writeSnapshot(complete, { ...snapshot, part: { run: part, outputs, report } })
  await disk.rm(incomplete, { force: true })
}

/** Unaccepted drift in a part prevents the reuse of the whole run, which finds it again. */
const addPartDrift = ({ report: { drift: found = [] } }: EndedRun, whole: EndedRun): EndedRun => {
  const drift = joinDrift(driftIn(whole.report.drift), found.filter(isSignificant))
  return drift.length === 0 ? whole : { ...whole, report: { ...whole.report, drift } }
}

const writeSnapshot = async (path: string, snapshot: RunSnapshot): Promise<void> =>
  void (await writeFileAtomically(path, [`${JSON.stringify(snapshot)}\n`]))

const readSnapshot = async (path: string): Promise<RunSnapshot | undefined> => {
  const snapshot = await readStateDocument(path)
  if (!isRunSnapshot(snapshot)) return undefined
  const { part, ...run } = snapshot
  return isRunSnapshot(part) ? { ...run, part } : run
}

const isRunSnapshot = (snapshot: unknown): snapshot is RunSnapshot & Record<string, unknown> =>
  isRow(snapshot) &&
  isRunRecord(snapshot.run) &&
  isRow(snapshot.run.report) &&
  isRow(snapshot.run.report.scripts) &&
  Object.values(snapshot.run.report.scripts).every((script) => isRow(script) && isRow(script.items)) &&
  Array.isArray(snapshot.outputs)
