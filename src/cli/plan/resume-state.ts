import { join } from 'node:path'
import type { Item } from '../../model/outcome.js'
import { isReusable, isSameRun } from '../../pipeline/record.js'
import type { RunRecord } from '../../pipeline/session.js'
import { getErrorCode } from '../../storage/file-error.js'
import { readStoredItems } from '../../storage/folder-journal.js'
import { readRunRecord } from '../../storage/run-record.js'
import { findChangedFile, readRunSnapshot, selectReusableRun } from '../../storage/run-snapshot.js'

/** What earlier runs mean for the planned one. */
export interface ResumeState {
  /** "Now" of the run: that of the resumed run, if it resumes one. */
  readonly asOf: number
  /** When the complete run finished that is up to date. */
  readonly finishedBefore?: string
  /** The unfinished run that would be resumed. */
  readonly continues?: string
  readonly isFetched: (stream: string, item: Item) => boolean
}

export interface ResumeQuery {
  readonly wanted: RunRecord
  readonly isInstantGiven: boolean
  readonly fresh: boolean
  /** Names of the streams that would run. */
  readonly streams: readonly string[]
}

/** Reads the state of a folder as a run does at its start, but writes nothing. */
export const resumeState = async (root: string, { wanted, isInstantGiven, fresh, streams }: ResumeQuery): Promise<ResumeState> => {
  const scratch: ResumeState = { asOf: wanted.asOf, isFetched: () => false }
  if (fresh) return scratch
  const state = join(root, '.scripstream')
  const unfinished = await readRunRecord(join(state, 'run.json'))
  if (unfinished !== undefined) {
    if (!isSameRun(unfinished, wanted, isInstantGiven)) return scratch
    const fetched = new Map<string, ReadonlySet<string>>()
    for (const stream of streams) fetched.set(stream, await readJournal(join(state, 'journals', `${stream}.ndjson`), root))
    return {
      asOf: unfinished.asOf,
      continues: unfinished.run,
      isFetched: (stream, { fileName }) => fetched.get(stream)?.has(fileName) ?? false,
    }
  }
  const noted = await readRunSnapshot(join(state, 'complete.json'))
  const complete = selectReusableRun(noted, (run) => isReusable(run, wanted, isInstantGiven))
  if (complete === undefined) return scratch
  const isUnchanged = (await findChangedFile(complete, root)) === undefined
  return isUnchanged ? { ...scratch, finishedBefore: complete.run.report.finishedAt } : scratch
}

/** A run in another process may delete its journal at any time. */
const readJournal = (path: string, root: string): Promise<ReadonlySet<string>> =>
  readStoredItems(path, root).catch((error: unknown) => {
    if (getErrorCode(error) === 'ENOENT') return new Set<string>()
    throw error
  })
