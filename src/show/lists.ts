import { PREVIOUS_FOLDER, STATE_FOLDER } from '../engine/storage.js'
import { CollectError } from '../model/errors.js'
import type { Change, Section } from '../tables/diff/change.js'
import { compareLists } from '../tables/diff/compare.js'
import { diff } from '../tables/diff/diff.js'
import { ANNOUNCED_BANDS } from '../tables/diff/kinds.js'
import type { ListChange, ListsAnswer, NamedStock, Panel } from './answers.js'
import { type MarketFolder, readList } from './folder.js'
import { describeAbout, type RunFacts, readRunFacts } from './freshness.js'
import { readStockNames, type StockNames } from './stocks.js'

/** What changed in the lists of the market: surveillance and price bands. */
export const readMarketLists = async (folder: MarketFolder): Promise<ListsAnswer> => {
  const [facts, names] = await Promise.all([readRunFacts(folder), readStockNames(folder)])
  const [context, changes] = [{ facts, names }, await readChanges(folder)]
  return {
    surveillance: toChangePanel(context, changes, { section: 'surveillance', stream: 'surveillance-lists' }),
    bands: toChangePanel(context, await readBandChanges(folder, changes), { section: 'bands', stream: 'complete-price-bands' }),
  }
}

/** What the lists of the whole market need besides themselves. */
interface ListContext {
  readonly facts: RunFacts
  readonly names: StockNames
}

const MAX_ROWS = 60

/** A stock of a list, with the name of the master list if the list has none. */
const nameStock = <R extends NamedStock>(names: StockNames, row: R): R => {
  const listed = names.find(row.symbol)
  return listed === undefined ? { ...row, hasNoPage: true } : { ...row, name: row.name || listed.value.Name }
}

type Changes = { readonly rows: readonly Change[]; readonly problem?: string }

const SECTIONS: readonly Section[] = ['surveillance', 'bands']

/** What the last run changed in the lists of the market. */
const readChanges = ({ root, exchange, remember }: MarketFolder): Promise<Changes> =>
  remember('changes', ['.', `${STATE_FOLDER}/report.json`, PREVIOUS_FOLDER], async () => {
    try {
      const { since, changes } = await diff(root, { exchange, only: SECTIONS })
      return since === null ? { rows: [], problem: 'the first run has nothing to compare with' } : { rows: changes }
    } catch (error) {
      if (!(error instanceof CollectError)) throw error
      return { rows: [], problem: error.code === 'no-outputs' ? 'there is no master list' : error.message }
    }
  })

const ORDER = ['entered', 'changed', 'left']

/** The stocks that entered a list, changed their place in it, or left it. */
const toChangePanel = (
  { facts, names }: ListContext,
  { rows, problem }: Changes,
  { section, stream }: { readonly section: Section; readonly stream: string },
): Panel<ListChange> => {
  const shown = rows
    .filter((change) => change.section === section)
    .map(({ symbol, change, detail }) => nameStock<ListChange>(names, { symbol, name: '', change, detail }))
    .toSorted((one, other) => ORDER.indexOf(one.change) - ORDER.indexOf(other.change))
  const about = describeAbout(facts, stream)
  return {
    about: about.problem === undefined && problem !== undefined ? { ...about, problem } : about,
    rows: shown.slice(0, MAX_ROWS),
    total: shown.length,
  }
}

/** The changes of price bands; before a second run, those that the exchange lists for the day. */
const readBandChanges = async (folder: MarketFolder, changes: Changes): Promise<Changes> => {
  if (changes.problem === undefined) return changes
  const { rows } = await readList(folder, 'incremental_price_bands.json', (all) => all)
  return rows.length === 0 ? changes : { rows: compareLists(ANNOUNCED_BANDS, { before: [], after: rows }) }
}
