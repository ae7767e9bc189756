import type { DuckDBResult } from '@duckdb/node-api'
import { map, Observable } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import type { Command, Shell } from '../parts.js'
import { settingsFor } from '../provider.js'
import { exitCodeOf, untilSignal } from '../signals.js'
import { paintLine, sizeOf } from '../terminal.js'
import type { Bunch, ColumnFacts } from './cells.js'
import type { Format } from './format-names.js'

export interface QueryFlags {
  readonly sql: string
  readonly out: string | undefined
  readonly config: string | undefined
  readonly format: Format | undefined
  /** Rows that a table shows. */
  readonly rows: number
}

/** Asks the files of the output folder and prints the answer on stdout. A signal interrupts it. */
export const queryCommand: Command<QueryFlags> = (flags, shell, parts) =>
  new Observable<number>((subscriber) => {
    let interrupt = (): void => undefined
    const answer = async (): Promise<void> => {
      const { out } = settingsFor(flags, shell, parts)
      const { ask, errorOf } = await import('../../tables/query.js')
      const asked = await ask(flags.sql, out, (stop) => (interrupt = stop))
      try {
        if (!subscriber.closed) await print(asked.result, flags, shell)
      } catch (error) {
        throw errorOf(error)
      } finally {
        asked.close()
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
    untilSignal(shell.signal$),
    map((end) => (typeof end === 'string' ? exitCodeOf(end) : end)),
  )

/** Writes an answer as fast as its reader reads, and ends where the reader goes away. */
export const print = async (
  result: DuckDBResult,
  { format, rows }: Pick<QueryFlags, 'format' | 'rows'>,
  { stdout }: Pick<Shell, 'stdout'>,
): Promise<void> => {
  const columns = columnsOf(result)
  const isPlan = columns[0]?.name === 'explain_key'
  const how = format ?? (stdout.isTTY || isPlan ? 'table' : 'csv')
  if (how === 'table') {
    const { shown } = await import('./shown.js')
    const lines = await shown(columns, cellsOf(result), { columns: sizeOf(stdout).columns, rows })
    stdout.write(lines.map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, stdout)}\n`).join(''))
    return
  }
  const { [how]: write } = (await import('./formats.js')).writings
  for await (const text of write(columns, cellsOf(result))) {
    // A reader that has seen enough, such as head, is no failure.
    if (stdout.destroyed || stdout.writableEnded) return
    await new Promise<void>((resolve) => stdout.write(text, () => resolve()))
  }
}

const columnsOf = (result: DuckDBResult): readonly ColumnFacts[] =>
  result.columnNames().map((name, place) => {
    const type = result.columnType(place)
    return {
      name,
      isNumber: /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL)\b/.test(String(type)),
      isJson: type.alias === 'JSON',
    }
  })

const cellsOf = async function* (result: DuckDBResult): AsyncGenerator<Bunch> {
  for await (const chunk of result) yield { count: chunk.rowCount, rows: () => chunk.getRows() }
}

export interface StatementInput {
  readonly typed: string | undefined
  readonly file: string | undefined
  /** Whether the tables are told where there is no statement: a program that wants them may keep stdin open. */
  readonly json: boolean
}

/** The statement that was typed, stands in a file, or is piped in; nothing where the tables are asked for. */
export const statementIn = (
  { typed, file, json }: StatementInput,
  { isTTY }: Shell['stdin'],
  read: (path: string, flag: string) => string,
): string | undefined => {
  if (typed !== undefined && file !== undefined) throw new UsageError('query takes a statement or --file, not both')
  if (file !== undefined) return read(file, '--file')
  if (typed !== undefined && typed !== '-') return typed
  if (typed === undefined && (isTTY || json)) return undefined
  const piped = read('-', 'query')
  if (piped.trim() !== '') return piped
  throw new UsageError(
    'query: no statement came in on stdin\ntype one: scripstream query "select …"; on a terminal, or with --json, "scripstream query" shows the tables',
  )
}
