import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { CollectError } from '../../model/errors.js'
import { isRow } from '../../model/row.js'
import type { MarketFolder } from '../../show/index.js'
import { AnswerError } from './guard.js'
import { type CsvExport, createQueue, type QueryRunner } from './queue.js'
import { type Route, readAsOf, readGivenDay } from './route.js'

/** What is answered in another process; in this one if absent. */
export interface QueryWork {
  readonly ask?: QueryRunner | undefined
  /** Without it there is no export of a whole result. */
  readonly exportCsv?: CsvExport | undefined
}

/** Queries. */
const MAX_WAITING = 8

/** Answers statements, two at a time. */
export const queryRoutes = (folder: MarketFolder, { ask, exportCsv }: QueryWork): readonly Route[] => {
  const inTurn = createQueue(MAX_WAITING)
  const refuseStatement = (error: unknown): never => {
    throw error instanceof CollectError ? new AnswerError(400, error.message) : error
  }
  const ofRows: Route = {
    method: 'POST',
    path: '/api/query',
    answer: async ({ body, signal }) => {
      const { sql, limit, day } = isRow(body) ? body : {}
      if (typeof sql !== 'string')
        throw new AnswerError(400, 'the body must have the statement in the field sql')
      const asOf = readGivenDay('day', day)
      const run = ask ?? (await import('./query.js')).createQueryRunner(folder)
      const request = {
        sql,
        ...(typeof limit === 'number' ? { limit } : {}),
        ...asOf,
      }
      return inTurn(() => run(request, signal), signal).catch(refuseStatement)
    },
  }
  if (exportCsv === undefined) return [ofRows]
  const ofFile: Route = {
    path: '/api/query.csv',
    respond: (response, { query, signal }) => {
      const request = { sql: query.get('sql') ?? '', ...readAsOf(query) }
      return inTurn(() => sendCsv(response, exportCsv(request, signal)), signal).catch(refuseStatement)
    },
  }
  return [ofRows, ofFile]
}

/**
 * Passes the lines on as fast as they are read. A refusal comes before the first one, and is an answer of its
 * own.
 */
const sendCsv = async (response: ServerResponse, lines: AsyncIterable<Uint8Array>): Promise<void> => {
  const chunks = lines[Symbol.asyncIterator]()
  const first = await chunks.next()
  response.writeHead(200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="query.csv"',
  })
  const all = async function* () {
    if (!first.done) yield first.value
    yield* { [Symbol.asyncIterator]: () => chunks }
  }
  await pipeline(all, response)
}
