import { PREVIOUS_FOLDER, STATE_FOLDER } from '../engine/storage.js'
import { CollectError } from '../model/errors.js'
import { omitUndefined, type Row, readText } from '../model/row.js'
import type { Change, Section } from '../tables/diff/change.js'
import { compareLists } from '../tables/diff/compare.js'
import { diff } from '../tables/diff/diff.js'
import { ANNOUNCED_BANDS } from '../tables/diff/kinds.js'
import type { CircuitRow, ListChange, ListsAnswer, NamedStock, Panel } from './answers.js'
import { joinLists, type MarketFolder, readList, type StoredList } from './folder.js'
import { describeAbout, type RunFacts, readRunFacts } from './freshness.js'
import { readStockNames, type StockNames } from './stocks.js'

export const readMarketLists = async (folder: MarketFolder): Promise<ListsAnswer> => {
  const [facts, names] = await Promise.all([readRunFacts(folder), readStockNames(folder)])
  const context = { folder, facts, names }
  const changes = await readChanges(folder)
  return {
    circuits: await readCircuits(context, changes),
    surveillance: toChangePanel(context, changes, { section: 'surveillance', stream: 'surveillance-lists' }),
    bands: toChangePanel(context, await readBandChanges(folder, changes), { section: 'bands', stream: 'complete-price-bands' }),
  }
}

interface ListContext {
  readonly folder: MarketFolder
  readonly facts: RunFacts
  readonly names: StockNames
}

const MAX_ROWS = 60

/** Cuts a list and says what it is about. */
export const toPanel = <R>({ facts }: Pick<ListContext, 'facts'>, stream: string, list: StoredList<R>, max = MAX_ROWS): Panel<R> => ({
  about: describeAbout(facts, stream, list),
  rows: list.rows.slice(0, max),
  total: list.rows.length,
})

/** A stock of a list, with the name of the master list if the list has none. */
const nameStock = <R extends NamedStock>(names: StockNames, row: R): R => {
  const listed = names.find(row.symbol)
  return listed === undefined ? { ...row, hasNoPage: true } : { ...row, name: row.name || listed.value.Name }
}

const toNumber = (value: unknown): number | undefined => {
  const number = typeof value === 'number' ? value : Number(readText(value).replaceAll(',', '') || Number.NaN)
  return Number.isFinite(number) ? number : undefined
}

type Changes = { readonly rows: readonly Change[]; readonly problem?: string }

const SECTIONS: readonly Section[] = ['surveillance', 'bands', 'circuits']

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

const SIDES = ['upper', 'lower'] as const

const readCircuitList = (folder: MarketFolder, side: 'upper' | 'lower'): Promise<StoredList<CircuitRow>> =>
  readList<CircuitRow>(folder, `${side}_circuit_stocks.json`, (rows) => rows.flatMap((row) => toCircuit(row, side)))

/** The stocks at their limits, those that are new there first. */
const readCircuits = async (
  { folder, facts, names }: ListContext,
  { rows: changes, problem: notCompared }: Changes,
): Promise<ListsAnswer['circuits']> => {
  const entered = new Set(
    changes.flatMap(({ section, change, symbol }) => (section === 'circuits' && change === 'entered' ? [symbol] : [])),
  )
  const lists = await Promise.all(SIDES.map((side) => readCircuitList(folder, side)))
  const all = joinLists(lists)
  const rows = all.rows
    .map((row): CircuitRow => ({ ...nameStock(names, row), ...(notCompared === undefined ? { isNew: entered.has(row.symbol) } : {}) }))
    .toSorted((one, other) => Number(other.isNew ?? false) - Number(one.isNew ?? false))
  const missing = SIDES.filter((_, place) => lists[place]?.isMissing === true || lists[place]?.damage !== undefined)
  const panel = toPanel({ facts }, 'circuit-stocks', { ...all, rows }, 300)
  const { about } = panel
  const isLost = missing.length > 0 && about.problem === undefined
  const problem = `the ${missing.length > 1 ? 'lists' : 'list'} of stocks at their ${missing.join(' and ')} limit ${missing.length > 1 ? 'are' : 'is'} missing`
  return { ...panel, missing, about: isLost ? { ...about, problem } : about }
}

const toCircuit = (row: Row, side: 'upper' | 'lower'): readonly CircuitRow[] => {
  const symbol = readText(row.Symbol)
  const [price, changePct] = [toNumber(row.LTP), toNumber(row.ChangePercent)]
  return symbol === '' ? [] : [omitUndefined({ symbol, name: readText(row.Name), side, price, changePct })]
}
