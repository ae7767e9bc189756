import { listTables, type StreamDefinition, toFilePath } from '../../engine/define-stream.js'
import { type Change, type Section, sectionNames } from '../../model/change.js'
import { groupBy } from '../../model/map.js'
import { readText } from '../../model/row.js'
import { type Stock, toStockItems } from '../../model/stock.js'
import type { Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import { yieldTurn } from '../../storage/file-system.js'
import { checkFolder, describeUnlisted, type SymbolOptions, selectFolderSymbols } from '../output-folder.js'
import {
  type ComparedTable,
  compareDocuments,
  compareLists,
  type ListVersions,
  listCompared,
} from './compare-records.js'
import { compareStocks, createRenaming } from './listings.js'
import { openDays } from './recorded-days.js'
import { openLastRun, type TwoStates } from './two-states.js'

/** What the last run that wrote outputs changed in a folder, or what changed since a recorded day. */
export interface Difference {
  readonly folder: string
  /** That run, and its "now" in ISO 8601. */
  readonly run?: string
  readonly asOf?: string
  /** The recorded day that is compared, if neither the last run nor the present. */
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
  /** The streams that wrote the folder. */
  readonly streams: readonly StreamDefinition[]
  readonly exchange: string
  /** Only these sections; all if absent. */
  readonly only?: readonly Section[] | undefined
  /** The recorded day to compare with; the state before the last run if absent. */
  readonly since?: Day | undefined
  /** With `since`: a later recorded day; the present if absent. */
  readonly until?: Day | undefined
}

/**
 * Lists what the last run changed in a folder, or what changed since a recorded day, until another one or
 * now. Reads only replaced files, one at a time. New filings and news since a day are those that appeared on
 * the days in between; their text is that of the present files.
 *
 * @throws StorageError if there is no such folder
 * @throws UsageError for a symbol that is listed neither now nor before, or a day that cannot be compared
 * @throws DamagedFileError if the record of one of the two days is damaged; a note names other damaged days
 */
export const diff = async (
  root: string,
  { exchange, streams, only = sectionNames, since, until, ...selection }: DiffOptions,
): Promise<Difference> => {
  await checkFolder(root)
  const tables = listTables(streams).map((table) => ({
    ...table,
    files: table.files.map(({ path, ...file }) => ({
      ...file,
      path: path.replace('{exch}', exchange.toLowerCase()),
    })),
  }))
  const states = await (since === undefined ? openLastRun(root) : openDays(root, { since, until }, tables))
  const { names, before, after } = states
  const selected = await selectFolderSymbols(root, selection, { stocks: after, gone: before })
  const { wanted } = selected
  const all = names.since === null ? [] : await compareStates(states, tables, only)
  const changes = await states.complete(all.filter(({ symbol }) => wanted?.has(symbol) ?? true))
  const counts = only.map((section) => [section, changes.filter((one) => one.section === section).length])
  return {
    folder: root,
    ...names,
    notes: [...describeUnlisted(selected), ...states.listNotes()],
    counts: names.since === null ? {} : Object.fromEntries(counts),
    changes,
  }
}

/** Compares the sections of two states, one after the other. */
const compareStates = async (
  states: TwoStates,
  tables: readonly Table[],
  only: readonly Section[],
): Promise<readonly Change[]> => {
  const { before, after, read, isSame } = states
  const returned = only.includes('listings') ? await findReturned(states, tables) : undefined
  const listed = compareStocks(before, after, returned)
  const rename = createRenaming(listed, after)
  const readLists = async (table: Table): Promise<readonly ListVersions[]> => {
    const all: ListVersions[] = []
    for (const { path } of table.files) {
      const { before = [], after = [] } = (await read(table, path)) ?? {}
      all.push({ before: before.map(rename), after })
    }
    return all
  }
  const changes: Change[] = []
  for (const section of only) {
    changes.push(...listed.filter((change) => change.section === section))
    const reported = new Set<string>()
    for (const table of listCompared(tables, section)) {
      if (table.changes.document === undefined)
        changes.push(...compareLists(table, await readLists(table), reported))
      else if (table.items !== undefined) changes.push(...(await compareEachStock(states, table)))
      else if (!isSame(table, toFile(table, ''), toFile(table, ''))) {
        const [list] = await readLists(table)
        changes.push(...(await compareEachStock(states, table, list)))
      }
    }
  }
  return changes
}

const STOCKS_PER_TURN = 100

const toFile = ({ files }: Table, fileName: string): string =>
  toFilePath({ file: files[0]?.path ?? '' }, '', { fileName })

/**
 * The new documents of each stock, in its file or in a list of all. The file of a renamed stock is compared
 * with that of its earlier symbol. The first documents of an added stock are not new ones.
 */
const compareEachStock = async (
  { before, after, read, isSame }: TwoStates,
  table: ComparedTable,
  list?: ListVersions,
): Promise<readonly Change[]> => {
  const [old, now] = [list?.before ?? [], list?.after ?? []].map((rows) =>
    groupBy(rows, ({ Symbol: symbol }) => readText(symbol)),
  )
  const earlierNames = new Map(toStockItems(before).map(({ value, fileName }) => [value.ISIN, fileName]))
  const readVersions = async ({ Symbol: symbol, ISIN }: Stock, name: string) => {
    if (list !== undefined) return { before: old?.get(symbol), after: now?.get(symbol) ?? [] }
    const [file, earlier] = [toFile(table, name), toFile(table, earlierNames.get(ISIN) ?? name)]
    return isSame(table, file, earlier) ? undefined : read(table, file, earlier)
  }
  const all: Change[] = []
  for (const { value, fileName, rank } of toStockItems(after)) {
    const versions = await readVersions(value, fileName)
    const { before = earlierNames.has(value.ISIN) ? [] : undefined, after } = versions ?? {}
    if (before && after) all.push(...compareDocuments(table.changes, value.Symbol, { before, after }))
    if (rank % STOCKS_PER_TURN === 0) await yieldTurn()
  }
  return all
}

/** The ISINs of added stocks that were listed before: files of stocks that leave the list stay. */
const findReturned = async (
  { before, after, read }: TwoStates,
  tables: readonly Table[],
): Promise<ReadonlySet<string>> => {
  const known = new Set(before.map(({ ISIN }) => ISIN))
  const returned = new Set<string>()
  const documents = tables.filter(({ items, changes }) => items === 'stocks' && changes !== undefined)
  for (const { value, fileName } of toStockItems(after))
    for (const table of known.has(value.ISIN) ? [] : documents) {
      const { before: earlier, isin } = (await read(table, toFile(table, fileName))) ?? {}
      if (earlier && isin) returned.add(isin)
    }
  return returned
}
