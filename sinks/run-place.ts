import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { appendFile, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { driftIn, joinDrift } from '../src/model/drift.js'
import type { Drift } from '../src/model/report.js'
import { codeOf } from './file-error.js'

/** The state of an unfinished run in a folder: its record, and the folder of its journals. */
export interface RunPlace {
  readonly record: string
  readonly journals: string
}

const placeIn = (folder: string): RunPlace => ({ record: join(folder, 'run.json'), journals: join(folder, 'journals') })

/** The place of a run. */
export const mainPlace = (state: string): RunPlace => placeIn(state)

/** The folder of a run that is a part of the unfinished run in the main place, which later takes over what this one stored. */
export const partFolder = (state: string): string => join(state, 'part')

export const partPlace = (state: string): RunPlace => placeIn(partFolder(state))

/** Deletes the state of a run. The record goes first: journals without a record are ignored. */
export const clearPlace = async ({ record, journals }: RunPlace): Promise<void> => {
  await rm(record, { force: true })
  await rm(journals, { recursive: true, force: true })
}

/**
 * Appends the journals of a part to those of the unfinished run in the main place, and deletes them: later lines of an item replace earlier
 * ones. A kill in between repeats this, which changes nothing: no line was added in the meantime.
 */
export const absorbPart = async (state: string): Promise<void> => {
  const [main, part] = [mainPlace(state), partPlace(state)]
  const names = await readdir(part.journals).catch(ignoreMissing)
  if (names === undefined) return clearPart(state)
  await mkdir(main.journals, { recursive: true })
  for (const name of names) {
    // The line end in front separates the lines from one that a kill has cut.
    if (name.endsWith('.ndjson')) await appendFile(join(main.journals, name), `\n${await readFile(join(part.journals, name), 'utf8')}`)
  }
  noteDrift(main.journals, joinDrift(driftNoted(main.journals), driftNoted(part.journals)))
  await clearPart(state)
}

/** Deletes the state of a part. */
export const clearPart = async (state: string): Promise<void> => {
  await clearPlace(partPlace(state))
  await rm(partFolder(state), { recursive: true, force: true })
}

const ignoreMissing = (error: unknown): undefined => {
  if (codeOf(error) !== 'ENOENT') throw error
}

const DRIFT = 'drift.json'

/** Stores the drift that a run has found so far. Synchronous and without a sync, like the lines of the journals. */
export const noteDrift = (journals: string, found: readonly Drift[]): void => {
  if (found.length === 0) return
  const path = join(journals, DRIFT)
  try {
    writeFileSync(`${path}.next`, JSON.stringify(found))
    renameSync(`${path}.next`, path)
  } catch {
    // A run does not fail for this: a disk that cannot store it fails at the journals, too.
  }
}

/** Reads the drift that a run had found; none if the file is missing or damaged. */
export const driftNoted = (journals: string): readonly Drift[] => {
  try {
    return driftIn(JSON.parse(readFileSync(join(journals, DRIFT), 'utf8')))
  } catch {
    return []
  }
}
