import type { RecordedTable } from '../../model/history.js'
import { getOrAdd, groupBy } from '../../model/map.js'
import { listColumnNames, listColumns, type Table } from '../../model/table.js'
import { type Day, formatSecond } from '../../model/trading-day.js'
import { yieldTurn } from '../file-system.js'
import {
  createParquet,
  GROUP_ROWS,
  type ParquetColumn,
  readParquet,
  readParquetGroups,
  readRowsAt,
  writeParquet,
} from '../parquet.js'
import { type Columns, createColumns, createRowDigests, type TableRow } from '../table-rows.js'
import { findFile, readVerified } from './intact-files.js'
import {
  BASES,
  byDay,
  describeFile,
  type EncodedLists,
  type FileFacts,
  type History,
  leaveOutDamaged,
  nameRecord,
  type Publication,
  type RecordedList,
  type Warn,
} from './record.js'

/**
 * Columns of a file besides those of its table: when it was collected; and, among changes, what a row is and
 * the number of its row in the base.
 */
export const [KNOWN_AT, CHANGE, BASE_ROW] = ['known_at', '_change', '_base_row'] as const
const FURTHER: readonly ParquetColumn[] = [
  { name: CHANGE, type: 'VARCHAR' },
  { name: BASE_ROW, type: 'BIGINT' },
]

/** Of more changed rows than this share, a list is stored whole. */
const MAX_CHANGED = 0.5

/**
 * With more of the first rows of a base gone, it is another list: the rest of the base, which takes long to
 * read, is not compared.
 */
const OTHER_LIST = 0.9

/**
 * Reads lists of the same files in one pass, and adds their rows to columns. Emits after some rows each.
 * @throws DamagedFileError
 */
export type ReadLists = (tables: readonly (readonly [Table, Columns])[]) => AsyncIterable<unknown>

interface NewLists {
  /** Tables that have a file. */
  readonly tables: readonly RecordedTable[]
  readonly day: Day
  /** ISO 8601. */
  readonly knownAt: string
  readonly read: ReadLists
  /** When a list is published, and how old it may be. */
  readonly describe?: (table: RecordedTable) => Publication
  /** Whether a record of the day already has the list with this content, so that it is left out. */
  readonly isKnown?: (table: RecordedTable, content: string) => boolean
  readonly warn: Warn
}

/**
 * Encodes lists file by file, each row as it is read, so that no list is in memory as rows. A list of a
 * damaged file is left out, with a warning.
 */
export const encodeLists = async (
  history: History,
  { tables, read, describe, isKnown, ...request }: NewLists,
): Promise<EncodedLists> => {
  const encoded: EncodedLists = { lists: {}, files: [] }
  const folder = nameRecord(request, [...history.records, ...history.deleted])
  for (const group of groupBy(tables, ({ table }) =>
    table.files.map(({ path }) => path).join('\n'),
  ).values()) {
    const warn: Warn = (text) =>
      request.warn(
        `${group.map(({ table }) => table.name).join(', ')} ${group.length === 1 ? 'was' : 'were'} not recorded: ${text}`,
      )
    const lists = (await leaveOutDamaged(warn, () => writeWholeLists(group, read, request.knownAt))) ?? []
    for (const { recorded, ...whole } of lists) {
      const { table, stream } = recorded
      if (isKnown?.(recorded, whole.content)) continue
      const base = await openBase(history, table, request)
      const { bytes, list } = await encodeList(whole, { ...request, table, base, folder })
      encoded.lists[table.name] = { stream, ...list, ...describe?.(recorded) }
      if (bytes) encoded.files.push([list.changes ?? list.whole, bytes])
      if (base?.isNew && list.whole === base.facts) encoded.files.push([base.facts, base.bytes])
    }
  }
  return encoded
}

/**
 * Rows with long texts are written after so many pieces of their file, 8 MB together: fewer of them are a
 * group then.
 */
const GROUP_BATCHES = 128

interface WrittenList {
  /** The file; its last rows are only compressed if it is wanted. */
  readonly finish: () => Buffer
  readonly keys: readonly number[]
  readonly content: string
}

const writeWholeLists = async (group: readonly RecordedTable[], read: ReadLists, knownAt: string) => {
  const lists = group.map((recorded) => ({
    recorded,
    columns: createColumns(recorded.table),
    digests: createRowDigests(recorded.table),
    file: createParquet(toFileColumns(recorded.table, knownAt)),
  }))
  const flush = (least: number) => {
    for (const { columns, digests, file } of lists) {
      if ((columns[0]?.length ?? 0) < least) continue
      digests.add(columns)
      file.addGroup(columns)
      for (const values of columns) values.length = 0
    }
  }
  let batches = 0
  for await (const _ of read(lists.map(({ recorded: { table }, columns }) => [table, columns] as const))) {
    flush(++batches % GROUP_BATCHES === 0 ? 1 : GROUP_ROWS)
    await yieldTurn()
  }
  return lists.map(({ recorded, columns, digests, file }) => {
    digests.add(columns)
    const finish = () => {
      file.addGroup(columns)
      return file.finish()
    }
    return { recorded, keys: digests.keys, content: digests.content(), finish }
  })
}

const toFileColumns = (table: Table, knownAt: string): readonly ParquetColumn[] => [
  ...listColumns(table),
  { name: KNOWN_AT, type: 'TIMESTAMP', constant: formatSecond(Date.parse(knownAt)) },
  ...FURTHER,
]

interface Base {
  readonly facts: FileFacts
  readonly bytes: Buffer
  /** The content of the list; undefined if its record was deleted. */
  readonly content: string | undefined
  /** Whether it is not yet stored as a base. */
  readonly isNew: boolean
}

/**
 * The whole list on which the newest record of a table stands that is of the same quarter, and not after the
 * day; undefined without one that can be read.
 */
const openBase = async (
  history: History,
  { name }: Table,
  { day, warn }: Pick<NewLists, 'day' | 'warn'>,
): Promise<Base | undefined> => {
  const own = history.records
    .filter(({ lists }) => lists[name])
    .map((record) => ({ day: record.day, ...(record.lists[name] as RecordedList) }))
  const near = own.filter((one) => one.day <= day && toQuarter(one.day) === toQuarter(day))
  const { whole } = near.sort(byDay).at(-1) ?? {}
  const bytes = whole && (await leaveOutDamaged(warn, () => findFile(history, whole, warn).bytes))
  if (whole === undefined || bytes === undefined) return undefined
  const source = own.find((one) => one.whole.digest === whole.digest && one.changes === undefined)
  const isNew = !whole.name.startsWith(BASES)
  const facts = isNew
    ? { ...whole, name: `${BASES}/${name}-${source?.day}-${whole.digest.slice(0, 16)}.parquet` }
    : whole
  return { facts, bytes, content: source?.content, isNew }
}

const toQuarter = (day: Day): string => `${day.slice(0, 4)} ${Math.ceil(Number(day.slice(5, 7)) / 3)}`

interface NewList extends Pick<NewLists, 'knownAt'> {
  readonly table: Table
  readonly base: Base | undefined
  readonly folder: string
}

/**
 * A list as the changes of its base, or whole if most rows differ, and on the first day of a quarter. Without
 * `bytes` it is as its base. A file becomes a base when a later day needs it, so that a list that changes as
 * a whole each day has none.
 */
const encodeList = async (
  whole: WrittenList,
  { table, base, folder, knownAt }: NewList,
): Promise<{ readonly list: Omit<RecordedList, 'stream'>; readonly bytes?: Buffer }> => {
  const facts = { rows: whole.keys.length, content: whole.content }
  if (base?.content === whole.content) return { list: { ...facts, whole: base.facts } }
  const own = whole.finish()
  const changes = base && (await findChanges(table, { ...whole, bytes: own }, base.bytes))
  if (base && changes?.length === 0) return { list: { ...facts, whole: base.facts } }
  const bytes = changes ? writeParquet(toFileColumns(table, knownAt), changes) : own
  const file = describeFile(`${folder}/${table.name}${changes ? '.changes' : ''}.parquet`, bytes)
  return {
    bytes,
    list: { ...facts, ...(base && changes ? { whole: base.facts, changes: file } : { whole: file }) },
  }
}

/** The rows of a base that are not replaced, and those that are added or changed. */
const joinRows = (
  whole: readonly TableRow[],
  changes: readonly TableRow[] | undefined,
): readonly TableRow[] => {
  if (changes === undefined) return whole
  const replaced = new Set(changes.map((row) => row[BASE_ROW]))
  return [
    ...whole.filter((_, place) => !replaced.has(place)),
    ...changes.filter((row) => row[CHANGE] !== 'removed'),
  ]
}

/**
 * The rows that a base lacks, and those that it has and the list lacks. Two of them with the same names are
 * one changed row. Undefined if these are most rows.
 */
const findChanges = async (
  table: Table,
  { bytes, keys }: WrittenList & { readonly bytes: Buffer },
  base: Buffer,
): Promise<readonly TableRow[] | undefined> => {
  const most = keys.length * MAX_CHANGED
  const left = new Map<number, number>()
  for (const key of keys) left.set(key, (left.get(key) ?? 0) + 1)
  const take = (key: number) => {
    const count = left.get(key) ?? 0
    if (count > 0) left.set(key, count - 1)
    return count > 0
  }
  const gone: number[] = []
  for await (const { from, rows, select } of readParquetGroups(base)) {
    const digests = createRowDigests(table)
    digests.add(select(listColumnNames(table)))
    for (let at = 0; at < rows; at++) if (!take(digests.keys[at] as number)) gone.push(from + at)
    if (gone.length > Math.min(most, (from + rows) * OTHER_LIST)) return undefined
  }
  const added = keys.flatMap((key, place) => (take(key) ? [place] : []))
  if (added.length > most) return undefined
  const names =
    table.key ?? table.columns.flatMap(({ name }) => (NAMING_COLUMNS.includes(name) ? [name] : []))
  const toNames = (row: TableRow) =>
    JSON.stringify((names.length === 0 ? Object.values(row) : names.map((name) => row[name])).map(String))
  const rows = await readRowsAt(base, gone)
  const byNames = new Map<string, number[]>()
  for (const [place, row] of [...rows].reverse())
    getOrAdd(byNames, toNames(row), (): number[] => []).push(place)
  const changes = [...(await readRowsAt(bytes, added)).values()].map((row): TableRow => {
    const place = byNames.get(toNames(row))?.pop()
    return {
      ...row,
      ...(place === undefined ? { [CHANGE]: 'added' } : { [CHANGE]: 'changed', [BASE_ROW]: place }),
    }
  })
  const removed = [...byNames.values()].flat().sort((one, other) => one - other)
  if (changes.length + removed.length > most) return undefined
  return [
    ...changes,
    ...removed.map((place): TableRow => ({ ...rows.get(place), [CHANGE]: 'removed', [BASE_ROW]: place })),
  ]
}

/** Columns that name what a row is about, in any list that has them and no `key`. */
const NAMING_COLUMNS = ['list', 'side', 'isin', 'symbol', 'series', 'sid', 'indicator', 'action', 'ex_date']

/**
 * Creates a function that reads a list of a record. The last base is kept: the next list probably needs it,
 * too. @throws DamagedFileError
 */
export const createListReader = (history: History, warn: Warn = () => undefined) => {
  let last: { readonly digest: string; readonly rows: readonly TableRow[] } | undefined
  return async ({ whole, changes }: RecordedList) => {
    if (last?.digest !== whole.digest)
      last = { digest: whole.digest, rows: await readParquet(findFile(history, whole, warn).bytes) }
    return joinRows(last.rows, changes && (await readParquet(readVerified(history, changes))))
  }
}
