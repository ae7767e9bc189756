import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunSelection } from '../../../src/engine/storage.js'
import type { RewrittenFile, RunReport } from '../../../src/model/report.js'
import type { SqlType } from '../../../src/model/row-schema.js'
import type { Table } from '../../../src/model/table.js'
import { recordDay } from '../../../src/storage/history/record-day.js'
import type { TableRow } from '../../../src/storage/table-rows.js'
import { runReport } from '../../cli/support.js'
import { temporaryFolder } from '../../support/folders.js'
import { createRowText, NO_HISTORY, readRecordedList } from '../../support/history.js'

/** A table of one file, with a column for each key. */
export const createTable = (
  name: string,
  file: string,
  columns: Readonly<Record<string, readonly [key: string, type?: SqlType]>>,
): Table => ({
  name,
  comment: '',
  shape: file.endsWith('.csv') ? 'csv' : 'array',
  files: [{ path: file }],
  columns: Object.entries(columns).map(([column, [key, type = 'VARCHAR']]) => ({
    name: column,
    type,
    comment: '',
    from: { row: [key] },
  })),
})

export const PRICES = createTable('prices', 'prices.json', {
  symbol: ['Symbol'],
  price: ['Price', 'DOUBLE'],
  note: ['Note'],
})
export const LISTED = createTable('listed', 'list.csv', {
  symbol: ['SYMBOL'],
  version: ['VERSION', 'BIGINT'],
})
export const ABOUT = createTable('about', 'about.json', { version: ['version', 'BIGINT'] })

const NEWS = { pattern: 'news/*.json', lists: ['News'], identity: ['At', 'Title'] }
/** Any stored deal shows a session. */
const DEALS = 'deals.json'

export const HISTORY = {
  ...NO_HISTORY,
  tables: [
    { table: PRICES, stream: 'prices', isPerItem: true, changesDaily: true, followsAsOf: true },
    { table: LISTED, stream: 'lists', isPerItem: false, changesDaily: false, followsAsOf: true },
    { table: ABOUT, stream: 'lists', isPerItem: false, changesDaily: false, followsAsOf: true },
  ],
  documents: [NEWS],
  evidence: { streams: ['lists'], candles: [], trades: [{ pattern: DEALS, key: 'date' }], days: [] },
}

export const rowsOf = (version: number) =>
  Array.from({ length: 300 }, (_, rank) => ({
    symbol: `S${rank}`,
    // A fifth of the rows changes.
    price: rank % 5 === 0 ? version * rank : rank,
    note: `a long note of ${rank}`,
    extra: null,
  }))

/** Stores the lists of a version. */
export const storeVersion = (root: string, version: number): void => {
  const prices = rowsOf(version).map(({ symbol, price, note }) => ({
    Symbol: symbol,
    Price: price,
    Note: note,
  }))
  writeFileSync(join(root, 'prices.json'), JSON.stringify(prices))
  writeFileSync(join(root, 'list.csv'), `SYMBOL,VERSION\nA,${version}\nB,1\n`)
  writeFileSync(join(root, 'about.json'), JSON.stringify([{ version }]))
}

/** Stores a deal of each of some days, so that these are sessions. */
export const storeSessions = (root: string, days: readonly string[]): void =>
  writeFileSync(join(root, DEALS), JSON.stringify(days.map((date) => ({ date }))))

export interface Given {
  readonly chosen?: RunSelection
  readonly outcomes?: Readonly<Record<string, 'success' | 'partial'>>
  readonly missing?: RunReport['missing']
  readonly isPartOfEnded?: boolean
  /** When the run began and ended; 20:00 in India on the day without it. */
  readonly at?: string
  readonly rewritten?: Readonly<Record<string, readonly RewrittenFile[]>>
  readonly history?: Partial<typeof HISTORY>
}

/** Records the stored lists as a run of that day does. Resolves to its warning. */
export const record = (
  root: string,
  day: string,
  {
    chosen = {},
    outcomes = {},
    missing,
    isPartOfEnded = false,
    at = `${day}T14:30:00.000Z`,
    rewritten = {},
    history = {},
  }: Given = {},
): Promise<string | undefined> => {
  const scripts = Object.fromEntries(
    ['prices', 'lists'].map((name) => [
      name,
      { outcome: outcomes[name] ?? 'success', ...(rewritten[name] ? { rewritten: rewritten[name] } : {}) },
    ]),
  )
  const report = {
    ...runReport({}),
    scripts,
    ...(missing ? { missing } : {}),
    startedAt: at,
    finishedAt: at,
  } as unknown as RunReport
  const asOf = Date.parse(`${day}T14:30:00.000Z`)
  const run = { run: `run of ${at}`, asOf, configuration: 'c', chosen }
  return recordDay(root, { history: { ...HISTORY, ...history }, record: run, report, isPartOfEnded })
}

/** The version of a list of a day; undefined without a record. Fails if its rows are of several versions. */
export const readVersion = async (
  root: string,
  day: string,
  table = 'prices',
): Promise<number | undefined> => {
  const rows = await readRecordedList(root, table, day)
  if (rows === undefined) return undefined
  const last = rows.find(({ symbol = 'A' }) => symbol === (table === 'prices' ? 'S5' : 'A'))
  const version = table === 'prices' ? Number(last?.price) / 5 : Number(last?.version)
  const wanted: readonly object[] =
    table === 'prices' ? rowsOf(version) : table === 'about' ? [{ version, extra: null }] : toListed(version)
  const toText = createRowText([PRICES, LISTED, ABOUT].find(({ name }) => name === table) as Table)
  const sort = (all: readonly object[]): string =>
    all
      .map((row) => toText(row as TableRow))
      .sort()
      .join()
  if (sort(rows) !== sort(wanted)) throw new Error(`the rows of ${table} of ${day} are of no version`)
  return version
}

const toListed = (version: number): readonly object[] => [
  { symbol: 'A', version, extra: null },
  { symbol: 'B', version: 1, extra: null },
]

/** A folder with a recorded day. */
export const createRecorded = async (...days: readonly string[]): Promise<string> => {
  const root = temporaryFolder()
  for (const [index, day] of days.entries()) {
    storeVersion(root, index + 1)
    const warning = await record(root, day)
    if (warning !== undefined) throw new Error(warning)
  }
  return root
}

export const toHistoryFolder = (root: string): string => join(root, '.scripstream', 'history')
