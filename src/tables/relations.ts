import type { DuckDBConnection } from '@duckdb/node-api'
import { omitUndefined } from '../model/row.js'
import type { Columned, Table } from '../model/table.js'
import type { Day } from '../model/trading-day.js'
import { quotePath, quoteText } from '../storage/duckdb.js'
import { describeEarlier } from '../storage/history/choose.js'
import { type History, openHistory } from '../storage/history/record.js'
import { buildEmptySelect, buildSelect } from '../storage/table-views.js'
import { readFormer } from './former-symbols.js'
import {
  HISTORY_SCHEMA,
  type HistoryTable,
  openDay,
  type PastDay,
  readAllDays,
  type TableReader,
} from './history/as-of.js'
import { type Lake, type LakeSource, type LakeTable, openLake } from './lake/lake.js'
import { readRunDay, setVariables, toMarketDay } from './variables.js'
import { CANDLE_DAYS, candleDays, toPastCandles } from './views/candles.js'
import { fillFirstSeen } from './views/fill-first-seen.js'
import { addNeeded, isView, listViews } from './views/index.js'

export interface RelationSource extends LakeSource {
  /** The tables and views whose rows are read; all if absent. Others are only listed. */
  readonly used?: readonly Columned[]
  /** Gets the damaged recorded days, which are left out. */
  readonly warn: PastDay['warn']
  /** Names of tables that are read as empty. */
  readonly without?: ReadonlySet<string> | undefined
}

/** The tables and views of a statement. */
export interface Relations {
  readonly files: readonly string[]
  /** The files of the lake among them, by table. */
  readonly stored: ReadonlyMap<string, LakeTable>
  readonly empty: ReadonlySet<string>
  /** The recorded day that is used. */
  readonly usedDay?: Day
  /** Which records answer, where they are not of the day that is asked for. */
  readonly answers?: readonly string[]
}

/** Creates tables and views, and those that they need. Sets the variables that views read. */
export const openRelations = async (
  connection: DuckDBConnection,
  chosen: readonly Columned[],
  source: RelationSource,
): Promise<Relations> => {
  const { tables, folder, past } = source
  let isDamaged = false
  const warn: PastDay['warn'] = (text) => {
    isDamaged = true
    source.warn(text)
  }
  const isRead = chosen.some((one) => isView(one) || isHistoryTable(one))
  const history = isRead
    ? await openHistory(folder.root, tables)
    : { root: folder.root, records: [], deleted: [], damages: [], earlier: [] }
  const runDay = past === undefined && isRead ? await readRunDay(folder.root, tables) : undefined
  const views = listViews(tables)
  const whole = views.filter(({ name }) => chosen.some((one) => one.name === name))
  const { views: read } = addNeeded(whole, tables)
  const former = await readFormer({ root: folder.root, views: read, mayBePast: past !== undefined, warn })
  const lake = openLake(connection, source, describeContext(tables, history, { runDay, former }))
  for (const view of views.toReversed())
    if (addNeeded(chosen, tables, lake.stored).views.some(({ name }) => name === view.name))
      await lake.read(view)
  const needed = addNeeded(chosen, tables, lake.stored)
  const computed = needed.views.filter(({ name }) => !lake.stored.has(name))
  const opened = await (past === undefined
    ? openPresent(needed.tables, source, lake)
    : openPast(source, { tables: needed.tables, warn, day: past }, lake))
  const records = { history, until: past, warn }
  const day = await toMarketDay(folder.root, tables, opened.usedDay ?? past ?? runDay)
  await setVariables(connection, computed, { former, day, recorded: { ...records, tables }, until: past })
  const seen = await fillFirstSeen(computed, { ...source, ...records, warn })
  const days: (readonly [HistoryTable, TableReader])[] = []
  if (chosen.some(isHistoryTable)) describeEarlier(history.earlier, '', past).forEach(source.warn)
  for (const table of chosen.filter(isHistoryTable))
    days.push([table, await readAllDays(history, table, records)])
  await connection.run(`CREATE SCHEMA ${HISTORY_SCHEMA}`)
  // Views of a history that cannot be read whole are not stored: it may be repaired.
  await createRelations(connection, isDamaged ? { ...lake, writeView: async () => undefined } : lake, [
    ...opened.selects,
    ...needed.views.map((view) => {
      const own = view.name === CANDLE_DAYS ? opened.candleDays : undefined
      const filled = view === seen?.view ? seen.select : own
      return [view, lake.stored.get(view.name)?.select ?? filled ?? view.sql] as const
    }),
    ...days.map(([table, { select }]) => [table, select] as const),
  ])
  const seenFiles = seen ? [...seen.files, ...(await listPaths(needed.tables, source.folder))] : []
  const readers = [...days.map(([, reader]) => reader), ...lake.stored.values()]
  const files = [...opened.files, ...seenFiles, ...readers.flatMap((reader) => reader.files)]
  const { usedDay, answers, empty } = opened
  return omitUndefined({ files, empty, stored: lake.stored, usedDay, answers })
}

/** What the lake depends on besides files; undefined if nothing may be kept in it. */
const describeContext = (
  tables: readonly Table[],
  { records, damages }: History,
  { runDay, former }: { readonly runDay: Day | undefined; readonly former: unknown },
): string | undefined => {
  if (runDay === undefined || damages.length > 0) return undefined
  const published = tables.flatMap(({ publishedAt = [] }) => publishedAt)
  return [runDay, JSON.stringify(former), ...published, ...records.map(({ digest }) => digest)].join(' ')
}

type Selects = readonly (readonly [relation: Columned, select: string])[]

/**
 * Creates tables and views. A shared view that another one reads is computed now, unless they are only
 * listed.
 */
const createRelations = async (
  connection: DuckDBConnection,
  { isListing, writeView }: Lake,
  selects: Selects,
): Promise<void> => {
  const needed = new Set(
    isListing ? [] : selects.flatMap(([relation]) => (isView(relation) ? relation.needs : [])),
  )
  for (const [relation, select] of selects) {
    const isComputed = isView(relation) && relation.isShared === true && needed.has(relation.name)
    const name = quotePath(relation.name)
    await connection.run(`CREATE ${isComputed ? 'TABLE' : 'VIEW'} ${name} AS ${select}`)
    const file = isView(relation) ? await writeView(relation) : undefined
    if (file && !isComputed) await connection.run(`CREATE OR REPLACE VIEW ${name} AS ${file.select}`)
  }
}

const isHistoryTable = (relation: Columned): relation is HistoryTable => 'table' in relation

interface OpenedTables extends Pick<Relations, 'usedDay' | 'answers' | 'files' | 'empty'> {
  readonly selects: Selects
  /** The SQL of the view with the candles, if the lake has them. */
  readonly candleDays?: string | undefined
}

const openPresent = async (
  tables: readonly Table[],
  { folder, without }: RelationSource,
  lake: Lake,
): Promise<OpenedTables> => {
  const selects: (readonly [Table, string])[] = []
  const files: string[] = []
  const empty = new Set<string>()
  for (const table of tables) {
    if (without?.has(table.name)) {
      selects.push([table, buildEmptySelect(table)])
      continue
    }
    const file = (await lake.read(table)) ?? (await lake.writeTable(table))
    selects.push([table, file?.select ?? (await buildSelect(table, folder))])
    const own = file ? [] : await listPaths([table], folder)
    files.push(...own)
    if (file ? file.inputs.bytes === 0 : own.length === 0) empty.add(table.name)
  }
  const unique = lake.stored.get('candles')?.unique
  const candleDays = unique && `SELECT symbol, date AS day, open, high, low, close, volume FROM (${unique})`
  return { files, empty, selects, candleDays }
}

/** Candles of the lake, if it has them, until the day; other tables as they stood then. */
const openPast = async (
  source: RelationSource,
  asked: Omit<PastDay, 'folder'>,
  lake: Lake,
): Promise<OpenedTables> => {
  const { tables, day } = asked
  const past = await openDay({ folder: source.folder, ...asked })
  const isCandles = ({ name }: Table) => name === 'candles'
  const present = await openPresent(tables.filter(isCandles), source, lake)
  const candles = present.candleDays
    ? `FROM (${present.candleDays}) WHERE day <= DATE ${quoteText(day)}`
    : candleDays.sql
  const readers: (readonly [Table, TableReader])[] = []
  for (const table of tables.filter((one) => !isCandles(one))) readers.push([table, await past.read(table)])
  return omitUndefined({
    files: [...present.files, ...readers.flatMap(([, { files }]) => files)],
    empty: new Set([
      ...present.empty,
      ...readers.flatMap(([{ name }, { files }]) => (files.length === 0 ? [name] : [])),
    ]),
    selects: [
      ...present.selects.map(
        ([table, select]) => [table, `FROM (${select}) WHERE date <= DATE ${quoteText(day)}`] as const,
      ),
      ...readers.map(([table, { select }]) => [table, select] as const),
    ],
    // Without the master list of the day, a name is that of the file.
    candleDays: tables.some(({ name }) => name === 'master') ? toPastCandles(candles) : candles,
    answers: past.listAnswers(),
    usedDay: past.used,
  })
}

export const listPaths = async (
  tables: readonly Table[],
  folder: LakeSource['folder'],
): Promise<readonly string[]> =>
  (await Promise.all(tables.map(folder.listFiles))).flat().flatMap(({ paths }) => paths)
