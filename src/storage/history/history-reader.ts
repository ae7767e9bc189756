import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DamagedFileError } from '../../model/errors.js'
import { getErrorCode } from '../file-system.js'
import { type Base, listBases, listChain, toBasePath } from './bases.js'
import { decompress, joinLines, readLines } from './compression.js'
import type { Entry } from './day-file.js'
import { decodeChanges, joinBlocks } from './row-codec.js'
import { type RowChanges, type Rows, readTexts, storeRows } from './rows.js'

/** Reads recorded files. The base of the last one stays open: the next one probably needs it, too, or one that differs from it. */
export interface HistoryReader {
  /** The rows of a base. They can be used until the next call. @throws DamagedFileError */
  readonly open: (base: string) => Promise<Rows>
  /** The bytes of a recorded file. @throws DamagedFileError */
  readonly read: (entry: Entry) => AsyncIterable<Buffer>
  /** A path for a new temporary file. */
  readonly createPath: () => Promise<string>
  /** Deletes the temporary files. */
  readonly close: () => Promise<void>
}

/** What the names of folders with temporary files begin with. */
export const WORK_FOLDER = 'work-'

/** @param folder where temporary files are written; created if it is missing */
export const createHistoryReader = (root: string, folder: string): HistoryReader => {
  let work: Promise<string> | undefined
  let files = 0

  const createPath = async (): Promise<string> => {
    work ??= mkdir(folder, { recursive: true }).then(() => mkdtemp(join(folder, WORK_FOLDER)))
    return join(await work, String(files++))
  }
  const { open, close } = createBaseReader<Rows>(root, {
    begin: async (bytes) => storeRows(await createPath(), bytes),
    change: (rows, changes) => rows.change(changes),
    close: (rows) => rows.close(),
  })
  return {
    open,
    read: async function* ({ base, bytes }) {
      if (base === undefined) yield* decompress([bytes])
      else yield* joinLines(readRows(bytes, await open(base)))
    },
    createPath,
    close: async () => {
      close()
      if (work) await rm(await work, { recursive: true, force: true })
    },
  }
}

/** What a base is read into: the first one of a chain from its content, each other one from its changes. */
export interface BaseSteps<T> {
  readonly begin: (bytes: AsyncIterable<Buffer>) => Promise<T>
  readonly change: (state: T, changes: RowChanges) => T
  readonly close: (state: T) => void
}

/** Reads bases. The last one stays open. `open` throws DamagedFileError. */
export const createBaseReader = <T>(root: string, steps: BaseSteps<T>) => {
  let last: { readonly name: string; readonly state: T } | undefined
  const close = (): void => {
    if (last) steps.close(last.state)
    last = undefined
  }
  const open = async (name: string): Promise<T> => {
    const chain = listChain(await listBases(root), name)
    const [first] = chain
    if (first === undefined) throw createBaseError(toBasePath(root, name), 'is missing')
    if (first.parent !== undefined) throw createBaseError(toBasePath(root, `*${first.parent}`), 'is missing')
    const known = chain.findIndex((base) => base.name === last?.name)
    if (known < 0) close()
    for (const base of chain.slice(known + 1)) {
      const bytes = readBase(toBasePath(root, base.name), base)
      const state = last ? steps.change(last.state, await joinBlocks(decodeChanges(readLines(bytes)))) : await steps.begin(bytes)
      last = { name: base.name, state }
    }
    return (last as NonNullable<typeof last>).state
  }
  return { open, close }
}

/** The content of a base, which is to be used only if there is no error until the end. */
async function* readBase(path: string, { digest }: Base): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  const compressed = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      yield chunk
    }
  }
  try {
    yield* decompress(compressed())
  } catch (error) {
    const code = getErrorCode(error) ?? ''
    if (!/^(ERR_|Z_|ENOENT)/.test(code)) throw error
    throw createBaseError(path, code === 'ENOENT' ? 'is missing' : 'is damaged')
  }
  if (!hash.digest('hex').startsWith(digest)) throw createBaseError(path, 'is damaged')
}

const createBaseError = (path: string, what: string): DamagedFileError =>
  new DamagedFileError(`${path} ${what}: lists of some days cannot be read without it; restore it from a backup, or delete these days`)

const ROWS_PER_BATCH = 200

/** The rows of a file that differs from a base, or is as it, in batches. */
async function* readRows(difference: Buffer, base: Rows): AsyncGenerator<readonly string[]> {
  if (difference.length === 0)
    for (let from = 0; from < base.count; from += ROWS_PER_BATCH) yield readTexts(base, from, from + ROWS_PER_BATCH)
  else for await (const changes of decodeChanges(readLines(decompress([difference])))) yield readTexts(base.change(changes))
}
