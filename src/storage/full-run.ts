import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { driftIn, isSignificant, joinDrift } from '../model/drift.js'
import type { CompleteRun, RunRecord } from '../pipeline/session.js'
import { writeFileAtomically } from './atomic-file.js'
import { createOutputMatcher } from './output-sizes.js'
import { type RunSnapshot, readRunSnapshot, statOutputFiles, writeRunSnapshot } from './run-snapshot.js'

/** The run that left a folder complete. */
const COMPLETE_FILE = 'complete.json'
/** The last run of everything while something of it is missing, or while a run of a part of it is under way. */
const ASIDE_FILE = 'complete.aside.json'

/** The run that left the folder complete; `undefined` if there is none. */
export const readCompleteRun = (state: string): Promise<RunSnapshot | undefined> => readRunSnapshot(join(state, COMPLETE_FILE))

/** The run of everything that ended last and still describes the folder; `undefined` if there is none. */
export const readLastFullRun = async (state: string): Promise<RunSnapshot | undefined> =>
  (await readCompleteRun(state)) ?? (await readRunSnapshot(join(state, ASIDE_FILE)))

/** The run of everything that a wanted one is a part of; `undefined` if there is none. */
export const findFullRun = async (state: string, isPartOf: (whole: RunRecord) => boolean): Promise<RunSnapshot | undefined> => {
  const noted = await readLastFullRun(state)
  return noted && isPartOf(noted.run) ? noted : undefined
}

/** Call before a run writes: deletes the note of the last run of everything. */
export const deleteFullRun = async (state: string): Promise<void> => {
  for (const name of [ASIDE_FILE, COMPLETE_FILE]) await rm(join(state, name), { force: true })
}

/** Call before a run of a part writes: until it ends, the folder is not complete, and its outputs may differ from the note. */
export const markIncomplete = async (state: string, outputs: readonly string[]): Promise<void> => {
  const whole = await readLastFullRun(state)
  if (whole === undefined) return
  const isOutput = createOutputMatcher(outputs)
  const files = Object.fromEntries(Object.entries(whole.files).map(([file, facts]) => [file, isOutput(file) ? null : facts]))
  await writeSnapshot(join(state, ASIDE_FILE), { run: whole.run, files })
  await rm(join(state, COMPLETE_FILE), { force: true })
}

/** Records a run of everything that ended with items missing. */
export const recordIncomplete = (state: string, run: CompleteRun, outputs: Parameters<typeof writeRunSnapshot>[2]): Promise<void> =>
  writeRunSnapshot(join(state, ASIDE_FILE), run, outputs)

export interface PartialRunEnd {
  readonly root: string
  /** What the run of a part may have replaced, as paths below `root` with `*` for any name. */
  readonly outputs: readonly string[]
  readonly part: CompleteRun
  /** Whether the run of the part is complete, and nothing is missing in the folder. */
  readonly isComplete: boolean
}

/** After a run of a part: notes its outputs as they are now. If nothing is missing, the run of everything is complete again. */
export const updateFullRun = async (state: string, { root, outputs, part, isComplete }: PartialRunEnd): Promise<void> => {
  const whole = await readRunSnapshot(join(state, ASIDE_FILE))
  if (whole === undefined) return
  const files = await statOutputFiles(root, outputs)
  const run = addDrift(part, whole.run)
  const isWhole = isComplete && !driftIn(run.report.drift).some(isSignificant)
  const noted: RunSnapshot = { run, files: { ...(await recheckFiles(whole, root)), ...files } }
  await writeSnapshot(join(state, isWhole ? COMPLETE_FILE : ASIDE_FILE), isWhole ? { ...noted, part: { run: part, files } } : noted)
  if (isWhole) await rm(join(state, ASIDE_FILE), { force: true })
}

const writeSnapshot = (path: string, noted: RunSnapshot): Promise<number> => writeFileAtomically(path, [`${JSON.stringify(noted)}\n`])

/** The files of a note with those read again that a run of a part may have replaced. A file that is gone counts as changed. */
const recheckFiles = async ({ files }: RunSnapshot, root: string): Promise<RunSnapshot['files']> => {
  const unknown = Object.keys(files).filter((file) => files[file] === null)
  const gone = Object.fromEntries(unknown.map((file) => [file, [0, 0] as const]))
  return { ...files, ...gone, ...(await statOutputFiles(root, unknown)) }
}

/** Unaccepted drift in a part prevents the reuse of the whole run, which finds it again. */
const addDrift = ({ report: { drift: found = [] } }: CompleteRun, whole: CompleteRun): CompleteRun => {
  const drift = joinDrift(driftIn(whole.report.drift), found.filter(isSignificant))
  return drift.length === 0 ? whole : { ...whole, report: { ...whole.report, drift } }
}
