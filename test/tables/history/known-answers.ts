import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listTables } from '../../../src/engine/define-stream.js'
import type { Day } from '../../../src/model/trading-day.js'
import { runQuery } from '../../../src/tables/query.js'
import { streams } from '../../../streams/registry.js'
import { DAYS, DEAD, LATE, listOn, MISSED, SPLIT, salesOn, stageOn } from './ten-days.js'

type Rows = readonly (readonly string[])[]

export const tables = listTables(streams)

export const toNumber = ({ ISIN }: { readonly ISIN: string }): number => Number(ISIN.slice(-2))

export const STOCKS = Array.from({ length: 31 }, (_, stock) => stock)

const QUARTERS = "select isin, sales_cr from quarters where day = '2025-09-30' order by isin"
const REWRITTEN = 'select symbol from rewritten'
const DEALS = 'select quantity from deals'

/** Lists that name symbols, too, of which the ten days have none: said wherever symbols are joined. */
const UNRECORDED = /^announcements, listing_dates: no record until /

/** Whether `views.sql` has the table: not that of views, which our program computes. */
export const isPlain = (sql: string): boolean => sql !== QUARTERS && sql !== REWRITTEN

/** The statements, and what each one answers if the newest recorded day is this one. */
export const ANSWERS: Readonly<Record<string, (index: number) => Rows>> = {
  'select isin, symbol from master order by isin': (index) =>
    listOn(index).map(({ Symbol: symbol, ISIN }) => [ISIN, symbol]),
  'select symbol, stage from surveillance order by isin': (index) =>
    STOCKS.flatMap((stock) =>
      stageOn(stock, index) === undefined ? [] : [[`S${stock}`, stageOn(stock, index) as string]],
    ),
  'select count(pe) from master_data': (index) => [[index >= DEAD ? '0' : String(listOn(index).length)]],
  'select isin, quarter, sales from fundamentals order by isin': (index) =>
    listOn(index).map((stock) => {
      const [[quarter, sales] = ['', '']] = salesOn(toNumber(stock), index)
      return [stock.ISIN, quarter, String(Number(sales))]
    }),
  [QUARTERS]: (index) =>
    listOn(index).map((stock) => [stock.ISIN, String(Number(salesOn(toNumber(stock), index).at(-1)?.[1]))]),
  [DEALS]: (index) => [[String(Math.min(index, DEAD - 1))]],
  "select symbol, note from corporate_actions where list = 'history'": (index) =>
    index < SPLIT ? [] : [['S10', '10:1']],
  [REWRITTEN]: (index) => (index < SPLIT ? [] : [['S10']]),
}

/** What is said about the records that answer as of a day. */
export const describeTruth = (sql: string, index: number): readonly string[] => {
  const day = DAYS[index]
  // Symbols are read from several lists, one of which has ended.
  const lists = sql === REWRITTEN ? 'master, fundamentals, deals, surveillance: ' : ''
  if (index === MISSED) return [`${lists}no record of ${day}; the one before is of ${DAYS[MISSED - 1]}`]
  if (index === LATE) return [`${lists}the record of ${day} was collected 9 days later`]
  const isOld = index >= DEAD && (sql === DEALS || sql === REWRITTEN)
  return isOld
    ? [`${sql === REWRITTEN ? 'deals: ' : ''}no record of ${day}; the one before is of ${DAYS[DEAD - 1]}`]
    : []
}

/** The rows of a query as of a day, and what it says about the records that answer. */
export const askAsOf = async (
  sql: string,
  out: string,
  asOf?: Day,
): Promise<{ readonly rows: Rows; readonly answers: readonly string[] }> => {
  const { result, close, answers } = await runQuery(sql, { out, tables, asOf })
  try {
    return {
      rows: (await result.getRows()).map((row) => row.map(String)),
      answers: answers.filter((one) => !UNRECORDED.test(one)),
    }
  } finally {
    close()
  }
}

/** Answers from the record, or from the lake, with nothing but DuckDB and its `views.sql`. */
export const openPlain = async (root: string, folder = join('.scripstream', 'history')) => {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  await connection.run(`SET file_search_path = '${join(root, folder)}'`)
  await connection.run(readFileSync(join(root, folder, 'views.sql'), 'utf8'))
  const ask = async (sql: string, asOf?: Day): Promise<Rows> => {
    await connection.run(asOf === undefined ? 'RESET VARIABLE as_of' : `SET VARIABLE as_of = DATE '${asOf}'`)
    return (await (await connection.run(sql)).getRows()).map((row) => row.map(String))
  }
  return { ask, close: () => connection.closeSync() }
}
