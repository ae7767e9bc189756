import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { toFilePath } from '../pipeline/output.js'
import type { PlannedStream } from '../pipeline/plan.js'
import { fileCalls } from '../storage/file-calls.js'
import { getErrorCode } from '../storage/file-error.js'

const EARLIER_FOLDER = 'earlier'
const REPORT_FILE = '.scripstream/report.json'
const MAX_PARALLEL_FILES = 32

/** The folder in which workers read the outputs of earlier runs. */
export const toEarlierFolder = (runFolder: string): string => join(runFolder, EARLIER_FOLDER)

/** The outputs that the items of a run may read: all outputs of active streams, and single-file outputs of the others. */
export const listReadableOutputs = (plan: readonly PlannedStream[], exchange: string): readonly string[] =>
  plan.flatMap(({ stream, state }) =>
    stream.outputs
      .map((output) => toFilePath(output, exchange, { fileName: '*' }))
      .filter((file) => state === 'waiting' || !file.includes('*')),
  )

/**
 * Shares stored outputs with workers: as hard links if the shared folder is on the same disk, else as copies. Outputs are always replaced
 * atomically, so a linked file never changes. `*` matches any name.
 */
export const shareFiles = async (out: string, files: readonly string[], runFolder: string): Promise<void> => {
  const names = await Promise.all([REPORT_FILE, ...files].map((file) => expandPattern(out, file)))
  const all = names.flat()
  for (let from = 0; from < all.length; from += MAX_PARALLEL_FILES)
    await Promise.all(
      all.slice(from, from + MAX_PARALLEL_FILES).map((file) => shareFile(join(out, file), join(toEarlierFolder(runFolder), file))),
    )
}

const expandPattern = async (out: string, file: string): Promise<readonly string[]> => {
  const [head = '', tail] = file.split('*')
  if (tail === undefined) return [file]
  const folder = dirname(`${head}x`)
  const names = await readdir(join(out, folder)).catch(() => [])
  return names.map((name) => `${folder}/${name}`).filter((name) => name.startsWith(head) && name.endsWith(tail))
}

/** Ignores a file that was removed meanwhile. */
const shareFile = async (from: string, to: string): Promise<void> => {
  try {
    await createFolderIfMissing(to, () =>
      fileCalls.link(from, to).catch((error: unknown) => {
        if (getErrorCode(error) === 'ENOENT') throw error
        return replaceFile(from, to)
      }),
    )
  } catch (error) {
    if (getErrorCode(error) !== 'ENOENT') throw error
  }
}

const createFolderIfMissing = async (file: string, act: () => Promise<void>): Promise<void> => {
  try {
    await act()
  } catch (error) {
    if (getErrorCode(error) !== 'ENOENT') throw error
    await mkdir(dirname(file), { recursive: true })
    await act()
  }
}

/** Replaces a file of an earlier driver; copies it if the folders are on different disks. */
const replaceFile = async (from: string, to: string): Promise<void> => {
  const temporary = join(dirname(to), `.${randomUUID()}.tmp`)
  try {
    await fileCalls.link(from, temporary).catch(() => copyFileWithTimes(from, temporary))
    await rename(temporary, to)
  } finally {
    // `rename` does nothing if both names are links to the same file.
    await rm(temporary, { force: true })
  }
}

/** Copies a file with its modification time, which states when its data was fetched. */
const copyFileWithTimes = async (from: string, to: string): Promise<void> => {
  await copyFile(from, to)
  const { atime, mtime } = await stat(from)
  await utimes(to, atime, mtime)
}
