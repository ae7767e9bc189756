import { availableParallelism } from 'node:os'
import type { DuckDBResult } from '@duckdb/node-api'
import { listTables, type StreamDefinition } from '../engine/define-stream.js'
import { UsageError } from '../model/errors.js'
import { omitUndefined } from '../model/row.js'
import type { Day } from '../model/trading-day.js'
import { type DisplayedColumn, displayColumns } from './column-display.js'
import { type QueryResult, readQuery } from './query.js'
import { describeResultColumns, valueToText } from './result-values.js'
import { resolveQuery } from './saved-queries.js'

/** A statement of somebody who may ask for too much: a page, or an agent. */
export interface LimitedQuery {
  /** A statement, or the name of a saved or worked one. */
  readonly sql: string
  readonly root: string
  readonly streams: readonly StreamDefinition[]
  /** Tables are read as they stood on this day; now if absent. */
  readonly asOf?: Day | undefined
  readonly without?: ReadonlySet<string> | undefined
}

export interface QueryLimits {
  readonly rows: number
  readonly timeMs: number
  /** Characters of all cells together. */
  readonly characters?: number
}

export interface LimitedResult {
  readonly columns: readonly DisplayedColumn[]
  /** Cells as exact text; null for NULL. */
  readonly rows: readonly (readonly (string | null)[])[]
  /** Whether there are more rows than the limits permit. */
  readonly isCut: boolean
  /** The recorded day that answers a query as of a day, if a table needed one. */
  readonly usedDay?: Day
  /** Which records answer, where they are not of the day that is asked for; absent without any. */
  readonly answers?: readonly string[]
  /** Recorded days that are damaged and left out; absent without any. */
  readonly warnings?: readonly string[]
}

/**
 * One processor is left to others. A large sort goes to the disk, where it does not fill it. The screener of
 * the whole market needs 1.2 GB. What DuckDB does not count must fit into the 2 GB of the process, too.
 */
export const ROOM = {
  threads: String(Math.max(1, availableParallelism() - 1)),
  memory_limit: '1400MB',
  max_temp_directory_size: '4GB',
}

/**
 * Runs a query in the sandbox of `query`, with limits. The signal interrupts it.
 *
 * @throws UsageError for a statement that is wrong, not permitted or too slow
 */
export const runLimitedQuery = (
  request: LimitedQuery,
  limits: QueryLimits,
  signal: AbortSignal,
): Promise<LimitedResult> => {
  const end = createEnd(signal, limits.timeMs)
  const work = runToEnd(request, limits, end.onBegin).finally(end.clear)
  // A function such as `list_sort` ends up to half a minute after it was interrupted.
  return Promise.race([work, end.late])
}

const runToEnd = async (
  { sql, root, streams, asOf, without }: LimitedQuery,
  limits: QueryLimits,
  onBegin: (interrupt: () => void) => void,
): Promise<LimitedResult> => {
  const source = omitUndefined({ out: root, tables: listTables(streams), room: ROOM, asOf, without })
  const read = async ({ result, used, usedDay, answers, warnings }: QueryResult): Promise<LimitedResult> => {
    return omitUndefined({
      ...(await collectRows(result, limits)),
      columns: displayColumns(describeResultColumns(result), used),
      usedDay,
      answers: answers.length > 0 ? answers : undefined,
      warnings: warnings.length > 0 ? warnings : undefined,
    })
  }
  return readQuery(await resolveQuery(sql, root), source, read, onBegin)
}

const REPEAT_MS = 50

/** Interrupts a query when its reader leaves or its time is over, also one that has not begun yet. */
const createEnd = (signal: AbortSignal, timeMs: number) => {
  let interrupt = (): void => undefined
  let repeat: NodeJS.Timeout | undefined
  let timer: NodeJS.Timeout | undefined
  // Between two statements of the preparation nothing runs that could be interrupted: so it is repeated.
  const stop = () => {
    interrupt()
    repeat ??= setInterval(() => interrupt(), REPEAT_MS)
  }
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      stop()
      reject(
        new UsageError(`stopped after ${Math.round(timeMs / 1_000)} s; select fewer days, stocks or columns`),
      )
    }, timeMs)
  })
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  return {
    onBegin: (own: () => void) => {
      interrupt = own
    },
    late,
    clear: () => {
      clearTimeout(timer)
      clearInterval(repeat)
      signal.removeEventListener('abort', stop)
    },
  }
}

/** Decodes row by row, so that no more is in memory than the limits permit. */
const collectRows = async (
  result: DuckDBResult,
  { rows: limit, characters = Number.POSITIVE_INFINITY }: QueryLimits,
): Promise<Pick<LimitedResult, 'rows' | 'isCut'>> => {
  const columns = describeResultColumns(result)
  const rows: (readonly (string | null)[])[] = []
  let room = characters
  for await (const chunk of result) {
    for (let index = 0; index < chunk.rowCount; index++) {
      if (rows.length === limit) return { rows, isCut: true }
      const row = chunk
        .getRowValues(index)
        .map((value, place) => valueToText(value, columns[place]?.isJson) ?? null)
      for (const cell of row) room -= cell?.length ?? 0
      if (room < 0) return { rows, isCut: true }
      rows.push(row)
    }
  }
  return { rows, isCut: false }
}
