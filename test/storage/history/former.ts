import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import type { HistoryRequest } from '../../../src/model/history.js'
import { createHistoryRequest } from '../../../src/pipeline/history-request.js'
import { chooseList } from '../../../src/storage/history/choose.js'
import { createListReader } from '../../../src/storage/history/lists.js'
import { openHistory } from '../../../src/storage/history/record.js'
import { createRowText, readTable } from '../../../src/storage/table-rows.js'
import { streams } from '../../../streams/registry.js'
import { temporaryFolder } from '../../support/folders.js'
import { toHistoryFolder } from './support.js'

/**
 * Days as the former code wrote them (commit cb0b8a5), and what it read of them: all lists of a small market. 2026-02-05 was collected twice,
 * the second time without some lists; 2026-02-06 three days later; 2026-02-07 is a Saturday.
 */
const FORMER = join(import.meta.dirname, 'former-days')

interface FormerFile {
  readonly knownAt: string
  readonly content: string | Readonly<Record<string, unknown>>
}

export const EXPECTED = JSON.parse(readFileSync(join(FORMER, 'expected.json'), 'utf8')) as Readonly<
  Record<string, Readonly<Record<string, FormerFile>>>
>
export const DAYS = Object.keys(EXPECTED)
/** The session of a former day. */
const toSession = (day: string): string => (day === '2026-02-07' ? '2026-02-06' : day)

export const REQUEST: HistoryRequest = createHistoryRequest(
  streams.map((stream) => ({ stream, state: 'waiting' })),
  { exchange: 'NSE' },
)

/** A folder with the days. */
export const createFormer = (): string => {
  const root = temporaryFolder()
  cpSync(join(FORMER, 'history'), toHistoryFolder(root), { recursive: true })
  return root
}

/** The rows of the lists of a former day, by the table, as sorted texts. */
export const readExpected = async (day: string): Promise<ReadonlyMap<string, readonly string[]>> => {
  const folder = temporaryFolder()
  for (const [name, { content }] of Object.entries(EXPECTED[day] ?? {})) {
    if (typeof content !== 'string') continue
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  const lists = new Map<string, readonly string[]>()
  for (const { table } of REQUEST.tables) {
    const rows = await readTable(folder, table)
    if (rows) lists.set(table.name, rows.map(createRowText(table)).sort())
  }
  return lists
}

/** The rows of the records that were made of a former day. */
export const readMigrated = async (root: string, day: string): Promise<ReadonlyMap<string, readonly string[]>> => {
  const history = await openHistory(root)
  const own = history.records.filter(({ migrated }) => migrated?.name === `${day}.day`)
  expect([...new Set(own.map((record) => record.day))]).toEqual(own.length === 0 ? [] : [toSession(day)])
  const lists = new Map<string, readonly string[]>()
  for (const { table } of REQUEST.tables) {
    const chosen = chooseList(own, table.name, toSession(day))
    if (chosen === undefined) continue
    const rows = await createListReader(history)(chosen.list)
    lists.set(table.name, rows.map(createRowText(table)).sort())
  }
  return lists
}

/** The files of the former format. */
export const listFormer = (root: string): readonly string[] =>
  readdirSync(toHistoryFolder(root), { recursive: true, encoding: 'utf8' }).filter((name) => /\.(day|base)$/.test(name))

/** Expects the rows that the former code read, in records. */
export const expectMigrated = async (root: string, days: readonly string[] = DAYS): Promise<void> => {
  for (const day of days) {
    const expected = await readExpected(day)
    expect(expected.size).toBeGreaterThan(7)
    expect(await readMigrated(root, day), day).toEqual(expected)
  }
}
