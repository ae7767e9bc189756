import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'

/** The output files of a run, without `.scripstream`. */
export interface Outputs {
  readonly files: number
  readonly bytes: number
  /** Number of files by folder, `''` for the top. */
  readonly folders: Readonly<Record<string, number>>
  /** SHA-256 over paths and bytes, sorted by path. */
  readonly hash: string
}

export const listPaths = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !path.startsWith('.scripstream'))
    .sort()

export const readOutputs = (folder: string): Outputs => {
  const hash = createHash('sha256')
  const folders: Record<string, number> = {}
  let bytes = 0
  const paths = listPaths(folder)
  for (const path of paths) {
    const content = readFileSync(join(folder, path))
    hash.update(`${path}\0${content.length}\0`).update(content)
    bytes += content.length
    const parent = path.split(sep).slice(0, -1).join('/')
    folders[parent] = (folders[parent] ?? 0) + 1
  }
  return { files: paths.length, bytes, folders, hash: hash.digest('hex') }
}

/** The SHA-256 of each output by its path. */
export const readDigests = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    listPaths(folder).map((path) => [
      path,
      createHash('sha256')
        .update(readFileSync(join(folder, path)))
        .digest('hex'),
    ]),
  )

/** Number of files that are missing, additional or different. */
export const countDifferences = (
  wanted: ReadonlyMap<string, string>,
  seen: ReadonlyMap<string, string>,
): number =>
  [...new Set([...wanted.keys(), ...seen.keys()])].filter((path) => wanted.get(path) !== seen.get(path))
    .length

/** Inode, time and size of each file: they change when a file is rewritten. */
export const readFileMarks = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    listPaths(folder).map((path) => {
      const { ino, mtimeMs, size } = statSync(join(folder, path))
      return [path, `${ino} ${mtimeMs} ${size}`]
    }),
  )

/** Number and bytes of the files written since the marks were taken. */
export const countWritten = (
  before: ReadonlyMap<string, string>,
  folder: string,
): { readonly files: number; readonly bytes: number } => {
  const written = [...readFileMarks(folder)].filter(([path, mark]) => before.get(path) !== mark)
  return {
    files: written.length,
    bytes: written.reduce((sum, [path]) => sum + statSync(join(folder, path)).size, 0),
  }
}
