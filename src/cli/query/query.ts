import type { DuckDBResult } from '@duckdb/node-api'
import { map, Observable } from 'rxjs'
import type { QueryResult } from '../../analysis/query.js'
import { describeResultColumns, readChunks } from '../../analysis/result-values.js'
import { UsageError } from '../../model/errors.js'
import type { Day } from '../../model/trading-day.js'
import { listTables } from '../../pipeline/define-stream.js'
import type { Command, ProcessIo } from '../dependencies.js'
import type { FolderFlags } from '../options.js'
import { resolveSettings } from '../provider.js'
import { toExitCode, untilSignal } from '../signals.js'
import { printLines, printWarning } from '../terminal/print.js'
import { readSize } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'

interface QueryFlags extends FolderFlags {
  readonly sql: string
  readonly format?: Format | undefined
  /** Rows shown in a table. */
  readonly rows: number
  /** Whether the lake is used. */
  readonly cache: boolean
  /** The day as of which tables are read. */
  readonly asOf?: Day | undefined
}

/** Queries the files of the output folder and prints the result on stdout. A signal interrupts it. */
export const queryCommand: Command<QueryFlags> = (flags, io, dependencies) =>
  new Observable<number>((subscriber) => {
    let interrupt = (): void => undefined
    const answer = async (): Promise<void> => {
      const { out } = resolveSettings(flags, io, dependencies)
      const { runQuery } = await import('../../analysis/query.js')
      const { resolveQuery } = await import('../../analysis/saved-queries.js')
      const { MIN_LAKE_BYTES } = await import('../../analysis/lake/lake.js')
      const { toQueryError } = await import('../../storage/duckdb.js')
      const source = {
        out,
        tables: listTables(dependencies.streams),
        lakeFrom: flags.cache ? MIN_LAKE_BYTES : undefined,
        asOf: flags.asOf,
      }
      const query = await runQuery(await resolveQuery(flags.sql, out), source, (stop) => (interrupt = stop))
      for (const answer of query.answers) io.stderr.write(`${answer}\n`)
      for (const warning of query.warnings) printWarning(clean(warning), io.stderr)
      try {
        if (!subscriber.closed) await printResult(query.result, { ...flags, past: describePast(query, flags.asOf) }, io)
      } catch (error) {
        throw toQueryError(error)
      } finally {
        query.close()
      }
    }
    answer().then(
      () => {
        subscriber.next(0)
        subscriber.complete()
      },
      (error: unknown) => subscriber.error(error),
    )
    return () => interrupt()
  }).pipe(
    untilSignal(io.signal$),
    map((end) => (typeof end === 'string' ? toExitCode(end) : end)),
  )

/** What JSON says of an answer as of a day: that day, the recorded day that was used, and what a reader must know about it. */
const describePast = ({ usedDay, answers }: QueryResult, asOf: Day | undefined): object | undefined =>
  asOf === undefined ? undefined : { as_of: asOf, record_of: usedDay ?? null, notes: answers }

/** Writes a result as fast as its reader reads it, and stops when the reader closes the pipe. */
export const printResult = async (
  result: DuckDBResult,
  { format, rows, past }: Pick<QueryFlags, 'format' | 'rows'> & { readonly past?: object | undefined },
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
export type Format = (typeof formats)[number]
