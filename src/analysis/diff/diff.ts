import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as yieldTurn } from 'node:timers/promises'
import { isRow, type Row } from '../../model/row.js'
import { type Stock, toStockItems } from '../../model/stock.js'
import { statFile } from '../../storage/file-system.js'
import { createOutputMatcher } from '../../storage/output-files.js'
import { type PreviousOutputs, readPreviousOutputs } from '../../storage/previous-outputs.js'
import { checkFolder, readReport, readStocks, resolveSymbols } from '../output-folder.js'
import { type Change, type Section, sectionNames } from './change.js'
import { findNewFilings, findNewNews } from './document-changes.js'
import {
  findBandChanges,
  findCircuitChanges,
  findListingChanges,
  findNewActions,
  findNewDeals,
  findSurveillanceChanges,
  type ListVersions,
} from './list-changes.js'

/** What the last run changed in a folder. */
export interface Difference {
  readonly folder: string
  /** The last run, and its "now" in ISO 8601. */
  readonly run?: string
  readonly asOf?: string
  /** The run that it is compared with; null if there is none. */
  readonly since: { readonly run?: string; readonly asOf?: string } | null
  /** What could not be compared, and why. */
  readonly notes: readonly string[]
  /** How many changes of each section there are; filings and news count stocks. */
  readonly counts: Readonly<Partial<Record<Section, number>>>
  readonly changes: readonly Change[]
}

export interface DiffOptions {
  readonly exchange: string
  /** Only these sections; all if absent. */
  readonly only?: readonly Section[] | undefined
  /** Only changes of these stocks. */
  readonly symbols?: readonly string[] | undefined
}

/** A file before the last run and now. */
interface FileVersions {
  readonly before: unknown
  readonly after: unknown
}

interface FileComparison {
  /** Undefined if the file does not exist, or was no output of the last run. */
  readonly readVersions: (file: string, earlier?: string) => FileVersions | undefined
  /** Whether the last run did not change the file. */
  readonly isSame: (file: string, earlier: string) => boolean
}

/**
 * Lists what the last run changed in a folder. Reads only replaced files, one at a time.
 *
 * @throws StorageError if there is no such folder
 * @throws UsageError for a symbol that is listed neither now nor before
 */
export const diff = async (root: string, { exchange, only = sectionNames, symbols }: DiffOptions): Promise<Difference> => {
  await checkFolder(root)
  const report = await readReport(root)
  const now = { folder: root, ...(report === undefined ? {} : { run: report.run, asOf: report.asOf }) }
  const after = await readStocks(root)
  const previous = await readPreviousOutputs(root)
  if (previous?.run === undefined || !(await isStockList(previous.root))) {
    if (symbols) resolveSymbols(symbols, after)
    return { ...now, since: null, notes: [], counts: {}, changes: [] }
  }
  const before = await readStocks(previous.root)
  const wanted = symbols && resolveSymbols(symbols, [...after, ...before])
  const notes: string[] = []
  const files = createFileComparison(root, previous, notes)
  const changes: Change[] = []
  for (const section of only) changes.push(...(await findChanges(section, { files, before, after, exchange })))
  const shown = changes.filter(({ symbol }) => wanted === undefined || wanted.has(symbol))
  const { run, asOf } = previous
  return {
    ...now,
    since: { run, ...(asOf === undefined ? {} : { asOf }) },
    notes,
    counts: Object.fromEntries(only.map((section) => [section, shown.filter((change) => change.section === section).length])),
    changes: shown,
  }
}

const isStockList = async (root: string): Promise<boolean> => statFile(join(root, 'master_isin_map.json')) !== undefined

const createFileComparison = (root: string, { root: earlierRoot, outputs }: PreviousOutputs, notes: string[]): FileComparison => {
  const isOutput = createOutputMatcher(outputs)
  return {
    // The previous version of an unchanged file is a hard link to the same file.
    isSame: (file, earlier) => {
      const [now, then] = [statFile(join(root, file)), statFile(join(earlierRoot, earlier))]
      return now?.ino === then?.ino && now?.dev === then?.dev
    },
    readVersions: (file, earlier = file) => {
      try {
        if (!isOutput(file)) return undefined
        const after = readDocument(join(root, file))
        return after === undefined ? undefined : { before: readDocument(join(earlierRoot, earlier)), after }
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        notes.push(`${file} was not compared: it is not valid JSON; move it away and run again`)
        return undefined
      }
    },
  }
}

const readDocument = (path: string): unknown => (statFile(path) === undefined ? undefined : JSON.parse(readFileSync(path, 'utf8')))

interface DiffContext {
  readonly files: FileComparison
  readonly before: readonly Stock[]
  readonly after: readonly Stock[]
  readonly exchange: string
}

const findChanges = async (section: Section, { files, before, after, exchange }: DiffContext): Promise<readonly Change[]> => {
  const lists = (...names: readonly string[]): ListVersions => joinVersions(names.map((name) => files.readVersions(name)))
  const prefix = exchange.toLowerCase()
  switch (section) {
    case 'listings':
    case 'renames':
      return findListingChanges(before, after).filter((change) => change.section === section)
    case 'surveillance':
      return ['asm', 'gsm'].flatMap((list) => findSurveillanceChanges(list.toUpperCase(), lists(`${prefix}_${list}_list.json`)))
    case 'bands':
      return findBandChanges(lists('complete_price_bands.json'), lists('incremental_price_bands.json'))
    case 'circuits':
      return ['upper', 'lower'].flatMap((side) => findCircuitChanges(side, lists(`${side}_circuit_stocks.json`)))
    case 'deals':
      return findNewDeals(lists('bulk_block_deals.json'))
    case 'actions':
      return findNewActions(lists('upcoming_corporate_actions.json', 'history_corporate_actions.json'))
    case 'filings':
      return findDocumentChanges({
        before,
        after,
        files,
        fileOf: (name) => `company_filings/${name}_filings.json`,
        changes: findNewFilings,
      })
    case 'news':
      return findDocumentChanges({ before, after, files, fileOf: (name) => `market_news/${name}_news.json`, changes: findNewNews })
  }
}

const joinVersions = (all: readonly (FileVersions | undefined)[]): ListVersions => {
  const rows = (documents: readonly unknown[]): readonly Row[] => documents.flat().filter(isRow)
  return { before: rows(all.map((one) => one?.before)), after: rows(all.map((one) => one?.after)) }
}

interface DocumentDiff extends Omit<DiffContext, 'exchange'> {
  readonly fileOf: (name: string) => string
  readonly changes: typeof findNewFilings
}

const STOCKS_PER_TURN = 100

/** The changes in the files of each stock. The file of a renamed stock is compared with that of its earlier symbol. */
const findDocumentChanges = async ({ before, after, files, fileOf, changes }: DocumentDiff): Promise<readonly Change[]> => {
  const earlierNames = new Map(toStockItems(before).map(({ value, fileName }) => [value.ISIN, fileName]))
  const all: Change[] = []
  for (const { value, fileName, rank } of toStockItems(after)) {
    const [file, earlier] = [fileOf(fileName), fileOf(earlierNames.get(value.ISIN) ?? fileName)]
    const versions = files.isSame(file, earlier) ? undefined : files.readVersions(file, earlier)
    if (versions) all.push(...changes(value.Symbol, versions.before, versions.after))
    if (rank % STOCKS_PER_TURN === 0) await yieldTurn()
  }
  return all
}
