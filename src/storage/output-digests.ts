import { createHash, type Hash } from 'node:crypto'
import { join } from 'node:path'
import { type ContentWatcher, writeFileAtomically } from './atomic-file.js'
import { disk } from './disk.js'
import { readTextFile, statFile, withFileSync } from './file-system.js'
import { type FileStamp, forEachYielding, hasStamp } from './output-files.js'
import { statePaths } from './run-state.js'

/** The content of an output as a run wrote it. */
export interface OutputDigest {
  /** The first 128 bits of its SHA-256; `DAMAGED` if a run continued a damaged file. */
  readonly digest: string
  readonly stamp: FileStamp
}

export const DAMAGED = 'damaged'

const toDigest = (hash: Hash): string => hash.digest('hex').slice(0, 32)

/** The digests of the outputs that a run writes. Outside a run nothing is recorded. */
export interface DigestLog {
  readonly open: () => Promise<void>
  /** Digests the content of an output while it is written. `base`: the stored content that it continues, which may be damaged. */
  readonly watch: (file: string, base?: Uint8Array) => ContentWatcher | undefined
  /** When an output was last modified that this run has written, epoch milliseconds. */
  readonly timeOf: (file: string) => number | undefined
  readonly close: () => void
}

/**
 * Appends a line for each written output before the rename, so that a kill leaves no output without its digest. The line of the content
 * before stays until the run ends: the one whose size and time are those of the file counts.
 */
export const createDigestLog = (root: string): DigestLog => {
  let fd: number | undefined
  let recorded = new Map<string, OutputDigest>()
  const isDamaged = (file: string, base: Uint8Array): boolean => {
    const wanted = recorded.get(file)
    if (wanted === undefined || toDigest(createHash('sha256').update(base)) === wanted.digest) return false
    return hasStamp(join(root, file), wanted.stamp)
  }
  return {
    open: async () => {
      recorded = await readOutputDigests(root)
      fd ??= disk.openSync(statePaths(root).digests, 'a')
      // Ends a line that a kill has cut.
      disk.writeSync(fd, '\n')
    },
    watch: (file, base) => {
      if (fd === undefined || file.startsWith('.')) return undefined
      const hash = createHash('sha256')
      const wasDamaged = base !== undefined && isDamaged(file, base)
      return {
        add: (chunk) => void hash.update(chunk),
        end: (stamp) => {
          const entry = { digest: wasDamaged ? DAMAGED : toDigest(hash), stamp }
          recorded.set(file, entry)
          if (fd !== undefined) disk.writeSync(fd, toLine(file, entry))
        },
      }
    },
    timeOf: (file) => recorded.get(file)?.stamp[1],
    close: () => {
      if (fd !== undefined) disk.closeSync(fd)
      fd = undefined
      recorded = new Map()
    },
  }
}

const toLine = (file: string, { digest, stamp }: OutputDigest): string => `${digest} ${stamp.join(' ')} ${file}\n`

const LINE = /^([\da-f]{32}|damaged) (\d+) (\S+) (.+)$/

/** The digests of the outputs, by path relative to the folder. Those of files that an earlier version wrote are missing. */
export const readOutputDigests = async (root: string): Promise<Map<string, OutputDigest>> => {
  const text = (await readTextFile(statePaths(root).digests)) ?? ''
  const digests = new Map<string, OutputDigest>()
  await forEachYielding(text.slice(0, text.lastIndexOf('\n') + 1).split('\n'), (line) => {
    const [, digest, bytes, modifiedAt, file] = LINE.exec(line) ?? []
    if (digest === undefined || file === undefined) return
    const entry = { digest, stamp: [Number(bytes), Number(modifiedAt)] as const }
    const earlier = digests.get(file)
    if (earlier === undefined || !hasStamp(join(root, file), earlier.stamp) || hasStamp(join(root, file), entry.stamp))
      digests.set(file, entry)
  })
  return digests
}

/** Call at the end of a run, after the log is closed: leaves one line for each output that still exists. */
export const compactOutputDigests = async (root: string): Promise<void> => {
  const digests = [...(await readOutputDigests(root))].filter(([file]) => statFile(join(root, file)) !== undefined)
  await writeFileAtomically(
    statePaths(root).digests,
    digests.map(([file, entry]) => toLine(file, entry)),
  )
}

const READ_BYTES = 1 << 20

/** Reads a file and digests its content. A file that is replaced meanwhile is read as it was. */
export const digestFile = (path: string): OutputDigest =>
  withFileSync(path, (fd) => {
    const { size, mtimeMs } = disk.fstatSync(fd)
    const hash = createHash('sha256')
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size + 1))
    for (let bytes = disk.readSync(fd, buffer); bytes > 0; bytes = disk.readSync(fd, buffer)) hash.update(buffer.subarray(0, bytes))
    return { digest: toDigest(hash), stamp: [size, mtimeMs] }
  })
