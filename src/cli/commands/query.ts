import { Option } from 'commander'
import { defer } from 'rxjs'
import { formatJson } from '../../model/text.js'
import { listTables } from '../../pipeline/list-tables.js'
import { exampleText } from '../help.js'
import { integerOption } from '../options.js'
import { printText } from '../print-text.js'
import { type Format, formats } from '../query/format-names.js'
import { chooseStatement, queryCommand } from '../query/query.js'
import { tableDocument, tableLines } from '../query/tables.js'
import { paintLine, readSize } from '../terminal.js'
import { readText } from '../values.js'
import type { AddCommand } from './context.js'

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
  const forPeople = (): string =>
    tableLines(listTables(dependencies.streams), readSize(io.stdout).columns)
      .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, io.stdout)}\n`)
      .join('')
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
          if (sql === undefined)
            return printText(io, () => (json ? `${formatJson(tableDocument(listTables(dependencies.streams)), 2)}\n` : forPeople()))
          const flags = { sql, out: rest.out, config: rest.config, format: json ? ('json' as const) : format, rows: rest.rows }
          return queryCommand(flags, io, dependencies)
        }),
      ),
    )
}
