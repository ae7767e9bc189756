import type { Section } from '../../analysis/diff/change.js'
import { diffDays } from '../../analysis/diff/diff-days.js'
import { CollectError } from '../../model/errors.js'
import { type Day, toDay } from '../../model/trading-day.js'
import { listDays } from '../../storage/history/history-folder.js'
import type { RunChanges } from '../api/runs.js'
import { toSections } from './changes.js'
import type { Served } from './route.js'
import { findRun } from './runs.js'

/** Small lists only: to compare results, filings and news of the whole market takes ten seconds and 100 MB. */
const COMPARED: readonly Section[] = ['listings', 'renames', 'surveillance', 'bands', 'circuits', 'deals', 'actions']
const MAX_LISTINGS = 60
const MAX_KNOWN = 20

/** Answers what the day of a run changed against the recorded day before it. Recorded days seldom change, so that the answers are kept. */
export const createRunChanges = ({ out, exchange, streams }: Pick<Served, 'out' | 'exchange' | 'streams'>): Served['readRunChanges'] => {
  const known = new Map<string, Promise<RunChanges>>()
  return async (runs, id) => {
    const { run, asOf } = findRun(runs, id).entry
    const day = toDay(Date.parse(asOf))
    // The last run of a day is the one that is recorded.
    if (runs.findLast((one) => toDay(Date.parse(one.asOf)) === day)?.run !== run)
      return nothing('a later run has replaced the record of this day')
    const days = await listDays(out)
    const since = days.findLast((one) => one < day)
    if (!days.includes(day)) return nothing('its day is not recorded')
    if (since === undefined) return nothing('no day before it is recorded')
    const key = `${run} ${since}`
    const answer = known.get(key) ?? compare({ since, day })
    known.set(key, answer)
    answer.catch(() => known.delete(key))
    for (const old of [...known.keys()].slice(0, -MAX_KNOWN)) known.delete(old)
    return answer
  }

  async function compare({ since, day }: { readonly since: Day; readonly day: Day }): Promise<RunChanges> {
    try {
      const { counts, changes } = await diffDays(out, { exchange, streams, since, until: day, only: COMPARED })
      const listings = changes.filter(({ section }) => section === 'listings' || section === 'renames')
      return {
        since,
        sections: toSections(counts),
        listings: listings.slice(0, MAX_LISTINGS).map(({ symbol, detail }) => ({ symbol, detail })),
      }
    } catch (error) {
      if (error instanceof CollectError) return nothing(error.message)
      throw error
    }
  }
}

const nothing = (reason: string): RunChanges => ({ since: null, reason, sections: [], listings: [] })
