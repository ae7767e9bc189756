import { join, relative } from 'node:path'
import { repairJson } from '../model/text.js'
import { disk } from './disk.js'
import { withFileSync, writeFileAtomically, yieldTurn } from './file-system.js'
import { statePaths } from './run-state.js'

const CHUNK_BYTES = 1 << 20
/** An escape has six bytes, so five of one chunk may belong to an escape that ends in the next. */
const OVERLAP = 5
const ESCAPE = Buffer.from('\\u')

/**
 * Whether a file has escapes of UTF-16, which JSON that we write has for broken texts and control characters
 * only. Reads 1 GB a second.
 */
const hasEscapes = (path: string, bytes: Buffer): boolean =>
  withFileSync(path, (fd) => {
    for (let kept = 0; ; ) {
      const read = disk.readSync(fd, bytes, kept, bytes.length - kept, null)
      if (read === 0) return false
      const end = kept + read
      if (bytes.subarray(0, end).includes(ESCAPE)) return true
      kept = Math.min(OVERLAP, end)
      bytes.copy(bytes, 0, end - kept, end)
    }
  })

/**
 * The repaired text of a JSON file that an earlier version stored with broken texts; `undefined` for any
 * other file.
 */
export const readRepaired = (path: string, bytes = Buffer.allocUnsafe(CHUNK_BYTES)): string | undefined => {
  if (!hasEscapes(path, bytes)) return undefined
  const text = disk.readFileSync(path, 'utf8')
  const repaired = repairJson(text)
  return repaired === text ? undefined : repaired
}

/** The folder of the repaired copies in the cache; each has the path of its file. */
const COPIES = 'repaired'

/**
 * The SQL of the path in the output folder, with `/`, of a `filename` that may be that of a repaired copy.
 */
export const buildOwnPath = (root: string): string =>
  `regexp_replace(replace(substr(filename, ${root.length + 2}), '\\', '/'), '^[.]scripstream/cache/${COPIES}/', '')`

const FILES_PER_TURN = 20

/**
 * Replaces the paths of JSON files with broken texts by those of repaired copies with the same name, because
 * DuckDB cannot read such a file at all. A file that cannot be read or copied stays as it is, for the query
 * to report.
 */
export const createFileRepair = (root: string) => {
  const known = new Map<string, string>()
  const bytes = Buffer.allocUnsafe(CHUNK_BYTES)
  const repair = async (path: string) => {
    try {
      const text = readRepaired(path, bytes)
      if (text === undefined) return path
      const copy = join(statePaths(root).cache, COPIES, relative(root, path))
      await writeFileAtomically(copy, [text])
      return copy
    } catch {
      return path
    }
  }
  return async (paths: readonly string[]): Promise<readonly string[]> => {
    for (const [index, path] of paths.entries()) {
      if (known.has(path)) continue
      known.set(path, await repair(path))
      if (index % FILES_PER_TURN === 0) await yieldTurn()
    }
    return paths.map((path) => known.get(path) ?? path)
  }
}
