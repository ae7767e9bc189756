import { join } from 'node:path'
import { changedSince, notedRun, sufficingRun } from '../../../sinks/complete-run.js'
import { codeOf } from '../../../sinks/file-error.js'
import { itemsInPlace } from '../../../sinks/folder-journal.js'
import { recordIn } from '../../../sinks/run-record.js'
import type { Item } from '../../model/outcome.js'
import { isContinued, suffices } from '../../pipeline/record.js'
import type { RunRecord } from '../../pipeline/session.js'

/** What earlier runs mean for the planned one. */
export interface Standing {
  /** "Now" of the run: that of the resumed run, if it resumes one. */
  readonly asOf: number
  /** When the complete run finished that is up to date. */
  readonly finishedBefore?: string
  /** The unfinished run that would be resumed. */
  readonly continues?: string
  readonly isFetched: (stream: string, item: Item) => boolean
}

export interface Intent {
  readonly wanted: RunRecord
  readonly isInstantGiven: boolean
  readonly fresh: boolean
  /** Names of the streams that would run. */
  readonly streams: readonly string[]
}

/** Reads the state of a folder as a run does at its start, but writes nothing. */
export const standingOf = async (root: string, { wanted, isInstantGiven, fresh, streams }: Intent): Promise<Standing> => {
  const scratch: Standing = { asOf: wanted.asOf, isFetched: () => false }
  if (fresh) return scratch
  const state = join(root, '.scripstream')
  const unfinished = await recordIn(join(state, 'run.json'))
  if (unfinished !== undefined) {
    if (!isContinued(unfinished, wanted, isInstantGiven)) return scratch
    const fetched = new Map<string, ReadonlySet<string>>()
    for (const stream of streams) fetched.set(stream, await inJournal(join(state, 'journals', `${stream}.ndjson`), root))
    return {
      asOf: unfinished.asOf,
      continues: unfinished.run,
      isFetched: (stream, { fileName }) => fetched.get(stream)?.has(fileName) ?? false,
    }
  }
  const noted = await notedRun(join(state, 'complete.json'))
  const complete = sufficingRun(noted, (run) => suffices(run, wanted, isInstantGiven))
  if (complete === undefined) return scratch
  const isUnchanged = (await changedSince(complete, root)) === undefined
  return isUnchanged ? { ...scratch, finishedBefore: complete.run.report.finishedAt } : scratch
}

/** A run in another process may delete its journal at any time. */
const inJournal = (path: string, root: string): Promise<ReadonlySet<string>> =>
  itemsInPlace(path, root).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return new Set<string>()
    throw error
  })
