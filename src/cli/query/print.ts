import type { DuckDBResult } from '@duckdb/node-api'
import { describeResultColumns, readChunks } from '../../analysis/result-values.js'
import { UsageError } from '../../model/errors.js'
import type { ProcessIo } from '../dependencies.js'
import { printLines } from '../terminal/print.js'
import { readSize } from '../terminal/terminal.js'

export interface PrintOptions {
  readonly format: Format | undefined
  /** Rows shown in a table. */
  readonly rows: number
  /** What a JSON answer as of a day says before its rows. */
  readonly past?: object | undefined
}

/** Writes a result as fast as its reader reads it, and stops when the reader closes the pipe. */
export const printResult = async (
  result: DuckDBResult,
  { format, rows, past }: PrintOptions,
  { stdout }: Pick<ProcessIo, 'stdout'>,
): Promise<void> => {
  const columns = describeResultColumns(result)
  const isPlan = columns[0]?.name === 'explain_key'
  const how = format ?? (stdout.isTTY || isPlan ? 'table' : 'csv')
  if (how === 'table') {
    const rowsTable = await import('./rows-table.js')
    const lines = await rowsTable.renderRows(columns, readChunks(result), { columns: readSize(stdout).columns, rows })
    printLines(lines, stdout)
    return
  }
  const { [how]: write } = (await import('./formats.js')).rowFormatters
  const isWrapped = how === 'json' && past !== undefined
  const print = (text: string): Promise<void> => new Promise((resolve) => stdout.write(text, () => resolve()))
  if (isWrapped) await print(`${JSON.stringify(past).slice(0, -1)},"rows":`)
  for await (const text of write(columns, readChunks(result))) {
    // A reader such as head may stop early; that is no failure.
    if (stdout.destroyed || stdout.writableEnded) return
    await print(text)
  }
  if (isWrapped) await print('}\n')
}

export interface StatementInput {
  readonly typed: string | undefined
  readonly file: string | undefined
  /** With `--json` and no statement the tables are shown, without reading stdin: a program may keep it open. */
  readonly json: boolean
}

/** The statement from the arguments, a file or stdin; undefined to show the tables. */
export const chooseStatement = (
  { typed, file, json }: StatementInput,
  { isTTY }: ProcessIo['stdin'],
  read: (path: string, flag: string) => string,
): string | undefined => {
  if (typed !== undefined && file !== undefined) throw new UsageError('query: give a statement or --file, not both')
  if (file !== undefined) return read(file, '--file')
  if (typed !== undefined && typed !== '-') return typed
  if (typed === undefined && (isTTY || json)) return undefined
  const piped = read('-', 'query')
  if (piped.trim() !== '') return piped
  throw new UsageError('query: no statement on stdin\ntype one: scripstream query "select …"; to list the tables: scripstream query --json')
}

/** The output formats of rows. */
export const formats = ['table', 'csv', 'json', 'ndjson'] as const
type Format = (typeof formats)[number]
