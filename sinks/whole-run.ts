import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CompleteRun, RunRecord } from '../src/pipeline/session.js'
import { writeWhole } from './atomic-file.js'
import { filesInPlace, type NotedRun, notedRun } from './complete-run.js'
import { codeOf } from './file-error.js'

/** The run that left a folder complete. */
const COMPLETE = 'complete.json'
/** The same while a run of a part of it is under way, or left something missing. */
const ASIDE = 'complete.aside.json'

/** The complete run that a wanted one is a part of; nothing if there is none. */
export const wholeOf = async (state: string, isPartOf: (whole: RunRecord) => boolean): Promise<NotedRun | undefined> => {
  const noted = (await notedRun(join(state, COMPLETE))) ?? (await notedRun(join(state, ASIDE)))
  return noted && isPartOf(noted.run) ? noted : undefined
}

/** From here on the folder is not complete. The complete run is forgotten, unless the run that begins is a part of it. */
export const setAside = async (state: string, isPart: boolean): Promise<void> => {
  if (!isPart) await rm(join(state, ASIDE), { force: true })
  if (!isPart) return rm(join(state, COMPLETE), { force: true })
  await rename(join(state, COMPLETE), join(state, ASIDE)).catch((error: unknown) => {
    // A run of a part of it was broken off before.
    if (codeOf(error) !== 'ENOENT') throw error
  })
}

export interface PartEnd {
  readonly root: string
  /** What the run of a part may have replaced, as paths below `root` with `*` for any name. */
  readonly outputs: readonly string[]
  /** The run of the part, where it was complete and nothing is missing in the folder. */
  readonly part: CompleteRun | undefined
}

/** After a run of a part: what it replaced is as it is now, and where nothing is missing, the whole run is complete again. */
export const updateWhole = async (state: string, { root, outputs, part }: PartEnd): Promise<void> => {
  const whole = await notedRun(join(state, ASIDE))
  if (whole === undefined) return
  const files = await filesInPlace(root, outputs)
  const noted: NotedRun = { run: whole.run, files: { ...whole.files, ...files }, ...(part ? { part: { run: part, files } } : {}) }
  await writeWhole(join(state, part ? COMPLETE : ASIDE), [`${JSON.stringify(noted)}\n`])
  if (part) await rm(join(state, ASIDE), { force: true })
}
