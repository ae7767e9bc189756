import { resolve } from 'node:path'
import { listTables } from '../../engine/define-stream.js'
import { listColumns } from '../../model/table.js'
import { quoteShell } from '../../model/text.js'
import { readDay } from '../../model/trading-day.js'
import type { DataSource, MarketFolder } from '../../show/folder.js'
import { type LimitedResult, runLimitedQuery } from '../../tables/limited-query.js'
import { listSavedQueries } from '../../tables/saved-queries.js'
import { listViews } from '../../tables/views/index.js'
import { workedQueries } from '../../tables/worked-queries.js'
import type { QueriesAnswer, QueryAnswer } from '../api/query.js'
import type { QueryRunner } from './queue.js'

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

const MAX_ROWS = 10_000
const DEFAULT_ROWS = 1_000
/** Later the query is ended: the page and a run share the machine. */
const TIME_LIMIT_MS = 60_000

/** Runs queries in the sandbox of `query`; a reader that leaves, and the time limit, interrupt them. */
export const createQueryRunner =
  ({ root, streams }: DataSource, timeMs = TIME_LIMIT_MS): QueryRunner =>
  async ({ sql, limit = DEFAULT_ROWS, day }, signal) => {
    const startedAt = performance.now()
    const limits = { rows: Math.min(MAX_ROWS, Math.max(1, Math.floor(limit))), timeMs }
    const result = await runLimitedQuery({ sql, root, streams, asOf: readDay(day ?? '') }, limits, signal)
    const answer = toAnswer(result, performance.now() - startedAt)
    return result.isCut ? { ...answer, command: describeCommand(root, sql, day) } : answer
  }

const describeCommand = (root: string, sql: string, day: string | undefined): string => {
  const asOf = day ? ['--as-of', day] : []
  return ['scripstream', 'query', '--format', 'csv', '--out', resolve(root), ...asOf, '--', sql].map(quoteShell).join(' ')
}

const toAnswer = ({ columns, rows, isCut, warnings }: LimitedResult, ms: number): QueryAnswer => ({
  columns: columns.map(({ name, isNumber }) => ({ name, isNumber })),
  rows,
  isCut,
  ms: Math.round(ms),
  ...(warnings === undefined ? {} : { warnings }),
})
