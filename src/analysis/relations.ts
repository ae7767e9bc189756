import type { DuckDBConnection } from '@duckdb/node-api'
import type { Columned, Table } from '../model/table.js'
import type { Day } from '../model/trading-day.js'
import { quoteName, quoteText } from '../storage/duckdb.js'
import { openHistory } from '../storage/history/record.js'
import type { TableFolder } from '../storage/table-folder.js'
import { buildEmptySelect, buildSelect } from '../storage/table-views.js'
import { openCandleCache } from './candle-cache.js'
import { type HistoryTable, openDay, type PastDay, readAllDays, type TableReader } from './history/as-of.js'
import { setRewritten } from './history/rewritten-days.js'
import { CANDLE_DAYS } from './tables/candles.js'
import { fillFirstSeen } from './tables/fill-first-seen.js'
import { addNeeded } from './tables/index.js'
import { isView } from './tables/view.js'
import { setVariables } from './variables.js'

/** Where tables and views come from. */
export interface RelationSource {
  readonly tables: readonly Table[]
  readonly folder: TableFolder
  /** Bytes of candle files from which on a copy of them is kept and used; none without it. */
  readonly cacheFrom?: number | undefined
  /** The day as of which tables are read; the present if absent. */
  readonly past?: Day | undefined
  /** The tables and views whose rows are read; all if absent. Others are only listed. */
  readonly used?: readonly Columned[]
  /** Gets the damaged recorded days, which are left out. */
  readonly warn: PastDay['warn']
  /** Names of tables that are read as empty. */
  readonly without?: ReadonlySet<string> | undefined
}

/** What a statement needs: the files to be opened, and the SQL of each table and view, in an order in which they can be created. */
export interface Relations {
  readonly files: readonly string[]
  readonly selects: readonly (readonly [relation: Columned, select: string])[]
  /** The recorded day that is used. */
  readonly usedDay?: Day
  /** Which records answer, where they are not of the day that is asked for. */
  readonly answers?: readonly string[]
}

/** Prepares tables and views, and those that they need. Sets the variables that views read. */
export const prepareRelations = async (
  connection: DuckDBConnection,
  chosen: readonly Columned[],
  source: RelationSource,
): Promise<Relations> => {
  const { tables, views } = addNeeded(chosen, source.tables)
  const opened = await (source.past === undefined
    ? openPresent(connection, tables, source)
    : openPast(connection, source, { tables, warn: source.warn, day: source.past }))
  await setVariables(connection, { views, root: source.folder.root, day: opened.usedDay ?? source.past })
  const isRead = views.length > 0 || chosen.some(isHistoryTable)
  const history = isRead ? await openHistory(source.folder.root) : { root: source.folder.root, records: [], deleted: [], damages: [] }
  const records = { history, until: source.past, warn: source.warn }
  await setRewritten(connection, views, records)
  const seen = await fillFirstSeen(views, { ...source, ...records })
  const days: (readonly [HistoryTable, TableReader])[] = []
  for (const table of chosen.filter(isHistoryTable)) days.push([table, await readAllDays(history, table, records)])
  return {
    ...opened,
    files: [...opened.files, ...(seen?.files ?? []), ...days.flatMap(([, { files }]) => files)],
    selects: [
      ...opened.selects,
      ...views.map((view) => {
        const select = view.name === CANDLE_DAYS ? opened.candleDays : view === seen?.view ? seen.select : undefined
        return [view, select ?? view.sql] as const
      }),
      ...days.map(([table, { select }]) => [table, select] as const),
    ],
  }
}

/** Creates tables and views. A shared view that another one reads is computed now, unless they are only listed. */
export const createRelations = async (
  connection: DuckDBConnection,
  selects: Relations['selects'],
  { isListing = false }: { readonly isListing?: boolean } = {},
): Promise<void> => {
  const needed = new Set(isListing ? [] : selects.flatMap(([relation]) => (isView(relation) ? relation.needs : [])))
  for (const [relation, select] of selects) {
    const isComputed = isView(relation) && relation.isShared === true && needed.has(relation.name)
    await connection.run(`CREATE ${isComputed ? 'TABLE' : 'VIEW'} ${relation.name.split('.').map(quoteName).join('.')} AS ${select}`)
  }
}

const isHistoryTable = (relation: Columned): relation is HistoryTable => 'table' in relation

interface OpenedTables extends Relations {
  /** The SQL of the view with the candles, if a cache can stand for it. */
  readonly candleDays?: string
}

const openPresent = async (
  connection: DuckDBConnection,
  tables: readonly Table[],
  { folder, cacheFrom, without }: RelationSource,
): Promise<OpenedTables> => {
  const candles = tables.find(({ name }) => name === 'candles' && without?.has(name) !== true)
  const cache =
    candles && cacheFrom !== undefined ? await openCandleCache(connection, { table: candles, folder, minBytes: cacheFrom }) : undefined
  const isCached = (table: Table): boolean => cache !== undefined && table === candles
  const files = await listPaths(
    tables.filter((table) => !isCached(table)),
    folder,
  )
  const selects = await Promise.all(
    tables.map(async (table) => {
      if (without?.has(table.name)) return [table, buildEmptySelect(table)] as const
      return [table, cache && isCached(table) ? cache.candles : await buildSelect(table, folder)] as const
    }),
  )
  return cache === undefined ? { files, selects } : { files: [...files, cache.path], selects, candleDays: cache.candleDays }
}

/** Candles of the copy, if there is one, until the day; other tables as they stood then. */
const openPast = async (connection: DuckDBConnection, source: RelationSource, asked: Omit<PastDay, 'folder'>): Promise<OpenedTables> => {
  const { tables, day } = asked
  const past = await openDay({ folder: source.folder, ...asked })
  const isCandles = ({ name }: Table): boolean => name === 'candles'
  const present = await openPresent(connection, tables.filter(isCandles), source)
  const readers: (readonly [Table, TableReader])[] = []
  for (const table of tables.filter((one) => !isCandles(one))) readers.push([table, await past.read(table)])
  return {
    files: [...present.files, ...readers.flatMap(([, { files }]) => files)],
    selects: [
      ...present.selects.map(([table, select]) => [table, `FROM (${select}) WHERE date <= DATE ${quoteText(day)}`] as const),
      ...readers.map(([table, { select }]) => [table, select] as const),
    ],
    ...(present.candleDays === undefined ? {} : { candleDays: `FROM (${present.candleDays}) WHERE day <= DATE ${quoteText(day)}` }),
    answers: past.listAnswers(),
    ...(past.used === undefined ? {} : { usedDay: past.used }),
  }
}

/** The paths of all files of some tables. */
export const listPaths = async (tables: readonly Table[], folder: TableFolder): Promise<readonly string[]> =>
  (await Promise.all(tables.map(folder.listFiles))).flat().flatMap(({ paths }) => paths)
