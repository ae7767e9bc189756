import { Option } from 'commander'
import { defer, type Observable } from 'rxjs'
import type { View } from '../../analysis/tables/view.js'
import { UsageError } from '../../model/errors.js'
import { listColumns, type Table } from '../../model/table.js'
import { listTables } from '../../pipeline/define-stream.js'
import type { AddCommand, Command, CommandContext } from '../dependencies.js'
import { describeInstall } from '../install.js'
import { dayOption, exampleText, type FolderFlags, integerOption, readText } from '../options.js'
import { resolveSettings } from '../provider.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize, type TextLine, wrapLines } from '../terminal/terminal.js'
import { clean, padEnd, wrap } from '../terminal/text.js'
import { chooseStatement, type Format, formats, queryCommand } from './query.js'

interface QueryInput extends FolderFlags {
  readonly file?: string
  readonly format?: Format
  readonly rows: number
  readonly json?: boolean
  readonly cache: boolean
  readonly asOf?: string
  readonly save?: string
  readonly examples?: boolean
}

const examples = [
  ['scripstream query', 'the tables and their columns, with units'],
  ['scripstream query "select symbol, close from candles where date = \'2026-02-12\'"', 'the closes of a day'],
  ['scripstream query --as-of 2026-02-10 "select * from surveillance"', 'the lists as they stood on that day'],
  ['scripstream query "select day, stage from history.surveillance where symbol = \'TCS\'"', 'a list on all recorded days'],
  ['scripstream query "describe filings"', 'the columns of a table'],
  ['scripstream query --format ndjson "from deals where side = \'B\'" | head', 'one row per line, as they arrive'],
  ['scripstream query --file screen.sql > screen.csv', 'a statement from a file'],
  ["echo 'from deals' | scripstream query", 'a statement from stdin'],
  ['scripstream query --examples', 'twenty worked statements, each with a name'],
  ['scripstream query breakouts', 'a worked or saved statement by its name'],
] as const

const createNote = (): string => `
A statement on stdin needs no "-", except with --json. Without a statement, on a
terminal or with --json, the tables are shown.

Reads the files in place and nothing else: a statement that writes, changes
settings, or reads other files is refused. Needs DuckDB:
${describeInstall(['@duckdb/node-api'])}
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
  const printTables = async (isJson: boolean): Promise<number> => {
    const { listViews } = await import('../../analysis/tables/index.js')
    const tables = listTables(dependencies.streams)
    const all = [...tables, ...listViews(tables)]
    if (isJson) printJson(tableDocument(all), stdout)
    else printLines(tableLines(all, readSize(stdout).columns), stdout)
    return 0
  }
  program
    .command('query')
    .description('Queries the collected files with SQL; without a statement, shows the tables.')
    .argument('[statement]', 'one SQL statement that reads, or the name of a saved or worked one; - for stdin')
    .option('--save <name>', 'save the statement in the folder under a name instead of running it')
    .option('--examples', 'show saved and worked statements')
    .option('-f, --file <file>', 'read the statement from a file')
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .addOption(new Option('--format <how>', 'output format (default: table on a terminal, csv elsewhere)').choices(formats))
    .addOption(integerOption('--rows <n>', 'rows shown in a table, the first and the last half', [1, 100_000]).default(40))
    .addOption(dayOption('--as-of <day>', 'answer as the folder stood on that day; see "scripstream history"'))
    .option('--no-cache', 'read the outputs only, not their copies in lake/')
    .addOption(new Option('--json', 'the list of tables as JSON; with a statement, the same as --format json').conflicts('format'))
    .addHelpText('after', () => createNote() + exampleText(examples) + QUERY_EXIT_CODES)
    .action((typed: string | undefined, { json = false, format, file, save, examples: isList, ...rest }: QueryInput) =>
      act(
        defer(() => {
          if (isList) return listQueries(rest, json, { io, dependencies })
          const sql = chooseStatement({ typed, file, json }, io.stdin, readText)
          if (save !== undefined) return saveCommand({ ...rest, name: save, sql }, io, dependencies)
          if (sql === undefined) return printTables(json)
          return queryCommand({ ...rest, sql, format: json ? 'json' : format }, io, dependencies)
        }),
      ),
    )
}

/** All tables for people: the meaning of a row, the files, and each column with type and unit. */
const tableLines = (tables: readonly (Table | View)[], columns: number): readonly TextLine[] =>
  tables.flatMap((table, index) => [...(index === 0 ? [] : [[]]), ...describeTable(table, columns)])

/** The files of a table, or the tables of a view. */
const listSources = (table: Table | View): readonly string[] => ('files' in table ? table.files.map(({ path }) => path) : table.needs)

const describeTable = (table: Table | View, columns: number): readonly TextLine[] => {
  const all = listColumns(table)
  const room = Math.max(...all.map(({ name }) => name.length))
  const facts = [table.comment, `from ${listSources(table).join(', ')}`]
  return [
    [[table.name, 'bold']],
    ...facts.flatMap((text) => wrapLines(`  ${text}`, columns, 'dim')),
    ...all.flatMap(({ name, type, comment }) => {
      const margin = 2 + room + 2 + 'TIMESTAMP'.length + 2
      // On a narrow terminal, the comment has lines of its own.
      if (columns - margin < MIN_COMMENT_WIDTH)
        return [
          [
            [`  ${name}  `, 'cyan'],
            [type, 'dim'],
          ] as TextLine,
          ...wrapLines(`      ${comment}`, columns),
        ]
      const [first = '', ...more] = wrap(comment, columns - margin)
      return [
        [[`  ${padEnd(name, room)}  `, 'cyan'], [`${padEnd(type, 9)}  `, 'dim'], [first]] as TextLine,
        ...more.map((line): TextLine => [[' '.repeat(margin) + line.trim()]]),
      ]
    }),
  ]
}

const MIN_COMMENT_WIDTH = 20

/** All tables for programs. */
export const tableDocument = (tables: readonly (Table | View)[]): readonly object[] =>
  tables.map((table) => ({
    name: table.name,
    comment: table.comment,
    ...('files' in table ? { files: listSources(table), key: table.key ?? null } : { files: [], key: null, needs: table.needs }),
    columns: listColumns(table),
  }))

/** Shows saved statements and worked ones. */
const listQueries = (
  flags: FolderFlags,
  isJson: boolean,
  { io, dependencies }: Pick<CommandContext, 'io' | 'dependencies'>,
): Observable<number> =>
  defer(async () => {
    const { out } = resolveSettings(flags, io, dependencies)
    const { listSavedQueries } = await import('../../analysis/saved-queries.js')
    const { workedQueries } = await import('../../analysis/worked-queries.js')
    const all = [...(await listSavedQueries(out)), ...workedQueries]
    const { columns } = readSize(io.stdout)
    if (isJson) printJson(all, io.stdout)
    else
      printLines(
        all.flatMap(({ name, about, sql }, index): readonly TextLine[] => [
          ...(index === 0 ? [] : [[] as TextLine]),
          [[clean(name), 'bold']],
          ...wrapLines(`  ${about}`, columns, 'dim'),
          ...sql.split('\n').flatMap((line) => wrapLines(`  ${clean(line)}`, columns)),
        ]),
        io.stdout,
      )
    return 0
  })

interface SaveFlags extends FolderFlags {
  readonly name: string
  readonly sql: string | undefined
}

/** Saves a statement under a name. */
const saveCommand: Command<SaveFlags> = ({ name, sql, ...flags }, io, dependencies) =>
  defer(async () => {
    if (sql === undefined || sql.trim() === '') throw new UsageError('query: the statement to be saved is missing')
    const { out } = resolveSettings(flags, io, dependencies)
    const { saveQuery } = await import('../../analysis/saved-queries.js')
    await saveQuery({ name, sql, out, streams: dependencies.streams })
    printLines([[[`Saved; to run it: scripstream query ${name}`]]], io.stdout)
    return 0
  })
