import type { Section } from '../../analysis/diff/change.js'
import { diffDays } from '../../analysis/diff/diff-days.js'
import { CollectError } from '../../model/errors.js'
import { type Day, toInstant } from '../../model/trading-day.js'
import { chooseList, listListedDays } from '../../storage/history/choose.js'
import { MIGRATED, openHistory } from '../../storage/history/record.js'
import type { FolderChanges } from '../api/state.js'
import { nothingToCompare, toFolderChanges } from './changes.js'
import type { Served } from './route.js'
import { findLastWriter, findRun } from './runs.js'

/** Small lists only: to compare results, filings and news of the whole market takes ten seconds and 100 MB. */
const COMPARED: readonly Section[] = ['listings', 'renames', 'surveillance', 'bands', 'circuits', 'deals', 'actions']
const NOT_COMPARED = 'results, filings, announcements and news of earlier runs are not compared here; "scripstream diff" with two days does'
const MAX_KNOWN = 20

type ChangesFolder = Pick<Served, 'out' | 'exchange' | 'streams' | 'readChanges'>

/**
 * Answers what a run changed. Of the run that wrote the files of the folder, that is what the page of the folder says. Of an earlier one, it is
 * its recorded day against the one before. Recorded days seldom change, so that the answers are kept.
 */
export const createRunChanges = ({ out, exchange, streams, readChanges }: ChangesFolder): Served['readRunChanges'] => {
  const known = new Map<string, Promise<FolderChanges>>()
  return async (runs, id) => {
    const { run, finishedAt, outcome } = findRun(runs, id).entry
    if (findLastWriter(runs)?.run === run) return readChanges()
    if (outcome === 'failed') return nothingToCompare('it failed, and has written no files')
    const history = await openHistory(out)
    // A run records nothing if an earlier one of its session had the same lists.
    const own = history.records.find((one) => one.run === run || (one.run === MIGRATED && one.knownAt === finishedAt))
    const tables = Object.keys(own?.lists ?? {})
    if (own === undefined || tables.length === 0) return nothingToCompare('none of its lists are recorded')
    const { day } = own
    if (tables.some((table) => chooseList(history.records, table, day)?.record !== own))
      return nothingToCompare('the record of its day is that of another run')
    const since = listListedDays(history).findLast((one) => one < day)
    if (since === undefined) return nothingToCompare('no day before it is recorded')
    const key = `${run} ${since}`
    const answer = known.get(key) ?? compare({ since, day })
    known.set(key, answer)
    answer.catch(() => known.delete(key))
    for (const old of [...known.keys()].slice(0, -MAX_KNOWN)) known.delete(old)
    return answer
  }

  async function compare({ since, day }: { readonly since: Day; readonly day: Day }): Promise<FolderChanges> {
    try {
      const difference = await diffDays(out, { exchange, streams, since, until: day, only: COMPARED })
      const { notes, ...changes } = await toFolderChanges(out, difference, { asOf: new Date(toInstant(since)).toISOString() })
      return {
        ...changes,
        notes: [...notes, NOT_COMPARED],
      }
    } catch (error) {
      if (error instanceof CollectError) return nothingToCompare(error.message)
      throw error
    }
  }
}
