import type { DuckDBResult } from '@duckdb/node-api'
import { listTables, type StreamDefinition } from '../../engine/define-stream.js'
import { CollectError } from '../../model/errors.js'
import { escapeFormula } from '../../model/formula.js'
import { readDay } from '../../model/trading-day.js'
import { ROOM } from '../../tables/limited-query.js'
import { readQuery } from '../../tables/query.js'
import {
  type CellValue,
  describeResultColumns,
  type ResultColumn,
  type RowChunk,
  type RowChunks,
  readChunks,
  valueToJson,
  valueToText,
} from '../../tables/result-values.js'
import { resolveQuery } from '../../tables/saved-queries.js'
import type { ProcessIo } from '../dependencies.js'
import {
  fitColumns,
  layOut,
  printLines,
  readSize,
  renderTable,
  type TextColumn,
  type TextLine,
} from '../terminal/terminal.js'
import { clean, cut, formatCount, formatQuantity } from '../terminal/text.js'

export interface PrintOptions {
  /** By default a table on a terminal, and CSV elsewhere. */
  readonly format: 'table' | 'csv' | 'json' | 'ndjson' | undefined
  /** What a JSON answer as of a day says before its rows. */
  readonly past?: object | undefined
}

/** Writes a result as fast as its reader reads it, and stops when the reader closes the pipe. */
export const printResult = async (
  result: DuckDBResult,
  { format, past }: PrintOptions,
  { stdout }: Pick<ProcessIo, 'stdout'>,
): Promise<void> => {
  const columns = describeResultColumns(result)
  const isPlan = columns[0]?.name === 'explain_key'
  const how = format ?? (stdout.isTTY || isPlan ? 'table' : 'csv')
  if (how === 'table') {
    const lines = isPlan
      ? readQueryPlan(readChunks(result))
      : renderResultTable(columns, readChunks(result), readSize(stdout).columns)
    return printLines(
      [await lines].map((all) => () => all),
      stdout,
    )
  }
  const [before, after] =
    how === 'json' && past !== undefined ? [`${JSON.stringify(past).slice(0, -1)},"rows":`, '}\n'] : ['', '']
  for await (const text of formatRows(how, columns, readChunks(result), [before, after])) {
    // A reader such as head may stop early; that is no failure.
    if (stdout.destroyed || stdout.writableEnded) return
    await new Promise<void>((resolve) => stdout.write(text, () => resolve()))
  }
}

/** Prints all rows of a statement as CSV, or on stderr why it is refused. */
export const printWhole = async (
  { sql, day }: { readonly sql: string; readonly day?: string },
  { out, streams }: { readonly out: string; readonly streams: readonly StreamDefinition[] },
  { stdout, stderr }: Pick<ProcessIo, 'stdout' | 'stderr'>,
): Promise<number> => {
  try {
    const source = { out, tables: listTables(streams), room: ROOM, asOf: readDay(day ?? '') }
    await readQuery(await resolveQuery(sql, out), source, ({ result }) =>
      printResult(result, { format: 'csv' }, { stdout }),
    )
    return 0
  } catch (error) {
    if (!(error instanceof CollectError)) throw error
    stderr.write(error.message)
    return 1
  }
}

/**
 * Rows as text, chunk by chunk. JSON is one array, one row per line. By hand: csv-stringify takes 1.3 times
 * the CPU of a query of all candles, and ndjson goes through JSON.stringify, which rounds large integers and
 * decimals.
 */
async function* formatRows(
  how: 'csv' | 'json' | 'ndjson',
  columns: readonly ResultColumn[],
  chunks: RowChunks,
  [before, after]: readonly [before: string, after: string],
): AsyncIterable<string> {
  const names = numberDuplicates(columns.map(({ name }) => name)).map((name) => JSON.stringify(name))
  const toObject = (row: readonly CellValue[]): string =>
    `{${row.map((value, index) => `${names[index]}:${valueToJson(value, columns[index]?.isJson)}`).join(',')}}`
  const toLine = (row: readonly CellValue[]): string =>
    how === 'csv'
      ? `${row.map((value, index) => formatCsvCell(value, columns[index])).join(',')}\n`
      : `${toObject(row)}\n`
  if (how === 'csv') yield `${columns.map(({ name }) => quoteCell(escapeFormula(name))).join(',')}\n`
  let start = `${before}[\n`
  for await (const some of chunks) {
    if (some.count === 0) continue
    yield how === 'json' ? start + some.rows().map(toObject).join(',\n') : some.rows().map(toLine).join('')
    start = ',\n'
  }
  if (how === 'json') yield `${start === ',\n' ? '\n' : `${before}[`}]\n${after}`
}

/**
 * Safe for spreadsheets: a text that looks like a formula gets a leading `'`. Programs that need the exact
 * text use ndjson or json.
 */
const formatCsvCell = (value: CellValue, column: ResultColumn | undefined): string => {
  if (typeof value === 'number') return String(value)
  const text = valueToText(value, column?.isJson)
  if (text === undefined) return ''
  return column?.isNumber ? text : quoteCell(escapeFormula(text))
}

const quoteCell = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Numbers repeated column names: an object can have each name once. */
const numberDuplicates = (names: readonly string[]): readonly string[] => {
  const taken = new Set<string>()
  return names.map((name) => {
    let free = name
    for (let next = 2; taken.has(free); next++) free = `${name}_${next}`
    taken.add(free)
    return free
  })
}

/** A query plan is a drawing of several lines. */
const readQueryPlan = async (chunks: RowChunks): Promise<readonly TextLine[]> => {
  const lines: TextLine[] = []
  for await (const chunk of chunks)
    for (const row of chunk.rows()) for (const line of String(row[1]).split('\n')) lines.push([[line]])
  return lines
}

type TextRow = readonly (string | undefined)[]

/** A cell takes at most a third of the line, but may always take this much. */
const MIN_CELL_WIDTH = 20

/** A table of rows for people: the rows and columns that fit, and what is left out. */
const renderResultTable = async (
  columns: readonly ResultColumn[],
  chunks: RowChunks,
  room: number,
): Promise<readonly TextLine[]> => {
  const cellRoom = Math.max(MIN_CELL_WIDTH, Math.floor(room / 3))
  const toText = (row: readonly CellValue[]): TextRow =>
    row.map((value, index) => {
      const text = valueToText(
        columns.length > 1 && typeof value === 'number' ? roundForPeople(value) : value,
        columns[index]?.isJson,
      )
      if (text === undefined || columns.length === 1) return text === undefined ? undefined : clean(text)
      // Cut first: a cell may be a whole document.
      return cut(clean(text.slice(0, 4 * room)), cellRoom)
    })
  const { first, last, total } = await takeFirstAndLast(chunks, toText)
  const left = total - first.length - last.length
  const gap: TextRow = columns.map(() => '⋮')
  const all = left > 0 ? [...first, gap, ...last] : [...first, ...last]
  // The last columns are left out first.
  const own = columns.map(
    ({ name, isNumber }, index): TextColumn<TextRow> => ({
      title: cut(clean(name), cellRoom),
      align: isNumber ? 'right' : 'left',
      cell: (row) => row[index] ?? 'NULL',
      style: (row) => (row === gap || row[index] === undefined ? 'dim' : undefined),
      ...(index === 0 ? {} : { drop: columns.length - index }),
    }),
  )
  const fitting = fitColumns(own, all, room)
  const hidden = columns.slice(fitting.length).map(({ name }) => clean(name))
  const rows = `${formatQuantity(total, 'row')}${left > 0 ? ` (${formatCount(total - left)} shown; --format csv has all)` : ''}`
  const others = `, ${formatQuantity(columns.length, 'column')} (${formatCount(fitting.length)} shown; not ${hidden.join(', ')})`
  return [
    ...renderTable(fitting, all),
    ...layOut(['', [[hidden.length > 0 ? rows + others : rows, 'dim']]], room),
  ]
}

/** Rows of a table that are kept: the first ones, and as many of the last ones. */
const HALF = 20

/** The first and the last rows, and their total; the others are dropped as they arrive. */
const takeFirstAndLast = async (chunks: RowChunks, keep: (row: readonly CellValue[]) => TextRow) => {
  const first: TextRow[] = []
  const later: RowChunk[] = []
  let [total, waiting] = [0, 0]
  for await (const chunk of chunks) {
    total += chunk.count
    const taken = Math.min(chunk.count, HALF - first.length)
    if (taken > 0) first.push(...chunk.rows().slice(0, taken).map(keep))
    if (taken === chunk.count) continue
    later.push({ count: chunk.count - taken, rows: () => chunk.rows().slice(taken) })
    waiting += chunk.count - taken
    for (let [oldest] = later; oldest !== undefined && waiting - oldest.count >= HALF; [oldest] = later) {
      waiting -= oldest.count
      later.shift()
    }
  }
  const last = later.flatMap(({ rows }) => rows()).slice(Math.max(0, waiting - HALF))
  return { first, last: last.map(keep), total }
}

/** Two decimals, and below 10 four digits: 16 digits would hide other columns. */
const roundForPeople = (value: number): number =>
  Number(Math.abs(value) < 10 ? value.toPrecision(4) : value.toFixed(2))
