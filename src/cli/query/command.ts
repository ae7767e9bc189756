import { Option } from 'commander'
import { defer } from 'rxjs'
import { listColumns, type Table } from '../../model/table.js'
import { listTables } from '../../pipeline/list-tables.js'
import type { AddCommand } from '../dependencies.js'
import { succeed } from '../dependencies.js'
import { exampleText, integerOption, readText } from '../options.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize, type TextLine } from '../terminal/terminal.js'
import { padEnd, wrap } from '../terminal/text.js'
import { chooseStatement, type Format, formats, queryCommand } from './query.js'

interface QueryInput {
  readonly file?: string
  readonly out?: string
  readonly config?: string
  readonly format?: Format
  readonly rows: number
  readonly json?: boolean
}

const examples = [
  ['scripstream query', 'the tables and their columns, with units'],
  ['scripstream query "select symbol, close from candles where date = \'2026-02-12\'"', 'the closes of a day'],
  ['scripstream query "describe filings"', 'the columns of a table'],
  ['scripstream query --format ndjson "from deals where side = \'B\'" | head', 'one row per line, as they arrive'],
  ['scripstream query --file screen.sql > screen.csv', 'a statement from a file'],
  ["echo 'from deals' | scripstream query", 'a statement from stdin'],
] as const

const QUERY_NOTE = `
A statement on stdin needs no "-", except with --json. Without a statement, on a
terminal or with --json, the tables are shown.

Reads the files in place and nothing else: a statement that writes, changes
settings, or reads other files is refused. Needs DuckDB:
npm install @duckdb/node-api
`

const QUERY_EXIT_CODES = `
Exit codes:
  0              done, or the reader closed the pipe
  1              a file cannot be read
  2              wrong usage, configuration or statement; no output folder, or
                 DuckDB is not installed
  130, 143, 129  interrupted by Ctrl+C, TERM or a closed terminal
`

export const addQuery: AddCommand = (program, { io, dependencies, act }) => {
  const { stdout } = io
  const printTables = (isJson: boolean): void => {
    const tables = listTables(dependencies.streams)
    if (isJson) printJson(tableDocument(tables), stdout)
    else printLines(tableLines(tables, readSize(stdout).columns), stdout)
  }
  program
    .command('query')
    .description('Queries the collected files with SQL; without a statement, shows the tables.')
    .argument('[statement]', 'one SQL statement that reads; - for stdin')
    .option('-f, --file <file>', 'read the statement from a file')
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .addOption(new Option('--format <how>', 'output format (default: table on a terminal, csv elsewhere)').choices(formats))
    .addOption(integerOption('--rows <n>', 'rows shown in a table, the first and the last half', [1, 100_000]).default(40))
    .option('--json', 'the list of tables as JSON; with a statement, the same as --format json')
    .addHelpText('after', QUERY_NOTE + exampleText(examples) + QUERY_EXIT_CODES)
    .action((typed: string | undefined, { json = false, format, file, ...rest }: QueryInput) =>
      act(
        defer(() => {
          const sql = chooseStatement({ typed, file, json }, io.stdin, readText)
          if (sql === undefined) return succeed(() => printTables(json))
          return queryCommand({ ...rest, sql, format: json ? 'json' : format }, io, dependencies)
        }),
      ),
    )
}

/** All tables for people: the meaning of a row, the files, and each column with type and unit. */
const tableLines = (tables: readonly Table[], columns: number): readonly TextLine[] =>
  tables.flatMap((table, index) => [...(index === 0 ? [] : [[]]), ...describeTable(table, columns)])

const describeTable = (table: Table, columns: number): readonly TextLine[] => {
  const all = listColumns(table)
  const room = Math.max(...all.map(({ name }) => name.length))
  const facts = [table.comment, `from ${table.files.map(({ path }) => path).join(', ')}`]
  return [
    [[table.name, 'bold']],
    ...facts.flatMap((text) => wrap(`  ${text}`, columns)).map((line): TextLine => [[line, 'dim']]),
    ...all.flatMap(({ name, type, comment }) => {
      const margin = 2 + room + 2 + 'TIMESTAMP'.length + 2
      const [first = '', ...more] = wrap(comment, Math.max(20, columns - margin))
      return [
        [[`  ${padEnd(name, room)}  `, 'cyan'], [`${padEnd(type, 9)}  `, 'dim'], [first]] as TextLine,
        ...more.map((line): TextLine => [[' '.repeat(margin) + line.trim()]]),
      ]
    }),
  ]
}

/** All tables for programs. */
const tableDocument = (tables: readonly Table[]): readonly object[] =>
  tables.map((table) => ({
    name: table.name,
    comment: table.comment,
    files: table.files.map(({ path }) => path),
    key: table.key ?? null,
    columns: listColumns(table),
  }))
