import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Day } from '../../model/trading-day.js'
import { writeFileAtomically } from '../atomic-file.js'
import { listNames, statFile } from '../file-system.js'
import { deleteTemporaryFiles } from '../folder-names.js'
import { acquireLock } from '../lock.js'
import { statePaths } from '../run-state.js'
import { type DayRecord, type Entry, formatDay, pack, readDay, unpack } from './day-file.js'
import { decodeRows, type EncodedRows } from './table-codec.js'

/**
 * The history of an output folder: a file for each day, and bases from which the lists of the days differ. A base is named by its output,
 * its month and its content, and is never changed. A day depends on no other day.
 */
const DAY_FILE = /^(\d{4}-\d{2}-\d{2})\.day$/
const BASE_FILE = /\.base$/

export const toDayPath = (root: string, day: Day): string => join(statePaths(root).history, `${day}.day`)
const toBasePath = (root: string, base: string): string => join(statePaths(root).history, 'bases', `${base}.base`)

/** The recorded days, oldest first. */
export const listDays = async (root: string): Promise<readonly Day[]> =>
  (await listNames(statePaths(root).history)).flatMap((name) => DAY_FILE.exec(name)?.[1] ?? []).sort()

export const readRecordedDay = (root: string, day: Day): Promise<DayRecord | undefined> => readDay(toDayPath(root, day))

/** Deletes the temporary files of a killed run. Call with the folder locked. */
export const deleteInterruptedWrites = async (root: string): Promise<void> => {
  const { history } = statePaths(root)
  for (const folder of [history, join(history, 'bases')]) await deleteTemporaryFiles(folder)
}

/** Replaces the record of a day. */
export const writeDay = async (root: string, record: DayRecord): Promise<void> => {
  await writeFileAtomically(toDayPath(root, record.day), formatDay(record))
}

/** A base, with the number of characters of its JSON. */
export interface Base {
  readonly name: string
  readonly rows: readonly unknown[]
  readonly length: number
}

const toBasePrefix = (file: string, month: string): string => `${file.replaceAll('/', '~')} ${month}`

/** The newest base of a file for a month; `undefined` if there is none, or if it is damaged. */
export const findBase = async (root: string, file: string, day: Day): Promise<Base | undefined> => {
  const prefix = toBasePrefix(file, day.slice(0, 7))
  const names = (await listBases(root)).filter((name) => name.startsWith(prefix)).sort()
  const name = names.findLast((one) => one.slice(0, prefix.length + 3) <= `${prefix}${day.slice(7)}`) ?? names[0]
  return name === undefined ? undefined : readBase(root, name).catch(() => undefined)
}

export const readBase = async (root: string, name: string): Promise<Base> => {
  const path = toBasePath(root, name)
  const encoded = (await unpack(await readFile(path), path)) as EncodedRows
  return { name, rows: decodeRows(encoded), length: JSON.stringify(encoded).length }
}

/** Stores the encoded rows of a file as a base; resolves to its name. */
export const writeBase = async (
  root: string,
  { file, day }: { readonly file: string; readonly day: Day },
  encoded: string,
): Promise<string> => {
  const digest = createHash('sha256').update(encoded).digest('hex').slice(0, 16)
  const name = `${toBasePrefix(file, day)} ${digest}`
  await writeFileAtomically(toBasePath(root, name), [await pack(encoded)])
  return name
}

/** All bases by name. */
export const listBases = async (root: string): Promise<readonly string[]> =>
  (await listNames(join(statePaths(root).history, 'bases'))).filter((name) => BASE_FILE.test(name)).map((name) => name.slice(0, -5))

export const listBasePaths = async (root: string): Promise<readonly string[]> =>
  (await listBases(root)).map((name) => toBasePath(root, name))

/** The rows of an entry of a day. @throws DamagedFileError */
export const readEntryRows = async (root: string, day: Day, { base, bytes }: Entry): Promise<readonly unknown[]> => {
  const encoded = (await unpack(bytes, toDayPath(root, day))) as EncodedRows
  return decodeRows(encoded, base === undefined ? [] : (await readBase(root, base)).rows)
}

/** A file that is deleted with the history before a day. */
export interface PrunedFile {
  readonly path: string
  readonly bytes: number
}

/**
 * What can be deleted: the days before a day, if one is given, and the bases that no other day needs. Deletes nothing.
 */
const findPrunable = async (root: string, before?: Day): Promise<readonly PrunedFile[]> => {
  const days = await listDays(root)
  const gone = days.filter((day) => before !== undefined && day < before)
  const needed = new Set<string | undefined>()
  for (const day of days.slice(gone.length))
    for (const { base } of Object.values((await readRecordedDay(root, day))?.entries ?? {})) needed.add(base)
  const bases = (await listBases(root)).filter((name) => !needed.has(name))
  // Days go first: a base without days is harmless.
  const paths = [...gone.map((day) => toDayPath(root, day)), ...bases.map((name) => toBasePath(root, name))]
  return paths.map((path) => ({ path, bytes: statFile(path)?.size ?? 0 }))
}

/** Deletes what `findPrunable` finds, with the folder locked: a run may be about to use a base. Resolves to what was deleted. */
export const pruneHistory = async (
  root: string,
  { before, now }: { readonly before?: Day; readonly now: number },
): Promise<readonly PrunedFile[]> => {
  if ((await listDays(root)).length === 0 && (await listBases(root)).length === 0) return []
  const release = await acquireLock(statePaths(root).lock, now)
  try {
    const files = await findPrunable(root, before)
    for (const { path } of files) await rm(path, { force: true })
    return files
  } finally {
    release()
  }
}
