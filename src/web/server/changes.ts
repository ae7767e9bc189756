import { groupByStock } from '../../analysis/brief/brief.js'
import { SECTIONS, sectionNames } from '../../analysis/diff/change.js'
import { type Difference, diff } from '../../analysis/diff/diff.js'
import { readStocks } from '../../analysis/output-folder.js'
import { UsageError } from '../../model/errors.js'
import { omitUndefined } from '../../model/row.js'
import { statFile } from '../../storage/file-system.js'
import { statePaths } from '../../storage/run-state.js'
import type { FolderChanges } from '../api/state.js'
import type { Served } from './route.js'

const MAX_STOCKS = 100
const MAX_CHANGES = 12

type ComparedFolder = Pick<Served, 'out' | 'exchange'>

/** Answers what the last run changed; compared once for each run, and again after an error. */
export const createChanges = (folder: ComparedFolder, compare = () => compareLastRun(folder)): (() => Promise<FolderChanges>) => {
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
export const nothingToCompare = (reason: string): FolderChanges => ({ since: null, reason, sections: [], stocks: [], notes: [] })

/** A folder without a master list, of a run that failed early, has nothing to compare. */
const answerNothing = (error: unknown): FolderChanges => {
  if (error instanceof UsageError && error.code === 'no-outputs') return nothingToCompare('there is no master list')
  throw error
}

/** What the last run changed. */
export const compareLastRun = (folder: ComparedFolder): Promise<FolderChanges> => compareOutputs(folder).catch(answerNothing)

const compareOutputs = async ({ out, exchange }: ComparedFolder): Promise<FolderChanges> => {
  const difference = await diff(out, { exchange })
  if (difference.since === null) return nothingToCompare('there is no run of an earlier day')
  return toFolderChanges(out, difference, omitUndefined({ asOf: difference.since.asOf }))
}

/** What the page shows of a comparison; `since` is the run that it starts from. */
export const toFolderChanges = async (
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
      .slice(0, MAX_STOCKS)
      .map(({ symbol, changes: own }) => ({
        symbol,
        ...(listed.has(symbol) ? {} : { hasNoPage: true as const }),
        changes: own.slice(0, MAX_CHANGES).map(({ section, detail }) => ({ section, detail })),
      })),
    notes,
  }
}
