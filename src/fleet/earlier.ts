import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileCalls } from '../../sinks/file-calls.js'
import { codeOf } from '../../sinks/file-error.js'
import { fileOf } from '../pipeline/output.js'
import type { Planned } from '../pipeline/plan.js'

const FOLDER = 'earlier'
const REPORT = '.scripstream/report.json'
const AT_ONCE = 32

/** The folder in which workers read the outputs of earlier runs. */
export const earlierIn = (runFolder: string): string => join(runFolder, FOLDER)

/** The outputs that the items of a run may read: all outputs of active streams, and single-file outputs of the others. */
export const readable = (plan: readonly Planned[], exchange: string): readonly string[] =>
  plan.flatMap(({ stream, state }) =>
    stream.outputs
      .map((output) => fileOf(output, exchange, { fileName: '*' }))
      .filter((file) => state === 'waiting' || !file.includes('*')),
  )

/**
 * Shares stored outputs with workers: as hard links if the shared folder is on the same disk, else as copies. Outputs are always replaced
 * atomically, so a linked file never changes. `*` matches any name.
 */
export const share = async (out: string, files: readonly string[], runFolder: string): Promise<void> => {
  const names = await Promise.all([REPORT, ...files].map((file) => namesOf(out, file)))
  const all = names.flat()
  for (let from = 0; from < all.length; from += AT_ONCE)
    await Promise.all(all.slice(from, from + AT_ONCE).map((file) => shareOne(join(out, file), join(earlierIn(runFolder), file))))
}

const namesOf = async (out: string, file: string): Promise<readonly string[]> => {
  const [head = '', tail] = file.split('*')
  if (tail === undefined) return [file]
  const folder = dirname(`${head}x`)
  const names = await readdir(join(out, folder)).catch(() => [])
  return names.map((name) => `${folder}/${name}`).filter((name) => name.startsWith(head) && name.endsWith(tail))
}

/** Ignores a file that was removed meanwhile. */
const shareOne = async (from: string, to: string): Promise<void> => {
  try {
    await inFolder(to, () =>
      fileCalls.link(from, to).catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') throw error
        return replaced(from, to)
      }),
    )
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

const inFolder = async (file: string, act: () => Promise<void>): Promise<void> => {
  try {
    await act()
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    await mkdir(dirname(file), { recursive: true })
    await act()
  }
}

/** Replaces a file of an earlier driver; copies it if the folders are on different disks. */
const replaced = async (from: string, to: string): Promise<void> => {
  const temporary = join(dirname(to), `.${randomUUID()}.tmp`)
  try {
    await fileCalls.link(from, temporary).catch(() => copied(from, temporary))
    await rename(temporary, to)
  } finally {
    // `rename` does nothing if both names are links to the same file.
    await rm(temporary, { force: true })
  }
}

/** Copies a file with its modification time, which states when its data was fetched. */
const copied = async (from: string, to: string): Promise<void> => {
  await copyFile(from, to)
  const { atime, mtime } = await stat(from)
  await utimes(to, atime, mtime)
}
