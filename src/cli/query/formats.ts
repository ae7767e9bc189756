import { type ColumnFacts, cellText, type RowChunks, toJson, type Value } from '../../analysis/result-values.js'
import { escapeFormula } from '../../model/formula.js'

/** Formats rows as text, chunk by chunk. */
export type RowFormatter = (columns: readonly ColumnFacts[], rows: RowChunks) => AsyncIterable<string>

/** Safe for spreadsheets: a text that looks like a formula gets a leading `'`. Programs that need the exact text use ndjson or json. */
const formatCsvRows: RowFormatter = async function* (columns, rows) {
  yield `${columns.map(({ name }) => quoteCell(escapeFormula(name))).join(',')}\n`
  for await (const some of rows) {
    const lines = some.rows().map((row) => row.map((value, index) => formatCsvCell(value, columns[index])).join(','))
    if (lines.length > 0) yield `${lines.join('\n')}\n`
  }
}

const formatCsvCell = (value: Value, column: ColumnFacts | undefined): string => {
  if (typeof value === 'number') return String(value)
  const text = cellText(value, column?.isJson)
  if (text === undefined) return ''
  return column?.isNumber ? text : quoteCell(escapeFormula(text))
}

const quoteCell = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

const formatNdjsonRows: RowFormatter = async function* (columns, rows) {
  const toObject = createObjectFormatter(columns)
  for await (const some of rows)
    yield some
      .rows()
      .map((row) => `${toObject(row)}\n`)
      .join('')
}

/** One array, one row per line. */
const formatJsonRows: RowFormatter = async function* (columns, rows) {
  const toObject = createObjectFormatter(columns)
  let before = '[\n'
  for await (const some of rows) {
    if (some.count === 0) continue
    yield before + some.rows().map(toObject).join(',\n')
    before = ',\n'
  }
  yield before === '[\n' ? '[]\n' : '\n]\n'
}

/** The formatters by the names of `--format`. */
export const rowFormatters = { csv: formatCsvRows, ndjson: formatNdjsonRows, json: formatJsonRows }

const createObjectFormatter = (columns: readonly ColumnFacts[]): ((row: readonly Value[]) => string) => {
  const names = numberDuplicates(columns.map(({ name }) => name)).map((name) => JSON.stringify(name))
  return (row) => `{${row.map((value, index) => `${names[index]}:${toJson(value, columns[index]?.isJson)}`).join(',')}}`
}

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
