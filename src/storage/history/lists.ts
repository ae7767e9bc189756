import type { RecordedTable } from '../../model/history.js'
import { getOrAdd } from '../../model/map.js'
import { listColumns, type Table } from '../../model/table.js'
import { type Day, formatSecond } from '../../model/trading-day.js'
import { yieldTurn } from '../file-system.js'
import { type ParquetColumn, readParquet, writeParquet } from '../parquet.js'
import { digestRows, type TableRow } from '../table-rows.js'
import {
  BASES,
  describeFile,
  digestOf,
  type EncodedLists,
  type FileFacts,
  findFile,
  type History,
  leaveOutDamaged,
  nameRecord,
  type RecordedList,
  readVerified,
  type Warn,
} from './record.js'

/** Columns of a file besides those of its table: when it was collected; and, among changes, what a row is and the number of its row in the base. */
export const [KNOWN_AT, CHANGE, BASE_ROW] = ['known_at', '_change', '_base_row'] as const
const FURTHER: readonly ParquetColumn[] = [
  { name: CHANGE, type: 'VARCHAR' },
  { name: BASE_ROW, type: 'BIGINT' },
]

/** Of more changed rows than this share, a list is stored whole. */
const MAX_CHANGED = 0.5

export type ReadTable = (table: Table) => Promise<DescribedRows | undefined>

interface NewLists {
  readonly tables: readonly RecordedTable[]
  readonly day: Day
  /** ISO 8601. */
  readonly knownAt: string
  readonly read: ReadTable
  /** Whether a record of the day already has the list with this content, so that it is left out. */
  readonly isKnown?: (table: Table, content: string) => boolean
  readonly warn: Warn
}

/** Encodes lists one after the other, so that the memory of only one is needed. */
export const encodeLists = async (history: History, { tables, read, isKnown, ...request }: NewLists): Promise<EncodedLists> => {
  const encoded: EncodedLists = { lists: {}, files: [] }
  const folder = nameRecord(request, [...history.records, ...history.deleted])
  for (const { table, stream } of tables) {
    const described = await read(table)
    if (described === undefined || isKnown?.(table, described.content)) continue
    const base = await openBase(history, table, request)
    const { bytes, list } = await encodeList(described, { ...request, table, base, folder })
    encoded.lists[table.name] = { stream, ...list }
    if (bytes) encoded.files.push([list.changes ?? list.whole, bytes])
    if (base?.isNew && list.whole === base.facts) encoded.files.push([base.facts, base.bytes])
    await yieldTurn()
  }
  return encoded
}

/** Rows with digests of their content: of each one, and of all in whatever order, under the names of their columns. */
export const describeRows = (table: Table, rows: readonly TableRow[]) => {
  const keys = digestRows(table, rows)
  const names = listColumns(table).map(({ name }) => name)
  return { rows, keys, content: digestOf([...names, ...[...keys].sort()].join('\n')) }
}

export type DescribedRows = ReturnType<typeof describeRows>

interface Base {
  readonly facts: FileFacts
  readonly bytes: Buffer
  /** The content of the list; undefined if its record was deleted. */
  readonly content: string | undefined
  /** Whether it is not yet stored as a base. */
  readonly isNew: boolean
}

/** The whole list on which the newest record of a table stands that is of the same quarter, and not after the day; undefined without one that can be read. */
const openBase = async (history: History, { name }: Table, { day, warn }: Pick<NewLists, 'day' | 'warn'>): Promise<Base | undefined> => {
  const own = history.records
    .filter(({ lists }) => lists[name])
    .map((record) => ({ day: record.day, ...(record.lists[name] as RecordedList) }))
  const near = own.filter((one) => one.day <= day && toQuarter(one.day) === toQuarter(day))
  const { whole } = near.sort((one, other) => (one.day < other.day ? -1 : 1)).at(-1) ?? {}
  const bytes = whole && (await leaveOutDamaged(warn, () => findFile(history, whole, warn).bytes))
  if (whole === undefined || bytes === undefined) return undefined
  const source = own.find((one) => one.whole.digest === whole.digest && one.changes === undefined)
  const isNew = !whole.name.startsWith(BASES)
  const facts = isNew ? { ...whole, name: `${BASES}/${name}-${source?.day}-${whole.digest.slice(0, 16)}.parquet` } : whole
  return { facts, bytes, content: source?.content, isNew }
}

const toQuarter = (day: Day): string => `${day.slice(0, 4)} ${Math.ceil(Number(day.slice(5, 7)) / 3)}`

interface NewList extends Pick<NewLists, 'knownAt'> {
  readonly table: Table
  readonly base: Base | undefined
  /** The folder of the record. */
  readonly folder: string
}

/**
 * A list as the changes of its base, or whole if most rows differ, and on the first day of a quarter. Without `bytes` it is as its base. A file
 * becomes a base when a later day needs it, so that a list that changes as a whole each day has none.
 */
const encodeList = async (
  described: DescribedRows,
  { table, base, folder, knownAt }: NewList,
): Promise<{ readonly list: Omit<RecordedList, 'stream'>; readonly bytes?: Buffer }> => {
  const { rows, content } = described
  const facts = { rows: rows.length, content }
  if (base?.content === content) return { list: { ...facts, whole: base.facts } }
  const changes = base && findChanges(table, described, await readParquet(base.bytes))
  const known: ParquetColumn = { name: KNOWN_AT, type: 'TIMESTAMP', constant: formatSecond(Date.parse(knownAt)) }
  const bytes = writeParquet([...listColumns(table), known, ...FURTHER], changes ?? rows)
  const file = describeFile(`${folder}/${table.name}${changes ? '.changes' : ''}.parquet`, bytes)
  return { bytes, list: { ...facts, ...(base && changes ? { whole: base.facts, changes: file } : { whole: file }) } }
}

/** The rows of a base that are not replaced, and those that are added or changed. */
const joinRows = (whole: readonly TableRow[], changes: readonly TableRow[] | undefined): readonly TableRow[] => {
  if (changes === undefined) return whole
  const replaced = new Set(changes.map((row) => row[BASE_ROW]))
  return [...whole.filter((_, place) => !replaced.has(place)), ...changes.filter((row) => row[CHANGE] !== 'removed')]
}

/**
 * The rows that a base lacks, and those that it has and the list lacks. Two of them with the same names are one changed row. Undefined if these
 * are most rows.
 */
const findChanges = (table: Table, { rows, keys }: DescribedRows, base: readonly TableRow[]): readonly TableRow[] | undefined => {
  const places = new Map<string, number[]>()
  digestRows(table, base).forEach((key, place) => void getOrAdd(places, key, (): number[] => []).push(place))
  const added = rows.filter((_, at) => places.get(keys[at] as string)?.pop() === undefined)
  const most = rows.length * MAX_CHANGED
  if (added.length > most) return undefined
  const gone = [...places.values()].flat().sort((one, other) => other - one)
  const names = table.key ?? table.columns.flatMap(({ name }) => (NAMES.includes(name) ? [name] : []))
  const toNames = (row: TableRow): string =>
    JSON.stringify((names.length === 0 ? Object.values(row) : names.map((name) => row[name])).map(String))
  const byNames = new Map<string, number[]>()
  for (const place of gone) getOrAdd(byNames, toNames(base[place] as TableRow), (): number[] => []).push(place)
  const changes = added.map((row): TableRow => {
    const place = byNames.get(toNames(row))?.pop()
    return { ...row, ...(place === undefined ? { [CHANGE]: 'added' } : { [CHANGE]: 'changed', [BASE_ROW]: place }) }
  })
  const removed = [...byNames.values()].flat().sort((one, other) => one - other)
  if (changes.length + removed.length > most) return undefined
  return [...changes, ...removed.map((place): TableRow => ({ ...base[place], [CHANGE]: 'removed', [BASE_ROW]: place }))]
}

/** Columns that name what a row is about, in any list that has them and no `key`. */
const NAMES = ['list', 'side', 'isin', 'symbol', 'series', 'sid', 'indicator', 'action', 'ex_date']

/** Creates a function that reads a list of a record. The last base is kept: the next list probably needs it, too. @throws DamagedFileError */
export const createListReader = (history: History, warn: Warn = () => undefined) => {
  let last: { readonly digest: string; readonly rows: readonly TableRow[] } | undefined
  return async ({ whole, changes }: RecordedList): Promise<readonly TableRow[]> => {
    if (last?.digest !== whole.digest) last = { digest: whole.digest, rows: await readParquet(findFile(history, whole, warn).bytes) }
    return joinRows(last.rows, changes && (await readParquet(readVerified(history, changes))))
  }
}
