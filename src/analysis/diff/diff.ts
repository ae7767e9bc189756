import { join } from 'node:path'
import { MASTER_MAP } from '../../market/listings.js'
import { isRow, type Row, readText } from '../../model/row.js'
import { type Stock, toStockItems } from '../../model/stock.js'
import { type Day, toDay } from '../../model/trading-day.js'
import { statFile, yieldTurn } from '../../storage/file-system.js'
import { type PreviousOutputs, readLastWriter, readPreviousOutputs } from '../../storage/previous-outputs.js'
import { checkFolder, describeUnlisted, readStocks, type SymbolOptions, selectFolderSymbols } from '../output-folder.js'
import { type Change, type Section, sectionNames } from './change.js'
import { findNewAnnouncements, findNewFilings, findNewNews } from './document-changes.js'
import { createFileComparison, type FileComparison, type FileVersions, readListVersions } from './file-comparison.js'
import {
  findBandChanges,
  findCircuitChanges,
  findListingChanges,
  findNewActions,
  findNewDeals,
  findSurveillanceChanges,
  type ListVersions,
} from './list-changes.js'
import { findResultChanges } from './result-changes.js'

/** What the last run that wrote outputs changed in a folder. */
export interface Difference {
  readonly folder: string
  /** That run, and its "now" in ISO 8601. */
  readonly run?: string
  readonly asOf?: string
  /** The recorded day that is compared, if not the last run. */
  readonly day?: Day
  /** The run, or the recorded day, that it is compared with; null without one. */
  readonly since: { readonly run?: string; readonly asOf?: string; readonly day?: Day } | null
  /** What could not be compared, and why. */
  readonly notes: readonly string[]
  /** How many changes of each section there are; filings, announcements and news count stocks. */
  readonly counts: Readonly<Partial<Record<Section, number>>>
  readonly changes: readonly Change[]
}

/** `symbols`: only changes of these stocks. */
export interface DiffOptions extends SymbolOptions {
  readonly exchange: string
  /** Only these sections; all if absent. */
  readonly only?: readonly Section[] | undefined
}

/**
 * Lists what the last run changed in a folder. Reads only replaced files, one at a time.
 *
 * @throws StorageError if there is no such folder
 * @throws UsageError for a symbol that is listed neither now nor before
 */
export const diff = async (root: string, options: DiffOptions): Promise<Difference> => {
  await checkFolder(root)
  const { damage, ...last } = await readLastWriter(root)
  const now = { folder: root, ...last }
  const after = await readStocks(root)
  const previous = await readPreviousOutputs(root)
  if (previous?.run === undefined || statFile(join(previous.root, MASTER_MAP)) === undefined) {
    const notes = [...damage, ...describeUnlisted(await selectFolderSymbols(root, options, { stocks: after }))]
    return { ...now, since: null, notes, counts: {}, changes: [] }
  }
  const { run, asOf } = previous
  const compared = await compareOutputs(root, { previous, now: root }, options)
  return { ...now, since: { run, ...(asOf === undefined ? {} : { asOf }) }, ...compared, notes: [...damage, ...compared.notes] }
}

/** What is compared: earlier outputs with those in the folder `now`. `extend` may add files that neither has. */
export interface ComparedOutputs {
  readonly previous: PreviousOutputs
  /** The output folder itself, or one with the lists of a recorded day. */
  readonly now: string
  readonly extend?: (lists: FileComparison, notes: string[]) => Promise<FileComparison>
}

export const compareOutputs = async (
  root: string,
  { previous, now, extend = async (lists) => lists }: ComparedOutputs,
  { exchange, only = sectionNames, ...selection }: DiffOptions,
): Promise<Pick<Difference, 'notes' | 'counts' | 'changes'>> => {
  const after = await readStocks(now)
  const before = await readStocks(previous.root)
  const selected = await selectFolderSymbols(root, selection, { stocks: after, gone: before })
  const { wanted } = selected
  const notes = [...describeUnlisted(selected)]
  const files = await extend(createFileComparison(now, previous, notes), notes)
  const context = {
    files,
    before,
    after,
    exchange,
    sinceDay: previous.asOf === undefined ? undefined : toDay(Date.parse(previous.asOf)),
    notes,
  }
  const changes: Change[] = []
  for (const section of only) changes.push(...(await findChanges(section, context)))
  const shown = changes.filter(({ symbol }) => wanted === undefined || wanted.has(symbol))
  return {
    notes,
    counts: Object.fromEntries(only.map((section) => [section, shown.filter((change) => change.section === section).length])),
    changes: shown,
  }
}

interface DiffContext {
  readonly files: FileComparison
  readonly before: readonly Stock[]
  readonly after: readonly Stock[]
  readonly exchange: string
  /** The day of the run with which the last one is compared. */
  readonly sinceDay: Day | undefined
  readonly notes: string[]
}

const findChanges = async (section: Section, context: DiffContext): Promise<readonly Change[]> => {
  const { files, before, after, exchange, sinceDay, notes } = context
  const rename = createRenaming(before, after)
  const lists = (...names: readonly string[]): ListVersions => {
    const joined = joinVersions(names.map((name) => readListVersions(files, name, notes)))
    return { ...joined, before: joined.before.map(rename) }
  }
  const prefix = exchange.toLowerCase()
  switch (section) {
    case 'listings':
    case 'renames':
      return findListingChanges(before, after, findReturned(context)).filter((change) => change.section === section)
    case 'surveillance':
      return ['asm', 'gsm'].flatMap((list) => findSurveillanceChanges(list.toUpperCase(), lists(`${prefix}_${list}_list.json`)))
    case 'bands':
      return findBandChanges(lists('complete_price_bands.json'), lists('incremental_price_bands.json'))
    case 'results':
      return findResultChanges(lists('fundamental_data.json'))
    case 'circuits':
      return ['upper', 'lower'].flatMap((side) => findCircuitChanges(side, lists(`${side}_circuit_stocks.json`)))
    case 'deals':
      return findNewDeals(lists('bulk_block_deals.json'))
    case 'actions':
      return findNewActions(lists('upcoming_corporate_actions.json', 'history_corporate_actions.json'), sinceDay)
    case 'filings':
      return findDocumentChanges(context, (name) => `company_filings/${name}_filings.json`, findNewFilings)
    case 'announcements':
      if (files.isSame(ANNOUNCEMENTS, ANNOUNCEMENTS)) return []
      return findNewAnnouncements(lists(ANNOUNCEMENTS), new Set(before.map(({ ISIN }) => ISIN)))
    case 'news':
      return findDocumentChanges(context, (name) => `market_news/${name}_news.json`, findNewNews)
  }
}

const SYMBOL_FIELDS = ['Symbol', 'Sym', 'sym'] as const

/** Gives a row of an earlier list the present symbol and ISIN of its stock: a rename is a change of the stock, not of its rows. */
const createRenaming = (before: readonly Stock[], after: readonly Stock[]): ((row: Row) => Row) => {
  const [byIsin, bySymbol] = [new Map(after.map((stock) => [stock.ISIN, stock])), new Map(after.map((stock) => [stock.Symbol, stock]))]
  const known = new Set(before.map(({ ISIN }) => ISIN))
  const renamed = before.flatMap((stock): readonly (readonly [string, Stock])[] => {
    const heir = bySymbol.get(stock.Symbol)
    // A symbol may have gone to a stock that had another one before.
    const now = byIsin.get(stock.ISIN) ?? (heir && !known.has(heir.ISIN) ? heir : undefined)
    if (now === undefined || (now.ISIN === stock.ISIN && now.Symbol === stock.Symbol)) return []
    return [stock.ISIN, stock.Symbol].map((name) => [name, now])
  })
  if (renamed.length === 0) return (row) => row
  const present = new Map(renamed)
  return (row) => {
    const symbol = SYMBOL_FIELDS.find((field) => row[field] !== undefined)
    const now = present.get(readText(row.ISIN)) ?? (row.ISIN === undefined && symbol ? present.get(readText(row[symbol])) : undefined)
    return now ? { ...row, ...(symbol ? { [symbol]: now.Symbol } : {}), ...(row.ISIN === undefined ? {} : { ISIN: now.ISIN }) } : row
  }
}

const ANNOUNCEMENTS = 'all_company_announcements.json'

const joinVersions = (all: readonly (FileVersions | undefined)[]): ListVersions => {
  const rows = (documents: readonly unknown[]): readonly Row[] => documents.flat().filter(isRow)
  return { before: rows(all.map((one) => one?.before)), after: rows(all.map((one) => one?.after)) }
}

/** The ISINs of added stocks that were listed before: files of stocks that leave the list stay. */
const findReturned = ({ files, before, after }: DiffContext): ReadonlySet<string> => {
  const known = new Set(before.map(({ ISIN }) => ISIN))
  const added = toStockItems(after).filter(({ value }) => !known.has(value.ISIN))
  const documents = added.flatMap(({ fileName }) =>
    [`market_news/${fileName}_news.json`, `company_filings/${fileName}_filings.json`].map((file) => files.readVersions(file)?.before),
  )
  return new Set(documents.filter(isRow).flatMap(({ ISIN, data }) => [readText(ISIN), readText([data].flat().find(isRow)?.isin)]))
}

const STOCKS_PER_TURN = 100

/** The changes in the files of each stock. The file of a renamed stock is compared with that of its earlier symbol. */
const findDocumentChanges = async (
  { before, after, files }: DiffContext,
  fileOf: (name: string) => string,
  findNew: typeof findNewFilings,
): Promise<readonly Change[]> => {
  const earlierNames = new Map(toStockItems(before).map(({ value, fileName }) => [value.ISIN, fileName]))
  const all: Change[] = []
  for (const { value, fileName, rank } of toStockItems(after)) {
    const [file, earlier] = [fileOf(fileName), fileOf(earlierNames.get(value.ISIN) ?? fileName)]
    const versions = files.isSame(file, earlier) ? undefined : files.readVersions(file, earlier)
    // The first documents of an added stock are not new ones.
    const isFirst = versions?.before === undefined && !earlierNames.has(value.ISIN)
    if (versions && !isFirst) all.push(...findNew(value.Symbol, versions.before, versions.after))
    if (rank % STOCKS_PER_TURN === 0) await yieldTurn()
  }
  return all
}
