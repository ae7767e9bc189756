import { CollectError } from '../../model/errors.js'
import { isRow } from '../../model/row.js'
import { createDocumentsReader } from '../data/documents.js'
import { createMarketReader, readMarketLists } from '../data/market.js'
import { type DataSource, openMarketFolder } from '../data/market-folder.js'
import type { QueryRunner } from '../data/query.js'
import { search } from '../data/search.js'
import { readCandles, readIndex, readIndexChart, readStock } from '../data/stock.js'
import { AnswerError } from './guard.js'
import type { Route } from './route.js'

export interface DataRoutes {
  readonly routes: readonly Route[]
  /** Reads the market before somebody asks for it: thousands of small files, which take a second. Never rejects: the answers have its errors. */
  readonly prepare: () => Promise<void>
}

/** The routes that answer from the output folder; each server has its own, with what they keep in memory. */
export const createDataRoutes = (source: DataSource, ask?: QueryRunner): DataRoutes => {
  const folder = openMarketFolder(source)
  const [readMarket, readDocuments] = [createMarketReader(folder), createDocumentsReader(folder)]
  const readLists = () => readMarketLists(folder)
  let runner = ask
  const routes: readonly Route[] = [
    { path: '/api/market', answer: readMarket },
    { path: '/api/market/lists', answer: readLists },
    { path: '/api/market/documents', answer: readDocuments },
    { path: '/api/stock/:symbol', answer: ({ params: { symbol = '' } }) => found(readStock(folder, symbol), symbol) },
    {
      path: '/api/stock/:symbol/candles',
      answer: ({ params: { symbol = '' }, query }) => found(readCandles(folder, symbol, query.get('adjusted') !== '0'), symbol),
    },
    { path: '/api/index/:name', answer: ({ params: { name = '' } }) => found(readIndex(folder, name), name) },
    { path: '/api/index/:name/candles', answer: ({ params: { name = '' } }) => found(readIndexChart(folder, name), name) },
    { path: '/api/search', answer: async ({ query }) => ({ found: await search(folder, (query.get('q') ?? '').slice(0, MAX_SEARCH)) }) },
    { path: '/api/queries', answer: async () => (await import('../data/query.js')).listQueries(folder) },
    {
      method: 'POST',
      path: '/api/query',
      answer: async ({ body, signal }) => {
        const { sql, limit } = isRow(body) ? body : {}
        if (typeof sql !== 'string') throw new AnswerError(400, 'the body must have the statement in the field sql')
        runner ??= (await import('../data/query.js')).createQueryRunner(folder)
        return runner({ sql, ...(typeof limit === 'number' ? { limit } : {}) }, signal).catch((error: unknown) => {
          throw error instanceof CollectError ? new AnswerError(400, error.message) : error
        })
      },
    },
  ]
  return {
    routes,
    prepare: async () => {
      for (const read of [readLists, readMarket, readDocuments]) await read().catch(() => undefined)
    },
  }
}

const MAX_SEARCH = 100

/** The answer; none is a 404 that names what was asked for. */
const found = async <T>(answer: Promise<T | undefined>, name: string): Promise<T> => {
  const value = await answer
  if (value === undefined) throw new AnswerError(404, `${name} is in no list of this folder; search by symbol, name or ISIN`)
  return value
}
