import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { streams } from '../../streams/registry.js'
import { MASTER_MAP } from '../market/listings.js'
import type { Day } from '../model/trading-day.js'
import { statFile } from '../storage/file-system.js'
import { chooseEachDay, chooseList } from '../storage/history/choose.js'
import { BASE_ROW, CHANGE, createListReader, KNOWN_AT } from '../storage/history/lists.js'
import { openHistory } from '../storage/history/record.js'
import type { TableRow } from '../storage/table-rows.js'
import { diff } from '../tables/changes/diff.js'
import { ROOT, SIMULATED_EXCHANGE, type World } from './world.js'

/** What readers of a folder say. */
export interface DiffAndRecord {
  /** What the last run changed, as text. */
  readonly changes: readonly string[]
  /** A digest of each recorded list, by day and table. */
  readonly record: ReadonlyMap<string, string>
  /** The lists for which a record answers that was collected before they were published, by day and table. */
  readonly early: readonly string[]
}

/** Asks the readers of a folder: `diff`, and the record of each day from `since` on. */
export const readDiffAndRecord = (world: World, since: Day = '0000'): Promise<DiffAndRecord> =>
  world.read(async () => {
    // Streams without a master list have nothing that diff could name.
    const isListed = statFile(join(ROOT, MASTER_MAP)) !== undefined
    const { changes } = isListed
      ? await diff(ROOT, { streams, exchange: SIMULATED_EXCHANGE })
      : { changes: [] }
    const history = await openHistory(ROOT)
    const read = createListReader(history)
    const record = new Map<string, string>()
    const early: string[] = []
    const tables = new Set(history.records.flatMap(({ lists }) => Object.keys(lists)))
    for (const table of tables)
      for (const { record: from, list, timing } of chooseEachDay(history, table)) {
        if (from.day < since) continue
        record.set(`${from.day} ${table}`, digest(await read(list)))
        if (timing === 'early') early.push(`${from.day} ${table}`)
      }
    return { changes: changes.map((change) => JSON.stringify(change)), record, early }
  })

/** The lists of a day with records of its session alone for which the last one of them does not answer. */
export const listOutdatedAnswers = (world: World, day: Day): Promise<readonly string[]> =>
  world.read(async () => {
    const records = (await openHistory(ROOT)).records.filter((record) => record.day === day)
    if (records.some(({ timing }) => timing !== 'session')) return []
    const last = new Map(
      records.flatMap((record) => Object.keys(record.lists).map((table) => [table, record.name] as const)),
    )
    return [...last].flatMap(([table, name]) =>
      chooseList(records, table, day)?.record.name === name ? [] : [table],
    )
  })

/**
 * When a row became known, from which other one it differs, and the order of the rows depend on earlier
 * records.
 */
const digest = (rows: readonly TableRow[]): string => {
  const toText = (row: TableRow) =>
    JSON.stringify(
      Object.entries(row).map(([name, value]) => (RUN_COLUMNS.has(name) ? '' : [name, String(value)])),
    )
  return createHash('sha256').update(rows.map(toText).sort().join('\n')).digest('hex').slice(0, 16)
}

const RUN_COLUMNS: ReadonlySet<string> = new Set([KNOWN_AT, CHANGE, BASE_ROW])
