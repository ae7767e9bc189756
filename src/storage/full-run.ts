import { join } from 'node:path'
import type { EndedRun } from '../engine/storage.js'
import { driftIn, isSignificant, joinDrift } from '../model/drift.js'
import { isRow, omitUndefined } from '../model/row.js'
import { disk } from './disk.js'
import { type FileStamp, hasStamp, readStamp, readStateDocument, statFile, writeFileAtomically } from './file-system.js'
import { createOutputMatcher, forEachYielding, statOutputFiles } from './output-files.js'
import { isRunRecord, statePaths } from './run-state.js'

/** A run that ended, and all its output files, by path relative to the folder. */
export interface RunSnapshot {
  readonly run: EndedRun
  /** Null: a run of a part of it may have replaced the file. */
  readonly files: Readonly<Record<string, FileStamp | null>>
  /** The last complete run that fetched only a part of it again. */
  readonly part?: RunSnapshot
}

/** The run that left the folder complete; `undefined` without one. */
export const readCompleteRun = (root: string): Promise<RunSnapshot | undefined> => readSnapshot(statePaths(root).complete)

/** The last run of everything while something of it is missing, or while a run of a part of it is active; `undefined` without one. */
export const readIncompleteRun = (root: string): Promise<RunSnapshot | undefined> => readSnapshot(statePaths(root).incomplete)

/** Finds the first file that has changed since the run was recorded; `undefined` if none has. Files that may differ do not count. */
export const findChangedFile = async ({ files }: RunSnapshot, root: string): Promise<string | undefined> => {
  let changed: string | undefined
  await forEachYielding(Object.entries(files), ([file, facts]) => {
    if (facts !== null && !hasStamp(readStamp(join(root, file)), facts)) changed ??= file
  })
  return changed
}

/** Lists the recorded outputs that no longer exist, in recorded order. */
export const listMissingOutputs = async ({ files }: Pick<RunSnapshot, 'files'>, root: string): Promise<readonly string[]> => {
  const gone: string[] = []
  await forEachYielding(Object.keys(files), (file) => {
    if (!file.startsWith('.') && statFile(join(root, file)) === undefined) gone.push(file)
  })
  return gone
}

/** Call before a run writes: deletes the note of the last run of everything. */
export const deleteFullRun = async (root: string): Promise<void> => {
  const { complete, incomplete } = statePaths(root)
  for (const path of [incomplete, complete]) await disk.rm(path, { force: true })
}

/** Call before a run of a part writes: until it ends, the folder is not complete, and its outputs may differ from the note. */
export const markIncomplete = async (root: string, outputs: readonly string[]): Promise<void> => {
  const { complete, incomplete } = statePaths(root)
  const whole = (await readCompleteRun(root)) ?? (await readIncompleteRun(root))
  if (whole === undefined) return
  const isOutput = createOutputMatcher(outputs)
  const files = Object.fromEntries(Object.entries(whole.files).map(([file, facts]) => [file, isOutput(file) ? null : facts]))
  await writeSnapshot(incomplete, { run: whole.run, files })
  await disk.rm(complete, { force: true })
}

/** A run that ended, all files of its outputs, and whether it left nothing missing. */
export interface RunEnd extends Pick<RunSnapshot, 'run'> {
  readonly files: Readonly<Record<string, FileStamp>>
  readonly isComplete: boolean
}

/** Records a run of everything that ended, and its output files. */
export const recordFullRun = async (root: string, { run, files, isComplete }: RunEnd): Promise<void> => {
  const { complete, incomplete } = statePaths(root)
  await writeSnapshot(isComplete ? complete : incomplete, { run, files })
}

/** After a run of a part: records its outputs as they are now. If nothing is missing, the run of everything is complete again. */
export const updateFullRun = async (root: string, { run: part, files, isComplete }: RunEnd): Promise<void> => {
  const { complete, incomplete } = statePaths(root)
  const whole = await readSnapshot(incomplete)
  if (whole === undefined) return
  const { newest, stale, ...report } = whole.run.report
  const isWhole = part.chosen?.symbols === undefined
  const freshness = omitUndefined(isWhole ? { newest: part.report.newest, stale: part.report.stale } : { newest, stale })
  const run = addDrift(part, { ...whole.run, report: { ...report, ...freshness } })
  const snapshot: RunSnapshot = { run, files: { ...(await recheckFiles(whole, root)), ...files } }
  if (!isComplete || driftIn(run.report.drift).some(isSignificant)) return writeSnapshot(incomplete, snapshot)
  await writeSnapshot(complete, { ...snapshot, part: { run: part, files } })
  await disk.rm(incomplete, { force: true })
}

/** The files of a note with those read again that a run of a part may have replaced. A file that is gone counts as changed. */
const recheckFiles = async ({ files }: RunSnapshot, root: string): Promise<RunSnapshot['files']> => {
  const unknown = Object.keys(files).filter((file) => files[file] === null)
  const gone = Object.fromEntries(unknown.map((file) => [file, [0, 0] as const]))
  return { ...files, ...gone, ...(await statOutputFiles(root, unknown)) }
}

/** Unaccepted drift in a part prevents the reuse of the whole run, which finds it again. */
const addDrift = ({ report: { drift: found = [] } }: EndedRun, whole: EndedRun): EndedRun => {
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
  isRow(snapshot.files)
