import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { DamagedFileError } from '../model/errors.js'
import { isRow, omitUndefined, type Row } from '../model/row.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { disk } from '../storage/disk.js'
import { describeFileError, getErrorCode, readStateDocument, statFile, writeFileAtomically } from '../storage/file-system.js'
import { parseRecords } from '../storage/record-file.js'
import { statePaths } from '../storage/run-state.js'

/** Where the data comes from. */
export interface DataSource {
  /** The output folder. */
  readonly root: string
  readonly exchange: string
  readonly streams: readonly StreamDefinition[]
}

/** An output folder whose content is read when it is asked for, and kept until its files change. */
export interface MarketFolder extends DataSource {
  /** What `load` made of some files or folders, relative to the root; loads again once one of them has changed. */
  readonly remember: <T>(key: string, paths: readonly string[], load: () => Promise<T>) => Promise<T>
}

export const openMarketFolder = (source: DataSource): MarketFolder => {
  const known = new Map<string, { readonly stamp: string; readonly value: Promise<unknown> }>()
  return {
    ...source,
    remember: <T>(key: string, paths: readonly string[], load: () => Promise<T>): Promise<T> => {
      const stamp = paths.map((path) => stampOf(join(source.root, path))).join('\n')
      const entry = known.get(key)
      if (entry?.stamp === stamp) return entry.value as Promise<T>
      const value = load()
      known.set(key, { stamp, value })
      value.catch(() => known.get(key)?.value === value && known.delete(key))
      return value
    },
  }
}

/** Changes when a file is replaced or written again, and a folder when a file in it is. */
const stampOf = (path: string): string => {
  const stamps = createHash('sha256').update(toStamp(path))
  try {
    for (const name of disk.readdirSync(path)) stamps.update(`${name} ${toStamp(join(path, name))}\n`)
  } catch {
    // A file, or nothing.
  }
  return stamps.digest('hex')
}

const toStamp = (path: string): string => {
  const found = statFile(path)
  return found === undefined ? '' : `${found.mtimeMs} ${found.ctimeMs} ${found.size}`
}

/** An answer that is kept in the cache of a folder. */
export interface KeptAnswer {
  readonly name: string
  /** The files and folders with which it changes. */
  readonly paths: readonly string[]
  /** The texts of the program that computes it: that of another version has another answer. */
  readonly program: readonly string[]
}

/** The answer in the cache, if it is that of the present files and of this program; otherwise `read` makes it. */
export const readKept = async <Answer>(
  root: string,
  { name, paths, program }: KeptAnswer,
  read: () => Promise<Answer>,
): Promise<Answer> => {
  const path = join(statePaths(root).cache, `${name}.json`)
  const key = [createHash('sha256').update(program.join('\n')).digest('hex'), ...paths.map((one) => stampOf(join(root, one)))].join('\n')
  // One that cannot be read is made again.
  const known = await readStateDocument(path).catch(() => undefined)
  if (isRow(known) && known.key === key) return known.answer as Answer
  const answer = await read()
  // Without the cache, it is computed each time.
  const kept = disk.mkdir(dirname(path), { recursive: true }).then(() => writeFileAtomically(path, [JSON.stringify({ key, answer })]))
  await kept.catch(() => undefined)
  return answer
}

/** The rows of a list; none if it is missing or damaged. */
export interface StoredList<R = Row> {
  readonly rows: readonly R[]
  readonly isMissing: boolean
  /** Why it cannot be read, as a sentence. */
  readonly damage?: string
}

/** Several lists as one, which is missing if all of them are. */
export const joinLists = <R>(lists: readonly StoredList<R>[]): StoredList<R> =>
  omitUndefined({
    rows: lists.flatMap(({ rows }) => rows),
    isMissing: lists.every(({ isMissing }) => isMissing),
    damage: lists.find(({ damage }) => damage !== undefined)?.damage,
  })

const MISSING: StoredList<never> = { rows: [], isMissing: true }

/** Reads a list of the output folder and keeps what `reduce` makes of its rows. There is one `reduce` for each file. */
export const readList = <R = Row>(
  folder: MarketFolder,
  file: string,
  reduce: (rows: readonly Row[]) => readonly R[],
): Promise<StoredList<R>> =>
  folder.remember(`list ${file}`, [file], () =>
    catchUnreadable(file, async () => ({
      rows: reduce(parseRecords(await disk.readFile(join(folder.root, file), 'utf8'), file)),
      isMissing: false,
    })),
  )

/** Runs `read`; a file that is missing or damaged becomes an empty list that says so. */
export const catchUnreadable = async <R>(file: string, read: () => Promise<StoredList<R>>): Promise<StoredList<R>> => {
  try {
    return await read()
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return MISSING
    if (error instanceof DamagedFileError || error instanceof SyntaxError)
      return { rows: [], isMissing: false, damage: `${file} is damaged; move it away and run again` }
    if (getErrorCode(error) === undefined) throw error
    return { rows: [], isMissing: false, damage: `${file} cannot be read: ${describeFileError(error, 'read')}` }
  }
}
