import { listTables } from '../../engine/define-stream.js'
import { omitUndefined } from '../../model/row.js'
import { listColumnNames } from '../../model/table.js'
import { readDay } from '../../model/trading-day.js'
import type { DataSource, MarketFolder } from '../../show/folder.js'
import { runLimitedQuery } from '../../tables/limited-query.js'
import { listSavedQueries } from '../../tables/saved-queries.js'
import { listViews } from '../../tables/views/index.js'
import { workedQueries } from '../../tables/worked-queries.js'
import type { QueriesAnswer } from '../api/query.js'
import type { QueryRunner } from './queue.js'

/** The saved and the worked queries, and the tables that they may use. */
export const listQueries = async ({ root, streams }: MarketFolder): Promise<QueriesAnswer> => {
  const saved = await listSavedQueries(root)
  const tables = listTables(streams)
  return {
    queries: [
      ...saved.map((query) => ({ ...query, isSaved: true })),
      ...workedQueries.map((query) => ({ ...query, isSaved: false })),
    ],
    tables: [...tables, ...listViews(tables)].map((table) => ({
      name: table.name,
      about: table.comment,
      columns: listColumnNames(table),
    })),
  }
}

const MAX_QUERY_ROWS = 10_000
const DEFAULT_ROWS = 1_000
/** Later the query is ended: the page and a run share the machine. */
const QUERY_LIMIT_MS = 60_000

/** Runs queries in the sandbox of `query`; a reader that leaves, and the time limit, interrupt them. */
export const createQueryRunner =
  ({ root, streams }: DataSource, timeMs = QUERY_LIMIT_MS): QueryRunner =>
  async ({ sql, limit = DEFAULT_ROWS, day }, signal) => {
    const startedAt = performance.now()
    const limits = { rows: Math.min(MAX_QUERY_ROWS, Math.max(1, Math.floor(limit))), timeMs }
    const result = await runLimitedQuery({ sql, root, streams, asOf: readDay(day ?? '') }, limits, signal)
    const { columns, rows, isCut, answers, warnings } = result
    return omitUndefined({
      columns,
      rows,
      isCut,
      answers,
      warnings,
      ms: Math.round(performance.now() - startedAt),
    })
  }
