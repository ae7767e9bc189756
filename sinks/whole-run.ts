import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CompleteRun, RunRecord } from '../src/pipeline/session.js'
import { writeWhole } from './atomic-file.js'
import { filesInPlace, type NotedRun, notedRun } from './complete-run.js'
import { codeOf } from './file-error.js'

/** The record of a complete run. */
const COMPLETE = 'complete.json'
/** The same record while a partial run is in progress or has left something missing. */
const ASIDE = 'complete.aside.json'

/** Finds the complete run of which the requested one is a part; `undefined` if there is none. */
export const wholeOf = async (state: string, isPartOf: (full: RunRecord) => boolean): Promise<NotedRun | undefined> => {
  const snapshot = (await notedRun(join(state, COMPLETE))) ?? (await notedRun(join(state, ASIDE)))
  return snapshot && isPartOf(snapshot.run) ? snapshot : undefined
}

/** Marks the folder as incomplete. Deletes the record of the complete run, or sets it aside if the new run is a part of it. */
export const setAside = async (state: string, isPart: boolean): Promise<void> => {
  if (!isPart) await rm(join(state, ASIDE), { force: true })
  if (!isPart) return rm(join(state, COMPLETE), { force: true })
  await rename(join(state, COMPLETE), join(state, ASIDE)).catch((error: unknown) => {
    // An earlier partial run was interrupted and has already set the record aside.
    if (codeOf(error) !== 'ENOENT') throw error
  })
}

export interface PartEnd {
  readonly root: string
  /** The files that the partial run may have replaced, as paths relative to `root` with `*` for any name. */
  readonly outputs: readonly string[]
  /** The partial run, if it was complete and no file is missing in the folder. */
  readonly part: CompleteRun | undefined
}

/** Call after a partial run: records the files that it replaced. If nothing is missing, the full run is complete again. */
export const updateWhole = async (state: string, { root, outputs, part }: PartEnd): Promise<void> => {
  const full = await notedRun(join(state, ASIDE))
  if (full === undefined) return
  const files = await filesInPlace(root, outputs)
  const snapshot: NotedRun = { run: full.run, files: { ...full.files, ...files }, ...(part ? { part: { run: part, files } } : {}) }
  await writeWhole(join(state, part ? COMPLETE : ASIDE), [`${JSON.stringify(snapshot)}\n`])
  if (part) await rm(join(state, ASIDE), { force: true })
}
