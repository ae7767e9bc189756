import { availableParallelism } from 'node:os'
import { MIN_CACHED_BYTES } from '../../analysis/candle-cache.js'
import { runQuery } from '../../analysis/query.js'
import { cellText, describeResultColumns, readChunks } from '../../analysis/result-values.js'
import { listSavedQueries, resolveQuery } from '../../analysis/saved-queries.js'
import { listViews } from '../../analysis/tables/index.js'
import { workedQueries } from '../../analysis/worked-queries.js'
import { UsageError } from '../../model/errors.js'
import { listColumns } from '../../model/table.js'
import { listTables } from '../../pipeline/list-tables.js'
import { toQueryError } from '../../storage/duckdb.js'
import type { QueriesAnswer, QueryAnswer, QueryRequest } from '../api/query.js'
import type { MarketFolder } from './market-folder.js'

/** The saved and the worked queries, and the tables that they may use. */
export const listQueries = async ({ root, streams }: MarketFolder): Promise<QueriesAnswer> => {
  const saved = await listSavedQueries(root)
  const tables = listTables(streams)
  return {
    queries: [...saved.map((query) => ({ ...query, isSaved: true })), ...workedQueries.map((query) => ({ ...query, isSaved: false }))],
    tables: [...tables, ...listViews(tables)].map((table) => ({
      name: table.name,
      about: table.comment,
      columns: listColumns(table).map(({ name }) => name),
    })),
  }
}

export const MAX_ROWS = 10_000
const DEFAULT_ROWS = 1_000
/** Later the query is ended: the page and a run share the machine. */
const TIME_LIMIT_MS = 60_000
/** A large sort goes to the disk, and one processor is left to the page and to a run. */
const ROOM = { threads: String(Math.max(1, availableParallelism() - 1)), memory_limit: '1GB' }

/** Answers queries, one at a time. */
export type QueryRunner = (request: QueryRequest, signal: AbortSignal) => Promise<QueryAnswer>

/** Runs queries in the sandbox of `query`; a reader that leaves, and the time limit, interrupt them. */
export const createQueryRunner = ({ root, streams }: MarketFolder, timeLimitMs = TIME_LIMIT_MS): QueryRunner => {
  let isBusy = false
  return async ({ sql, limit = DEFAULT_ROWS }, signal) => {
    if (isBusy) throw new UsageError('another query is running; wait for its end, or stop it')
    isBusy = true
    const source = { out: root, tables: listTables(streams), cacheFrom: MIN_CACHED_BYTES, room: ROOM }
    const startedAt = performance.now()
    const end = createEnd(signal, timeLimitMs)
    try {
      const query = await runQuery(await resolveQuery(sql, root), source, end.onBegin)
      try {
        const answer = await collect(query.result, Math.min(MAX_ROWS, Math.max(1, Math.floor(limit))))
        return { ...answer, ms: Math.round(performance.now() - startedAt) }
      } catch (error) {
        throw toQueryError(error)
      } finally {
        query.close()
      }
    } catch (error) {
      throw end.isLate()
        ? new UsageError(`stopped after ${Math.round(timeLimitMs / 1_000)} s; ask for fewer days, stocks or columns`)
        : error
    } finally {
      end.clear()
      isBusy = false
    }
  }
}

const REPEAT_MS = 50

/** Interrupts a query when its reader leaves or its time is over, also one that has not begun yet. */
const createEnd = (signal: AbortSignal, timeLimitMs: number) => {
  let interrupt = (): void => undefined
  let repeat: NodeJS.Timeout | undefined
  let isLate = false
  // Between two statements of the preparation nothing runs that could be interrupted: so it is repeated.
  const stop = (): void => {
    interrupt()
    repeat ??= setInterval(() => interrupt(), REPEAT_MS)
  }
  const timer = setTimeout(() => {
    isLate = true
    stop()
  }, timeLimitMs)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  return {
    onBegin: (own: () => void): void => {
      interrupt = own
    },
    isLate: () => isLate,
    clear: (): void => {
      clearTimeout(timer)
      clearInterval(repeat)
      signal.removeEventListener('abort', stop)
    },
  }
}

const collect = async (result: Parameters<typeof readChunks>[0], limit: number): Promise<Omit<QueryAnswer, 'ms'>> => {
  const columns = describeResultColumns(result)
  const rows: (readonly (string | null)[])[] = []
  for await (const chunk of readChunks(result)) {
    for (const row of chunk.rows()) rows.push(row.map((value, place) => cellText(value, columns[place]?.isJson) ?? null))
    if (rows.length > limit) break
  }
  return { columns: columns.map(({ name, isNumber }) => ({ name, isNumber })), rows: rows.slice(0, limit), isCut: rows.length > limit }
}
