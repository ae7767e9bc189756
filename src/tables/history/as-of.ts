import { DamagedFileError, UsageError } from '../../model/errors.js'
import { groupBy } from '../../model/map.js'
import type { Columned, Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import { quoteList, quoteText } from '../../storage/duckdb.js'
import {
  type ChosenList,
  chooseEachDay,
  describeAnswer,
  describeEarlier,
  findAnswer,
  findUsedDay,
  nameTables,
} from '../../storage/history/choose.js'
import { openSeen } from '../../storage/history/first-seen.js'
import {
  buildDaysSelect,
  buildListSelect,
  type DayFiles,
  selectColumns,
} from '../../storage/history/guide.js'
import { findFile, readVerified } from '../../storage/history/intact-files.js'
import {
  describeDamage,
  type History,
  leaveOutDamaged,
  openHistory,
  toHistoryPath,
  type Warn,
} from '../../storage/history/record.js'
import type { TableFolder } from '../../storage/table-folder.js'
import { buildEmptySelect, buildSelect } from '../../storage/table-views.js'

export type { History, Warn } from '../../storage/history/record.js'

/** A file to open, and the SQL that reads from it. */
export interface TableReader {
  readonly files: readonly string[]
  readonly select: string
}

/** The schema with all days of each recorded table. */
export const HISTORY_SCHEMA = 'history'

export interface HistoryTable extends Columned {
  readonly table: Table
}

const HISTORY_COLUMNS = [
  { name: 'day', type: 'DATE', comment: 'the day that the row is about' },
  { name: 'known_at', type: 'TIMESTAMP', comment: 'when it was collected, India time' },
] as const

/** The tables of the schema `history`: those whose files are recorded whole. */
export const listHistoryTables = (tables: readonly Table[]): readonly HistoryTable[] =>
  tables.filter(isRecordedTable).map((table) => ({
    table,
    name: `${HISTORY_SCHEMA}.${table.name}`,
    shape: table.shape,
    columns: [...HISTORY_COLUMNS, ...table.columns],
  }))

/** Whether the files of a table are lists, and none of them is one of a stock or an index. */
export const isRecordedTable = ({ shape, files }: Table): boolean =>
  shape !== 'candles' && files.every(({ path }) => !/\{(?!exch\})\w+\}/.test(path))

/** Whether the table has a file for each day. */
const isByDay = ({ files }: Table): boolean => files.some(({ path }) => path.includes('{DAY}'))

export interface PastDay {
  readonly folder: TableFolder
  readonly tables: readonly Table[]
  readonly day: Day
  readonly warn: Warn
}

/**
 * Reads tables as they stood on a day: lists as the newest record until then has them; filings and news that
 * were known by then; candles until then. `used` is the newest recorded day until then, if a table needs one;
 * `listAnswers` notes answers that are not of the day itself, or not of all that was known.
 *
 * @throws UsageError if a list is needed, and the history begins later
 * @throws DamagedFileError if the record that answers is damaged; other days are left out
 */
export const openDay = async ({ folder, tables, day, warn }: PastDay) => {
  const history = await openHistory(folder.root, tables)
  const used = tables.every((table) => table.shape === 'candles' || isByDay(table))
    ? undefined
    : findUsedDay(history, day)
  if (used !== undefined) describeEarlier(history.earlier, used, day).forEach(warn)
  const answers = new Map<string, string | undefined>()
  const read = async (table: Table): Promise<TableReader> => {
    if (isRecordedTable(table)) {
      const chosen = findAnswer(history, table.name, { day, warn })
      answers.set(
        table.name,
        chosen ? describeAnswer(chosen, day) : `no record until ${day}, so it has no rows`,
      )
      if (chosen === undefined) return { files: [], select: buildEmptySelect(table) }
      const files = findNames(history, chosen, warn).map((name) => toHistoryPath(folder.root, name))
      return { files, select: buildListSelect(quoteList(files), selectColumns(table)) }
    }
    const files = (await folder.listFiles(table)).flatMap(({ paths }) => paths)
    const time = table.shape === 'candles' ? 'date' : isByDay(table) ? 'day' : undefined
    if (time !== undefined)
      return {
        files,
        select: `FROM (${await buildSelect(table, folder)}) WHERE ${time} <= DATE ${quoteText(day)}`,
      }
    if (table.identity === undefined) throw new UsageError(`the days of ${table.name} are not kept`)
    const damage = history.damages.find((one) => one.day === used)
    if (damage && history.records.every((record) => record.day !== used))
      throw new DamagedFileError(describeDamage(damage))
    answers.set(table.name, 'only documents that the newest files still have')
    const seen = await readFirstSeen(history, warn)
    return {
      files: [...files, ...seen.files],
      select: await buildSelect(table, folder, { known: { day, seen: seen.select } }),
    }
  }
  return { used, read, listAnswers: () => joinAnswers(answers) }
}

/** A note that applies to all tables is given once; others name their tables. */
const joinAnswers = (answers: ReadonlyMap<string, string | undefined>): readonly string[] => {
  const groups = [...groupBy([...answers], ([, text = '']) => text)]
  return groups.flatMap(([text, own]) =>
    text === ''
      ? []
      : [
          groups.length === 1
            ? text
            : nameTables(
                own.map(([table]) => table),
                text,
              ),
        ],
  )
}

/** The names of the files of a list, whose digests are right. @throws DamagedFileError */
const findNames = (
  history: History,
  { list: { whole, changes } }: ChosenList,
  warn: Warn,
): readonly string[] => {
  if (changes) readVerified(history, changes)
  return [findFile(history, whole, warn).name, ...(changes ? [changes.name] : [])]
}

/**
 * The days on which records of single stocks appeared, as `file`, `key` and `day`. Damaged files are left out
 * with a warning.
 */
export const readFirstSeen = async (history: History, warn: Warn): Promise<TableReader> => {
  const files = (await openSeen(history, warn)).map(({ path }) => path)
  history.damages.map(describeDamage).forEach(warn)
  if (files.length > 0) return { files, select: `read_parquet(${quoteList(files)})` }
  return {
    files,
    select:
      '(SELECT CAST(NULL AS VARCHAR) AS file, CAST(NULL AS VARCHAR) AS key, CAST(NULL AS DATE) AS day WHERE false)',
  }
}

/**
 * Reads all recorded days of a table, or those until a day: a query as of a day must not see later ones.
 * `first` is the first of them. `warn` gets what is damaged and left out.
 */
export const readAllDays = async (
  history: History,
  { table, ...shown }: HistoryTable,
  { until, warn }: { readonly until?: Day | undefined; readonly warn: Warn },
): Promise<TableReader & { readonly first?: Day }> => {
  for (const { day = '', ...damage } of history.damages)
    if (until === undefined || day <= until) warn(describeDamage(damage))
  const days: DayFiles[] = []
  for (const chosen of chooseEachDay(history, table.name, until)) {
    const names = await leaveOutDamaged(warn, () => findNames(history, chosen, warn))
    if (names) days.push({ record: chosen.record, names })
  }
  const [first] = days
  if (first === undefined) return { files: [], select: buildEmptySelect(shown) }
  const toPath = (name: string) => toHistoryPath(history.root, name)
  const files = [...new Set(days.flatMap(({ names }) => names))].map(toPath)
  return { files, select: buildDaysSelect(days, selectColumns(table), toPath), first: first.record.day }
}
