import { defer, Observable } from 'rxjs'
import { listTables } from '../../engine/define-stream.js'
import { UsageError } from '../../model/errors.js'
import { listColumns, type Table } from '../../model/table.js'
import type { Day } from '../../model/trading-day.js'
import type { QueryResult } from '../../tables/query.js'
import type { View } from '../../tables/views/view.js'
import { type Answer, defineCommand, type Input } from '../command.js'
import { buildFolderArgs, formatCommandLine } from '../command-line.js'
import type { ProcessIo } from '../dependencies.js'
import { choiceOption, dayOption, flag, folderFlags, jsonFlag, readFlagFile } from '../options.js'
import {
  type AnswerLine,
  columnsOf,
  fitTable,
  layOut,
  printWarning,
  type TextLine,
} from '../terminal/terminal.js'
import { clean, padEnd, wrap } from '../terminal/text.js'
import type { PrintOptions } from './print.js'

export const addQuery = defineCommand({
  name: 'query',
  about: 'Queries the collected files with SQL; without a statement, lists the tables.',
  args: [
    [
      '[statement]',
      'one SQL statement that reads, a saved one by its name, or a table to be described; - for stdin',
    ],
  ],
  flags: () => ({
    save: flag('--save <name>', 'save the statement in the folder, and do not run it'),
    examples: flag('--examples', 'show saved and worked statements'),
    ...folderFlags(),
    format: choiceOption('--format <how>', 'default: table on a terminal, csv elsewhere', [
      'table',
      'csv',
      'json',
      'ndjson',
    ] as const),
    asOf: dayOption('--as-of <day>', 'as the folder stood on that day ("scripstream history")'),
    cache: flag('--no-cache', 'read the outputs only, not their copies in lake/'),
    json: jsonFlag('all tables and their columns as JSON; else as --format json').conflicts('format'),
  }),
  examples: [
    ['scripstream query candles', 'the columns of a table'],
    [
      'scripstream query "select symbol, close from candles where date = \'2026-02-12\'"',
      'the closes of a day',
    ],
    [
      'scripstream query --format ndjson "from deals where side = \'B\'" | head',
      'one row per line, as they arrive',
    ],
    ['scripstream query breakouts', 'a worked or saved statement by its name; --examples shows them'],
  ],
  notes: [
    'Reads the files in place and nothing else: a statement that writes, changes settings, or reads other files is refused. history.TABLE has a list on all recorded days.',
  ],
  needs: ['@duckdb/node-api'],
  endsBySignal: true,
  run: (flags, input) => {
    const { json = false, format, save, cache = true, asOf } = flags
    if (flags.examples) return showQueries(input)
    const sql = chooseStatement({ typed: input.typed[0], json }, input.io.stdin, readFlagFile)
    if (save !== undefined) return saveStatement(save, sql, input)
    if (sql === undefined) return showTables(input)
    return answerQuery({ sql, format: json ? 'json' : format, cache, asOf }, input)
  },
})

/**
 * The statement from the arguments or stdin; undefined to list the tables. With `--json` and no
 * statement they are listed without reading stdin: a program may keep it open.
 */
export const chooseStatement = (
  { typed, json }: { readonly typed: string | undefined; readonly json: boolean },
  { isTTY }: ProcessIo['stdin'],
  read: (path: string, flag: string) => string,
): string | undefined => {
  if (typed !== undefined && typed !== '-') return typed
  if (typed === undefined && (isTTY || json)) return undefined
  const piped = read('-', 'query')
  if (piped.trim() !== '') return piped
  if (typed === undefined) return undefined
  throw new UsageError(
    'query: no statement on stdin\ntype one: scripstream query "select …"; to list the tables: scripstream query',
  )
}

interface StatementOptions extends Pick<PrintOptions, 'format'> {
  readonly sql: string
  readonly cache: boolean
  readonly asOf: Day | undefined
}

/**
 * Describes a table, or queries the files of the output folder and prints the result on stdout. Unsubscribing
 * interrupts it.
 */
const answerQuery = (
  { sql, cache, asOf, ...how }: StatementOptions,
  { io, dependencies, settings }: Input,
): Observable<Answer> =>
  new Observable<Answer>((subscriber) => {
    let interrupt = (): void => undefined
    const answer = async (): Promise<Answer> => {
      const table = (await listAllTables(dependencies)).find(({ name }) => name === sql.trim())
      if (table !== undefined) return { json: tableDocument([table]), lines: () => [printTable(table)] }
      const { out } = settings()
      const { printResult } = await import('./print.js')
      const { runQuery } = await import('../../tables/query.js')
      const { resolveQuery } = await import('../../tables/saved-queries.js')
      const { toQueryError } = await import('../../storage/duckdb.js')
      const source = {
        out,
        tables: listTables(dependencies.streams),
        lakeFrom: cache ? undefined : (false as const),
        asOf,
      }
      const query = await runQuery(await resolveQuery(sql, out), source, (stop) => (interrupt = stop))
      for (const answer of query.answers) io.stderr.write(`${answer}\n`)
      for (const warning of query.warnings) printWarning(clean(warning), io.stderr)
      try {
        if (!subscriber.closed)
          await printResult(query.result, { ...how, past: describePast(query, asOf) }, io)
      } catch (error) {
        throw toQueryError(error)
      } finally {
        query.close()
      }
      return 0
    }
    const answered = defer(answer).subscribe(subscriber)
    return () => {
      answered.unsubscribe()
      interrupt()
    }
  })

/**
 * What JSON says of an answer as of a day: that day, the recorded day that was used, and what a reader must
 * know about it.
 */
const describePast = ({ usedDay, answers }: QueryResult, asOf: Day | undefined): object | undefined =>
  asOf === undefined ? undefined : { as_of: asOf, record_of: usedDay ?? null, notes: answers }

/** The tables of the streams, and the views on them. */
export const listAllTables = async ({
  streams,
}: Pick<Input['dependencies'], 'streams'>): Promise<readonly (Table | View)[]> => {
  const { listViews } = await import('../../tables/views/index.js')
  const tables = listTables(streams)
  return [...tables, ...listViews(tables)]
}

const showTables = async ({ dependencies }: Input): Promise<Answer> => {
  const all = await listAllTables(dependencies)
  return { json: tableDocument(all), lines: () => tableLines(all) }
}

const tableLines = (tables: readonly (Table | View)[]): readonly AnswerLine[] => {
  const titles = columnsOf({ table: undefined, 'what a row is': undefined }, 2)
  const rows = tables.map(({ name, comment }) => [name, comment])
  const more = 'Columns of a table: scripstream query TABLE. Worked statements: scripstream query --examples.'
  return [fitTable(titles, rows), '', [[more, 'dim']]]
}

const listSourceFiles = (table: Table | View): readonly string[] =>
  'files' in table ? table.files.map(({ path }) => path) : table.needs

const printTable =
  (table: Table | View) =>
  (columns: number): readonly TextLine[] => {
    const all = listColumns(table)
    const room = Math.max(...all.map(({ name }) => name.length))
    const facts = [table.comment, `from ${listSourceFiles(table).join(', ')}`].map(
      (text): TextLine => [[`  ${text}`, 'dim']],
    )
    const margin = 2 + room + 2 + 'TIMESTAMP'.length + 2
    // On a narrow terminal, the comment has lines of its own.
    const isNarrow = columns - margin < MIN_COMMENT_WIDTH
    const describe = ({ name, type, comment }: (typeof all)[number]): readonly TextLine[] => {
      const [first = '', ...more] = isNarrow
        ? ['', ...wrap(comment, columns - 6)]
        : wrap(comment, columns - margin)
      const head: TextLine = [
        [`  ${padEnd(name, isNarrow ? 0 : room)}  `, 'cyan'],
        [isNarrow ? type : `${padEnd(type, 9)}  `, 'dim'],
        [first],
      ]
      return [head, ...more.map((line): TextLine => [[' '.repeat(isNarrow ? 6 : margin) + line.trim()]])]
    }
    return [...layOut([[[table.name, 'bold']], ...facts], columns), ...all.flatMap(describe)]
  }

const MIN_COMMENT_WIDTH = 20

export const tableDocument = (tables: readonly (Table | View)[]): readonly object[] =>
  tables.map((table) => ({
    name: table.name,
    comment: table.comment,
    ...('files' in table
      ? { files: listSourceFiles(table), key: table.key ?? null }
      : { files: [], key: null, needs: table.needs }),
    columns: listColumns(table),
  }))

const showQueries = async ({ settings }: Input): Promise<Answer> => {
  const { listSavedQueries } = await import('../../tables/saved-queries.js')
  const { workedQueries } = await import('../../tables/worked-queries.js')
  const all = [...(await listSavedQueries(settings().out)), ...workedQueries]
  const describe = ({ name, about, sql }: (typeof all)[number], index: number): readonly AnswerLine[] => [
    ...(index === 0 ? [] : ['']),
    [[name, 'bold']],
    [[`  ${about}`, 'dim']],
    ...sql.split('\n').map((line) => `  ${clean(line)}`),
  ]
  return { json: all, lines: () => all.flatMap(describe) }
}

const saveStatement = async (
  name: string,
  sql: string | undefined,
  { settings, args, dependencies: { streams } }: Input,
): Promise<Answer> => {
  if (sql === undefined || sql.trim() === '')
    throw new UsageError('query: the statement to be saved is missing')
  const { saveQuery } = await import('../../tables/saved-queries.js')
  await saveQuery({ name, sql, out: settings().out, streams })
  return { text: `Saved; to run it: ${formatCommandLine([...buildFolderArgs(args, 'query'), name])}\n` }
}
