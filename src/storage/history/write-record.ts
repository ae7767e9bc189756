import { dirname, join } from 'node:path'
import { omitUndefined } from '../../model/row.js'
import { disk } from '../disk.js'
import { listNames, statFile, syncFolders, withFile } from '../file-system.js'
import { deleteTemporaryFiles } from '../lock.js'
import { statePaths } from '../run-state.js'
import { readHead } from './guide.js'
import type { EncodedLists, NewFile } from './lists.js'
import {
  BASES,
  describeFile,
  FACTS_FILE,
  formatWithDigest,
  type History,
  nameRecord,
  openHistory,
  type RecordFacts,
  toHistoryPath,
  toStored,
} from './record.js'

/** A record to be stored. */
interface NewRecord extends EncodedLists {
  readonly facts: Omit<RecordFacts, 'format' | 'number' | 'previous' | 'lists' | 'others'>
  /** The file with the keys of records that were new. */
  readonly seen?: Buffer | undefined
}

/** What the names of folders with temporary files begin with. */
export const WORK_FOLDER = 'work-'

/** Deletes what a killed run has left half-written, or half-deleted. Call with the folder locked. */
export const deleteInterruptedWrites = async (root: string): Promise<void> => {
  const { history } = statePaths(root)
  await deleteTemporaryFiles(history)
  for (const name of await listNames(history))
    if (name.startsWith(WORK_FOLDER)) await disk.rm(join(history, name), { recursive: true, force: true })
  for (const { name } of (await openHistory(root)).deleted)
    for (const file of await listNames(join(history, name))) if (file !== FACTS_FILE) await disk.rm(join(history, name, file))
}

/**
 * Stores a record: its bases first, and then all its files with one rename, so that a kill leaves all of it or nothing. Resolves to the history
 * with it.
 */
export const writeRecord = async (history: History, { facts, lists, files, seen }: NewRecord): Promise<History> => {
  const { root, records, deleted } = history
  const name = nameRecord(facts, [...records, ...deleted])
  const further: readonly NewFile[] = seen ? [[describeFile(`${name}/first-seen.parquet`, seen), seen]] : []
  const others = Object.fromEntries(further.map(([file]) => ['first-seen', file]))
  const { day } = facts
  const whole: RecordFacts = omitUndefined({ format: 2 as const, ...(await findLink(history)), ...facts, lists, others })
  const own = [...files, ...further].map(([file, bytes]) => [file.name, bytes] as const)
  await disk.mkdir(toHistoryPath(root, BASES), { recursive: true })
  const work = await disk.mkdtemp(toHistoryPath(root, WORK_FOLDER))
  try {
    await disk.mkdir(join(work, name), { recursive: true })
    await disk.mkdir(join(work, BASES))
    await writeSynced(join(work, name, FACTS_FILE), Buffer.from(formatWithDigest('record', whole)))
    for (const [path, bytes] of own) await writeSynced(join(work, path), bytes)
    for (const [path] of own) if (path.startsWith(BASES)) await disk.rename(join(work, path), toHistoryPath(root, path))
    await disk.mkdir(toHistoryPath(root, day), { recursive: true })
    await syncFolders([join(work, name), toHistoryPath(root, BASES)])
    await disk.rename(join(work, name), toHistoryPath(root, name))
    const folder = statePaths(root).history
    // Up to the folder in which the first record creates the history: a power cut would take all of it.
    await syncFolders([dirname(toHistoryPath(root, name)), folder, dirname(folder)])
  } finally {
    await disk.rm(work, { recursive: true, force: true })
  }
  return { ...history, records: [...records, toStored(name, whole)] }
}

/** The number of the next record, and the one before it. That one may be missing: then `verify` names it. */
const findLink = async ({ root, records, deleted, damages }: History): Promise<Pick<RecordFacts, 'number' | 'previous'>> => {
  const last = records.at(-1)
  const head = await readHead(root)
  const previous = head && head.number > (last?.number ?? 0) ? head : last
  const newest = Math.max(head?.number ?? 0, (last?.number ?? 0) + damages.length, ...deleted.map((one) => one.number))
  return omitUndefined({ number: newest + 1, previous: previous && { name: previous.name, digest: previous.digest } })
}

const writeSynced = async (path: string, bytes: Buffer): Promise<void> => {
  await withFile(path, 'wx', async (fd) => {
    await disk.writeFile(fd, bytes)
    await disk.fdatasync(fd)
  })
  if (statFile(path)?.size !== bytes.length) throw Object.assign(new Error(`${path} was not written whole`), { code: 'ESHORT' })
}
