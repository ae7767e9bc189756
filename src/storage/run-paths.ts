import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { appendFile, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { driftIn, joinDrift } from '../model/drift.js'
import type { Drift } from '../model/report.js'
import { getErrorCode } from './file-error.js'

/** The state of an unfinished run in a folder: its record, and the folder of its journals. */
export interface RunPaths {
  readonly record: string
  readonly journals: string
}

const toRunPaths = (folder: string): RunPaths => ({ record: join(folder, 'run.json'), journals: join(folder, 'journals') })

/** The place of a run. */
export const toMainPaths = (state: string): RunPaths => toRunPaths(state)

/** The folder of a run that is a part of the unfinished run in the main place, which later takes over what this one stored. */
export const toPartFolder = (state: string): string => join(state, 'part')

export const toPartPaths = (state: string): RunPaths => toRunPaths(toPartFolder(state))

/** Deletes the state of a run. The record goes first: journals without a record are ignored. */
export const deleteRunState = async ({ record, journals }: RunPaths): Promise<void> => {
  await rm(record, { force: true })
  await rm(journals, { recursive: true, force: true })
}

/**
 * Appends the journals of a part to those of the unfinished run in the main place, and deletes them: later lines of an item replace earlier
 * ones. A kill in between repeats this, which changes nothing: no line was added in the meantime.
 */
export const mergePart = async (state: string): Promise<void> => {
  const [main, part] = [toMainPaths(state), toPartPaths(state)]
  const names = await readdir(part.journals).catch(ignoreMissing)
  if (names === undefined) return deletePartState(state)
  await mkdir(main.journals, { recursive: true })
  for (const name of names) {
    // The line end in front separates the lines from one that a kill has cut.
    if (name.endsWith('.ndjson')) await appendFile(join(main.journals, name), `\n${await readFile(join(part.journals, name), 'utf8')}`)
  }
  writeDrift(main.journals, joinDrift(readDrift(main.journals), readDrift(part.journals)))
  await deletePartState(state)
}

/** Deletes the state of a part. */
export const deletePartState = async (state: string): Promise<void> => {
  await deleteRunState(toPartPaths(state))
  await rm(toPartFolder(state), { recursive: true, force: true })
}

const ignoreMissing = (error: unknown): undefined => {
  if (getErrorCode(error) !== 'ENOENT') throw error
}

const DRIFT_FILE = 'drift.json'

/** Stores the drift that a run has found so far. Synchronous and without a sync, like the lines of the journals. */
export const writeDrift = (journals: string, found: readonly Drift[]): void => {
  if (found.length === 0) return
  const path = join(journals, DRIFT_FILE)
  try {
    writeFileSync(`${path}.next`, JSON.stringify(found))
    renameSync(`${path}.next`, path)
  } catch {
    // A run does not fail for this: a disk that cannot store it fails at the journals, too.
  }
}

/** Reads the drift that a run had found; none if the file is missing or damaged. */
export const readDrift = (journals: string): readonly Drift[] => {
  try {
    return driftIn(JSON.parse(readFileSync(join(journals, DRIFT_FILE), 'utf8')))
  } catch {
    return []
  }
}
