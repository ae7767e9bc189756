import { join, posix } from 'node:path'
import { listNames, statFile } from './file-system.js'
import { yieldTurn } from './pause.js'

/** The size of a file in bytes and its modification time, epoch milliseconds. */
export type FileStamp = readonly [bytes: number, modifiedAt: number]

/** Whether a file still has its stamp. An archive such as tar restores its time without the fraction of a second. */
export const isSameStamp = ([bytes, modifiedAt]: FileStamp, [foundBytes, foundAt]: FileStamp): boolean =>
  foundBytes === bytes && (foundAt === modifiedAt || foundAt === Math.floor(modifiedAt / 1_000) * 1_000)

/** Whether a file with this stamp was found. */
export const hasStamp = (found: FileStamp | undefined, stamp: FileStamp): boolean => found !== undefined && isSameStamp(stamp, found)

/** The stamp of a file; undefined if there is none. */
export const readStamp = (path: string): FileStamp | undefined => {
  const found = statFile(path)
  return found && [found.size, found.mtimeMs]
}

/** Creates a test whether a file is one of some outputs: paths in which `*` is any name that does not begin with a dot. */
export const createOutputMatcher = (outputs: readonly string[]): ((file: string) => boolean) => {
  const matchers = outputs.map((output) => {
    const [before = '', after] = output.split('*')
    if (after === undefined) return (file: string): boolean => file === output
    const folder = posix.dirname(output)
    return (file: string): boolean =>
      posix.dirname(file) === folder && !posix.basename(file).startsWith('.') && file.startsWith(before) && file.endsWith(after)
  })
  return (file) => matchers.some((matches) => matches(file))
}

/** Lists the files of an output, relative to `root`. An output without `*` is returned as it is, even if there is no such file. */
export const listOutputFiles = async (root: string, output: string): Promise<readonly string[]> => {
  if (!output.includes('*')) return [output]
  const folder = posix.dirname(output)
  const names = await listNames(join(root, folder))
  return names.map((name) => posix.join(folder, name)).filter(createOutputMatcher([output]))
}

/** The files of some outputs with their sizes and times, by path relative to `root`. */
export const statOutputFiles = async (root: string, outputs: readonly string[]): Promise<Readonly<Record<string, FileStamp>>> => {
  const files: Record<string, FileStamp> = {}
  for (const output of outputs)
    await forEachYielding(await listOutputFiles(root, output), (file) => {
      const found = readStamp(join(root, file))
      if (found) files[file] = found
    })
  return files
}

const ELEMENTS_PER_TURN = 500

/** Calls `visit` for each element and yields to the event loop every few milliseconds. */
export const forEachYielding = async <T>(elements: readonly T[], visit: (element: T) => void): Promise<void> => {
  for (let from = 0; from < elements.length; from += ELEMENTS_PER_TURN) {
    elements.slice(from, from + ELEMENTS_PER_TURN).forEach(visit)
    await yieldTurn()
  }
}
