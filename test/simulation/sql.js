// What `query --as-of` gives for each simulated day, compared with the reader of the record and with the runs
// without faults.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { listTables } from '../../dist/src/engine/define-stream.js'
import { listColumns } from '../../dist/src/model/table.js'
import { loadDuckDb } from '../../dist/src/storage/duckdb.js'
import { findAnswer } from '../../dist/src/storage/history/choose.js'
import { createListReader } from '../../dist/src/storage/history/lists.js'
import { openHistory } from '../../dist/src/storage/history/record.js'
import { listHistoryTables } from '../../dist/src/tables/history/as-of.js'
import { runQuery } from '../../dist/src/tables/query.js'
import { SIMULATED_FAULTS, SimulationError, simulate } from '../../dist/src/testing.js'
import { streams } from '../../dist/streams/registry.js'

const tables = listTables(streams)
const STATEMENT = tables
  .map(({ name }) => `SELECT '${name}', CAST(to_json(t) AS VARCHAR) FROM ${name} t`)
  .join(' UNION ALL ')

const toText = (rows) => JSON.stringify(rows.map((row) => JSON.stringify(row)).sort())

/** The rows of each table as of a day. */
const query = async (out, asOf) => {
  const { result, close } = await runQuery(STATEMENT, { out, tables, asOf })
  const all = await result.getRows().finally(close)
  return new Map(
    tables.map(({ name }) => [
      name,
      toText(all.filter(([table]) => table === name).map(([, text]) => JSON.parse(text))),
    ]),
  )
}

/**
 * The same rows as the reader of the record has them: JSON is text there, and a column without a value may be
 * absent.
 */
const read = async (out, table, day) => {
  const history = await openHistory(out)
  const chosen = findAnswer(history, table.name, { day, warn: () => undefined })
  const rows = chosen ? await createListReader(history)(chosen.list) : []
  const toValue = (value, type) => (type === 'JSON' && value ? JSON.parse(value) : (value ?? null))
  return toText(
    rows.map((row) =>
      Object.fromEntries(listColumns(table).map(({ name, type }) => [name, toValue(row[name], type)])),
    ),
  )
}

/** What is wrong with each day. From the first one on which the disk failed, a record may be missing. */
const compare = async (dailyRuns, [out, ...faultFree]) => {
  const wrong = []
  let isWhole = true
  for (const { day, runs } of dailyRuns) {
    const [rows, ...expected] = await Promise.all([out, ...faultFree].map((folder) => query(folder, day)))
    for (const { table } of listHistoryTables(tables))
      if (rows.get(table.name) !== (await read(out, table, day)))
        wrong.push(`${day} ${table.name}: the record has other rows`)
    isWhole &&= runs.every(({ diskFaults }) => diskFaults === 0)
    for (const [table, text] of isWhole ? rows : [])
      if (expected.every((one) => one.get(table) !== text))
        wrong.push(`${day} ${table}: there are other rows without faults`)
  }
  return wrong
}

/**
 * Simulates the daily runs of a seed, and writes their last folders to the real disk, for DuckDB. @throws
 * SimulationError
 */
export const checkBySql = async (options) => {
  loadDuckDb()
  const days = new Map()
  // A run at another hour sees news that the only run of an evening does not see: then there are other rows,
  // rightly.
  const faults = (options.faults ?? SIMULATED_FAULTS).filter((fault) => fault !== 'hours')
  await simulate({
    ...options,
    faults,
    seeds: 1,
    check: (dailyRun) => void days.set(dailyRun.day, dailyRun) ?? [],
  })
  const last = [...days.values()].at(-1)
  const folders = [last.after, ...last.expected].map((files) => {
    const folder = mkdtempSync(join(tmpdir(), 'scripstream-simulated-'))
    for (const [path, bytes] of files) {
      mkdirSync(join(folder, dirname(path)), { recursive: true })
      writeFileSync(join(folder, path), bytes)
    }
    return folder
  })
  const comparison = compare([...days.values()], folders).catch((error) => [String(error)])
  const wrong = await comparison.finally(() => folders.map((folder) => rmSync(folder, { recursive: true })))
  if (wrong.length > 0)
    throw new SimulationError(options.seed, last, '`query --as-of` gives the rows of each day', wrong)
}
