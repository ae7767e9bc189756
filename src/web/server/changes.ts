import { listTables } from '../../engine/define-stream.js'
import { SECTIONS, type Section, sectionNames } from '../../model/change.js'
import { CollectError, UsageError } from '../../model/errors.js'
import { type Day, toInstant } from '../../model/trading-day.js'
import { groupByStock } from '../../show/brief.js'
import { statFile } from '../../storage/file-system.js'
import { chooseList, findListTiming, listListedDays } from '../../storage/history/choose.js'
import { openHistory } from '../../storage/history/record.js'
import { statePaths } from '../../storage/run-state.js'
import { type Difference, diff } from '../../tables/changes/diff.js'
import { readStocks } from '../../tables/output-folder.js'
import type { FolderChanges } from '../api/state.js'
import type { Served } from './route.js'
import { findLastWriter, findRun } from './runs.js'

const MAX_CHANGED_STOCKS = 100
const MAX_STOCK_CHANGES = 12

type ComparedFolder = Pick<Served, 'out' | 'exchange' | 'streams'>

/** Answers what the last run changed; compared once for each run, and again after an error. */
export const createChanges = (
  folder: ComparedFolder,
  compare = () => compareLastRun(folder),
): (() => Promise<FolderChanges>) => {
  let known: { readonly at: number | undefined; readonly changes: Promise<FolderChanges> } | undefined
  return () => {
    const at = statFile(statePaths(folder.out).report)?.mtimeMs
    if (known !== undefined && known.at === at) return known.changes
    const changes = compare()
    known = { at, changes }
    changes.catch(() => {
      known = undefined
    })
    return changes
  }
}

/** Nothing to compare, and why. */
const nothingToCompare = (reason: string): FolderChanges => ({
  since: null,
  reason,
  sections: [],
  stocks: [],
  notes: [],
})

/** What the last run changed. */
export const compareLastRun = async ({ out, exchange, streams }: ComparedFolder): Promise<FolderChanges> => {
  try {
    const difference = await diff(out, { streams, exchange })
    if (difference.since === null) return nothingToCompare('there is no run of an earlier day')
    const { asOf } = difference.since
    return await toFolderChanges(out, difference, asOf === undefined ? {} : { asOf })
  } catch (error) {
    // The folder of a run that failed early.
    if (error instanceof UsageError && error.code === 'no-outputs')
      return nothingToCompare('there is no master list')
    throw error
  }
}

/** What the page shows of a comparison; `since` is the run that it starts from. */
const toFolderChanges = async (
  out: string,
  { counts, changes, notes }: Difference,
  since: FolderChanges['since'],
): Promise<FolderChanges> => {
  const listed = new Set((await readStocks(out)).map(({ Symbol: symbol }) => symbol))
  return {
    since,
    sections: sectionNames.flatMap((section) => {
      const count = counts[section] ?? 0
      return count === 0 ? [] : [{ section, about: SECTIONS[section], count }]
    }),
    stocks: groupByStock(changes, new Set())
      .slice(0, MAX_CHANGED_STOCKS)
      .map(({ symbol, changes: own }) => ({
        symbol,
        ...(listed.has(symbol) ? {} : { hasNoPage: true as const }),
        changes: own.slice(0, MAX_STOCK_CHANGES).map(({ section, detail }) => ({ section, detail })),
      })),
    notes,
  }
}

/**
 * Small lists only: to compare results, filings and news of the whole market takes ten seconds and 100 MB.
 */
const COMPARED: readonly Section[] = [
  'listings',
  'renames',
  'surveillance',
  'bands',
  'circuits',
  'deals',
  'actions',
]
const NOT_COMPARED =
  'results, filings, announcements and news of earlier runs are not compared here; "scripstream diff" with two days does'
const MAX_KNOWN = 20

type ChangesFolder = ComparedFolder & Pick<Served, 'readChanges'>

/**
 * Answers what a run changed. Of the run that wrote the files of the folder, that is what the page of the
 * folder says. Of an earlier one, it is its recorded day against the one before. Recorded days seldom change,
 * so that the answers are kept.
 */
export const createRunChanges = ({
  out,
  exchange,
  streams,
  readChanges,
}: ChangesFolder): Served['readRunChanges'] => {
  const known = new Map<string, Promise<FolderChanges>>()
  return async (runs, id) => {
    const { run, outcome } = findRun(runs, id).entry
    if (findLastWriter(runs)?.run === run) return readChanges()
    if (outcome === 'failed') return nothingToCompare('it failed, and has written no files')
    const history = await openHistory(out, listTables(streams))
    // A run records nothing if an earlier one of its session had the same lists.
    const own = history.records.find((one) => one.run === run)
    const lists = Object.entries(own?.lists ?? {})
    if (own === undefined || lists.length === 0) return nothingToCompare('none of its lists are recorded')
    const { day } = own
    const replaced = lists.filter(([table]) => chooseList(history.records, table, day)?.record !== own)
    // A later run of the evening has the lists that were not published yet.
    if (
      replaced.length === lists.length ||
      replaced.some(([, list]) => findListTiming(own, list) !== 'early')
    )
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
      const difference = await diff(out, { exchange, streams, since, until: day, only: COMPARED })
      const changes = await toFolderChanges(out, difference, {
        asOf: new Date(toInstant(since)).toISOString(),
      })
      return { ...changes, notes: [...changes.notes, NOT_COMPARED] }
    } catch (error) {
      if (error instanceof CollectError) return nothingToCompare(error.message)
      throw error
    }
  }
}
