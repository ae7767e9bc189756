import type { Section } from '../../analysis/diff/change.js'
import { diffDays } from '../../analysis/diff/diff-days.js'
import { CollectError } from '../../model/errors.js'
import { type Day, toDay, toInstant } from '../../model/trading-day.js'
import { listDays } from '../../storage/history/history-folder.js'
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
    const { run, asOf, outcome } = findRun(runs, id).entry
    if (findLastWriter(runs)?.run === run) return readChanges()
    if (outcome === 'failed') return nothingToCompare('it failed, and has written no files')
    const day = toDay(Date.parse(asOf))
    // The last run of a day is the one that is recorded.
    if (runs.findLast((one) => toDay(Date.parse(one.asOf)) === day)?.run !== run)
      return nothingToCompare('a later run has replaced the record of this day')
    const days = await listDays(out)
    const since = days.findLast((one) => one < day)
    if (!days.includes(day)) return nothingToCompare('its day is not recorded')
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
