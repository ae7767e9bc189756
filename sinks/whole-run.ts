import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { counts, driftIn, joinDrift } from '../src/model/drift.js'
import type { CompleteRun, RunRecord } from '../src/pipeline/session.js'
import { writeWhole } from './atomic-file.js'
import { filesInPlace, type NotedRun, noteComplete, notedRun } from './complete-run.js'
import { isAmong } from './files-left.js'

/** The run that left a folder complete. */
const COMPLETE = 'complete.json'
/** The last run of everything while something of it is missing, or while a run of a part of it is under way. */
const ASIDE = 'complete.aside.json'

/** The run that left the folder complete; `undefined` if there is none. */
export const completeRun = (state: string): Promise<NotedRun | undefined> => notedRun(join(state, COMPLETE))

/** The run of everything that ended last and still describes the folder; `undefined` if there is none. */
export const endedRun = async (state: string): Promise<NotedRun | undefined> =>
  (await completeRun(state)) ?? (await notedRun(join(state, ASIDE)))

/** The run of everything that a wanted one is a part of; `undefined` if there is none. */
export const wholeOf = async (state: string, isPartOf: (whole: RunRecord) => boolean): Promise<NotedRun | undefined> => {
  const noted = await endedRun(state)
  return noted && isPartOf(noted.run) ? noted : undefined
}

/** Call before a run writes: deletes the note of the last run of everything. */
export const forgetWhole = async (state: string): Promise<void> => {
  for (const name of [ASIDE, COMPLETE]) await rm(join(state, name), { force: true })
}

/** Call before a run of a part writes: until it ends, the folder is not complete, and its outputs may differ from the note. */
export const setAside = async (state: string, outputs: readonly string[]): Promise<void> => {
  const whole = await endedRun(state)
  if (whole === undefined) return
  const isOutput = isAmong(outputs)
  const files = Object.fromEntries(Object.entries(whole.files).map(([file, facts]) => [file, isOutput(file) ? null : facts]))
  await writeNote(join(state, ASIDE), { run: whole.run, files })
  await rm(join(state, COMPLETE), { force: true })
}

/** Records a run of everything that ended with items missing. */
export const noteIncomplete = (state: string, run: CompleteRun, outputs: Parameters<typeof noteComplete>[2]): Promise<void> =>
  noteComplete(join(state, ASIDE), run, outputs)

export interface PartEnd {
  readonly root: string
  /** What the run of a part may have replaced, as paths below `root` with `*` for any name. */
  readonly outputs: readonly string[]
  readonly part: CompleteRun
  /** Whether the run of the part is complete, and nothing is missing in the folder. */
  readonly isComplete: boolean
}

/** After a run of a part: notes its outputs as they are now. If nothing is missing, the run of everything is complete again. */
export const updateWhole = async (state: string, { root, outputs, part, isComplete }: PartEnd): Promise<void> => {
  const whole = await notedRun(join(state, ASIDE))
  if (whole === undefined) return
  const files = await filesInPlace(root, outputs)
  const run = withDriftOf(part, whole.run)
  const isWhole = isComplete && !driftIn(run.report.drift).some(counts)
  const noted: NotedRun = { run, files: { ...(await checkedAgain(whole, root)), ...files } }
  await writeNote(join(state, isWhole ? COMPLETE : ASIDE), isWhole ? { ...noted, part: { run: part, files } } : noted)
  if (isWhole) await rm(join(state, ASIDE), { force: true })
}

const writeNote = (path: string, noted: NotedRun): Promise<number> => writeWhole(path, [`${JSON.stringify(noted)}\n`])

/** The files of a note with those read again that a run of a part may have replaced. A file that is gone counts as changed. */
const checkedAgain = async ({ files }: NotedRun, root: string): Promise<NotedRun['files']> => {
  const unknown = Object.keys(files).filter((file) => files[file] === null)
  const gone = Object.fromEntries(unknown.map((file) => [file, [0, 0] as const]))
  return { ...files, ...gone, ...(await filesInPlace(root, unknown)) }
}

/** Unaccepted drift in a part prevents the reuse of the whole run, which finds it again. */
const withDriftOf = ({ report: { drift: found = [] } }: CompleteRun, whole: CompleteRun): CompleteRun => {
  const drift = joinDrift(driftIn(whole.report.drift), found.filter(counts))
  return drift.length === 0 ? whole : { ...whole, report: { ...whole.report, drift } }
}
