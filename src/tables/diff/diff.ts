import { join } from 'node:path'
import { MASTER_MAP } from '../../market/listings.js'
import { groupBy } from '../../model/map.js'
import { isRow, type Row, readText } from '../../model/row.js'
import { type Stock, toStockItems } from '../../model/stock.js'
import { type Day, toDay } from '../../model/trading-day.js'
import { statFile, yieldTurn } from '../../storage/file-system.js'
import { readLastWriter, readPreviousOutputs } from '../../storage/previous-outputs.js'
import {
  checkFolder,
  describeUnlisted,
  readStocks,
  type SymbolOptions,
  selectFolderSymbols,
} from '../output-folder.js'
import { type Change, type Section, sectionNames } from './change.js'
import {
  compareDocuments,
  compareLists,
  compareStocks,
  createRenaming,
  type ListVersions,
} from './compare.js'
import { DOCUMENT_KINDS, type DocumentKind, LIST_KINDS } from './kinds.js'
import { comparePreviousFiles, type TwoStates } from './two-states.js'

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
    const notes = [
      ...damage,
      ...describeUnlisted(await selectFolderSymbols(root, options, { stocks: after })),
    ]
    return { ...now, since: null, notes, counts: {}, changes: [] }
  }
  const { run, asOf } = previous
  const before = await readStocks(previous.root)
  const beforeDay = asOf === undefined ? undefined : toDay(Date.parse(asOf))
  const compared = await compareStates(
    root,
    { before, after, beforeDay, ...comparePreviousFiles(root, previous) },
    options,
  )
  return {
    ...now,
    since: { run, ...(asOf === undefined ? {} : { asOf }) },
    ...compared,
    notes: [...damage, ...compared.notes],
  }
}

/** Compares the sections of two states, one after the other. */
export const compareStates = async (
  root: string,
  states: TwoStates,
  { exchange, only = sectionNames, ...selection }: DiffOptions,
): Promise<Pick<Difference, 'notes' | 'counts' | 'changes'>> => {
  const selected = await selectFolderSymbols(root, selection, { stocks: states.after, gone: states.before })
  const { wanted } = selected
  const listed = compareStocks(
    states.before,
    states.after,
    only.includes('listings') ? await findReturned(states) : undefined,
  )
  const rename = createRenaming(listed, states.after)
  const readLists = async (files: readonly string[]): Promise<ListVersions> => {
    const all: ListVersions[] = []
    for (const file of files)
      all.push(await readListVersions(states, file.replace('{exch}', exchange.toLowerCase())))
    return {
      before: all.flatMap(({ before }) => before).map(rename),
      after: all.flatMap(({ after }) => after),
    }
  }
  const changes: Change[] = []
  for (const section of only) {
    changes.push(...listed.filter((change) => change.section === section))
    const told = new Set<string>()
    for (const kind of LIST_KINDS.filter((one) => one.section === section))
      changes.push(...compareLists(kind, await readLists(kind.files), { ...states, told }))
    for (const kind of DOCUMENT_KINDS.filter((one) => one.section === section)) {
      if (kind.list === undefined && states.isSame(kind.file, kind.file)) continue
      changes.push(
        ...(await compareEachStock(
          states,
          kind,
          kind.list === undefined ? await readLists([kind.file]) : undefined,
        )),
      )
    }
  }
  const shown = changes.filter(({ symbol }) => wanted === undefined || wanted.has(symbol))
  return {
    notes: [...describeUnlisted(selected), ...new Set(states.notes)],
    counts: Object.fromEntries(
      only.map((section) => [section, shown.filter((change) => change.section === section).length]),
    ),
    changes: shown,
  }
}

const toRows = (list: unknown): readonly Row[] => (Array.isArray(list) ? list.filter(isRow) : [])

/** A list in both states. Notes that there is no earlier one, so that what changed in it is not known. */
const readListVersions = async ({ read, notes }: TwoStates, file: string): Promise<ListVersions> => {
  const versions = await read(file)
  if (versions !== undefined && versions.before === undefined)
    notes.push(`there was no ${file} before to compare with`)
  return { before: toRows(versions?.before), after: toRows(versions?.after) }
}

const STOCKS_PER_TURN = 100

const toFile = ({ file }: DocumentKind, name: string): string => file.replace('{name}', name)

/**
 * The new documents of each stock, in its file or in a list of all. The file of a renamed stock is compared
 * with that of its earlier symbol. The first documents of an added stock are not new ones.
 */
const compareEachStock = async (
  { before, after, read, isSame }: TwoStates,
  kind: DocumentKind,
  list: ListVersions | undefined,
): Promise<readonly Change[]> => {
  const [old, now] = [list?.before ?? [], list?.after ?? []].map((rows) =>
    groupBy(rows, ({ Symbol: symbol }) => readText(symbol)),
  )
  const earlierNames = new Map(toStockItems(before).map(({ value, fileName }) => [value.ISIN, fileName]))
  const readRows = async ({ Symbol: symbol, ISIN }: Stock, name: string) => {
    if (list !== undefined) return { before: old?.get(symbol), after: now?.get(symbol) ?? [] }
    const [file, earlier] = [toFile(kind, name), toFile(kind, earlierNames.get(ISIN) ?? name)]
    const versions = isSame(file, earlier) ? undefined : await read(file, earlier)
    const rowsOf = (document: unknown): readonly Row[] =>
      toRows(isRow(document) ? document[kind.list ?? ''] : undefined)
    return (
      versions && {
        before: versions.before === undefined ? undefined : rowsOf(versions.before),
        after: rowsOf(versions.after),
      }
    )
  }
  const all: Change[] = []
  for (const { value, fileName, rank } of toStockItems(after)) {
    const rows = await readRows(value, fileName)
    if (rows !== undefined && (rows.before !== undefined || earlierNames.has(value.ISIN)))
      all.push(...compareDocuments(kind, value.Symbol, { before: rows.before ?? [], after: rows.after }))
    if (rank % STOCKS_PER_TURN === 0) await yieldTurn()
  }
  return all
}

/** The ISINs of added stocks that were listed before: files of stocks that leave the list stay. */
const findReturned = async ({ before, after, read }: TwoStates): Promise<ReadonlySet<string>> => {
  const known = new Set(before.map(({ ISIN }) => ISIN))
  const returned = new Set<string>()
  for (const { value, fileName } of toStockItems(after))
    for (const kind of known.has(value.ISIN) ? [] : DOCUMENT_KINDS.filter(({ list }) => list !== undefined)) {
      const document = (await read(toFile(kind, fileName)))?.before
      if (!isRow(document)) continue
      for (const isin of [document.ISIN, [document[kind.list ?? '']].flat().find(isRow)?.isin])
        returned.add(readText(isin))
    }
  return returned
}
