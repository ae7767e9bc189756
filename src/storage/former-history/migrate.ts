import { dirname, join } from 'node:path'
import { findFormerPlace } from '../../market/place.js'
import type { HistoryRequest, RecordedTable } from '../../model/history.js'
import { groupBy } from '../../model/map.js'
import type { Day } from '../../model/trading-day.js'
import { disk } from '../disk.js'
import { describeFileError, listNames } from '../file-system.js'
import { encodeSeenRows, toRewrittenRows } from '../history/first-seen.js'
import { describeRows, encodeLists, type ReadTable } from '../history/lists.js'
import {
  BASES,
  digestOf,
  type History,
  listFormerDays,
  MIGRATED,
  nameHistoryFile,
  openHistory,
  toHistoryPath,
  type Warn,
} from '../history/record.js'
import { WORK_FOLDER, writeRecord } from '../history/write-record.js'
import { readSessionDays } from '../session-days.js'
import { readTable } from '../table-rows.js'
import { createFormerReader, type FormerEntry, readContent, readFormerDay } from './former-format.js'

/**
 * Stores the days of the former format as records. Each list is read back before its record is stored, and must have the same rows. A file of the
 * former format is deleted once all of it is in records; bases when no such file is left. A kill in between repeats only what is not stored.
 */
export const migrateDays = async (root: string, request: HistoryRequest, warn: Warn): Promise<void> => {
  const days = await listFormerDays(root)
  const sessions = days.length === 0 ? [] : await readSessionDays(root, request.evidence)
  const read = await createFormerReader(root)
  for (const day of days)
    try {
      await migrateDay(await openHistory(root), { ...request, day, sessions, read, warn })
    } catch (error) {
      warn(`${nameHistoryFile(`${day}.day`)} could not be moved to the present format: ${describeFileError(error)}; the file stays`)
    }
  if ((await listFormerDays(root)).length > 0) return
  for (const name of await listNames(toHistoryPath(root, BASES)))
    if (name.endsWith('.base')) await disk.rm(toHistoryPath(root, BASES, name))
}

interface FormerDay extends HistoryRequest {
  readonly day: Day
  readonly sessions: readonly Day[]
  readonly read: (entry: FormerEntry) => Buffer
  readonly warn: Warn
}

const migrateDay = async (history: History, former: FormerDay): Promise<void> => {
  const { root } = history
  const name = `${former.day}.day`
  const file = disk.readFileSync(toHistoryPath(root, name))
  const entries = readFormerDay(file, former.day)
  if (entries === undefined)
    return former.warn(
      `${nameHistoryFile(name)} could not be moved to the present format: none of it can be read; the file stays, restore it from a backup`,
    )
  const source = { name, digest: digestOf(file) }
  const own = history.records.filter(({ migrated }) => migrated?.digest === source.digest)
  const stored = new Set(
    own.flatMap(({ lists, others, rewritten = [], knownAt }) => [
      ...Object.keys(lists),
      ...[...Object.keys(others), ...rewritten.slice(0, 1).map(() => 'rewritten')].map((other) => `.${other} ${knownAt}`),
    ]),
  )
  const isStored = ({ table, other, knownAt }: FormerPart): boolean =>
    stored.has(table ? table.table.name : `${other?.name} ${new Date(knownAt).toISOString()}`)
  const work = await disk.mkdtemp(toHistoryPath(root, WORK_FOLDER))
  try {
    const { groups, lost } = await restoreFiles(work, entries, former)
    let all = history
    const missing = groups.filter((part) => !isStored(part))
    for (const [knownAt, group] of [...groupBy(missing, (one) => one.knownAt)].sort())
      all = await storeGroup(all, { former, work, at: new Date(knownAt).toISOString(), group, source })
    if (lost.length === 0) await disk.rm(toHistoryPath(root, name))
    else former.warn(`${nameHistoryFile(name)}: ${lost.join(', ')} could not be moved to the present format; the file stays`)
  } finally {
    await disk.rm(work, { recursive: true, force: true })
  }
}

/** What is known from the same instant on: a table, or rows of another file. */
interface FormerPart {
  readonly knownAt: string
  readonly table?: RecordedTable
  readonly other?: FormerEntry
}

/** Writes the files of a day to a folder, as they were; `lost` are those that are damaged or of no table. */
const restoreFiles = async (work: string, entries: readonly FormerEntry[], { tables, read, day, warn }: FormerDay) => {
  const restored = new Map<string, FormerEntry>()
  const lost = new Set(entries.filter(({ name, bytes }) => name.startsWith('.') && bytes === undefined).map(({ name }) => name))
  for (const entry of entries.filter(({ name }) => !name.startsWith('.')))
    try {
      await disk.mkdir(dirname(join(work, entry.name)), { recursive: true })
      await disk.writeFile(join(work, entry.name), read(entry))
      restored.set(entry.name, entry)
    } catch (error) {
      warn(`${day}: ${entry.name}: ${(error as Error).message}`)
      lost.add(entry.name)
    }
  const groups: FormerPart[] = entries
    .filter(({ name, bytes }) => name.startsWith('.') && bytes)
    .map((other) => ({ knownAt: other.knownAt, other }))
  for (const table of tables) {
    // Without one of its files a list would seem to have lost rows.
    if (table.table.files.some(({ path }) => lost.has(path))) continue
    const own = table.table.files.flatMap(({ path }) => restored.get(path) ?? [])
    const knownAt = own
      .map((entry) => entry.knownAt)
      .sort()
      .at(-1)
    if (knownAt !== undefined) groups.push({ knownAt, table })
  }
  const known = new Set(tables.flatMap(({ table }) => table.files.map(({ path }) => path)))
  return { groups, lost: [...lost, ...[...restored.keys()].filter((name) => !known.has(name))] }
}

interface Group {
  readonly former: FormerDay
  readonly work: string
  readonly at: string
  readonly group: readonly FormerPart[]
  readonly source: { readonly name: string; readonly digest: string }
}

const storeGroup = async (history: History, { former, work, at, group, source }: Group): Promise<History> => {
  const { day, sessions, holidays, warn } = former
  const place = findFormerPlace(day, Date.parse(at), { days: sessions, holidays })
  const tables = group.flatMap(({ table }) => table ?? [])
  const read: ReadTable = async (table) => {
    const rows = await readTable(work, table)
    return rows && describeRows(table, rows)
  }
  const encoded = await encodeLists(history, { tables, day: place.day, knownAt: at, warn, isProven: true, read })
  const contentOf = (name: string): object => {
    const entry = group.find(({ other }) => other?.name === name)?.other
    return entry ? readContent(entry) : {}
  }
  const seen = Object.entries(contentOf('.first-seen')).flatMap(([file, keys]) =>
    [keys].flat().map((key) => ({ file, key: String(key), day })),
  )
  const rewritten = toRewrittenRows(day, at, contentOf('.rewritten'))
  return writeRecord(history, {
    ...encoded,
    seen: encodeSeenRows(seen),
    facts: { ...place, knownAt: at, run: MIGRATED, rewritten, migrated: source },
  })
}
