import { join, posix } from 'node:path'
import { crc32 } from 'node:zlib'
import { groupBy } from '../model/map.js'
import { disk } from './disk.js'
import {
  type ContentWatcher,
  type FileStamp,
  hasStamp,
  listNames,
  readStamp,
  readTextFile,
  statFile,
  withFileSync,
  writeFileAtomically,
  writeWhole,
  yieldTurn,
} from './file-system.js'
import { statePaths } from './run-state.js'

/**
 * Creates a test whether a file is one of some outputs: paths in which `*` is any name that does not begin
 * with a dot.
 */
export const createOutputMatcher = (outputs: readonly string[]): ((file: string) => boolean) => {
  const byFolder = groupBy(outputs, (output) => posix.dirname(output))
  return (file) =>
    byFolder.get(posix.dirname(file))?.some((output) => {
      const [before = '', after] = output.split('*')
      if (after === undefined) return file === output
      return !posix.basename(file).startsWith('.') && file.startsWith(before) && file.endsWith(after)
    }) ?? false
}

/**
 * Lists the files of an output, relative to `root`. An output without `*` is returned as it is, even if there
 * is no such file.
 */
export const listOutputFiles = async (root: string, output: string): Promise<readonly string[]> => {
  if (!output.includes('*')) return [output]
  const folder = posix.dirname(output)
  const names = await listNames(join(root, folder))
  return names.map((name) => posix.join(folder, name)).filter(createOutputMatcher([output]))
}

const ELEMENTS_PER_TURN = 500

/** Calls `visit` for each element and yields to the event loop every few milliseconds. */
export const forEachYielding = async <T>(
  elements: readonly T[],
  visit: (element: T) => void,
): Promise<void> => {
  for (let from = 0; from < elements.length; from += ELEMENTS_PER_TURN) {
    elements.slice(from, from + ELEMENTS_PER_TURN).forEach(visit)
    await yieldTurn()
  }
}

/** The content of an output as a run wrote it. */
export interface OutputDigest {
  /**
   * Its CRC-32, as eight hexadecimal digits: it shows every damage within 32 bits in a row, and any other
   * change but one in 4 billion. It is no protection against forgery. `DAMAGED` if a run continued a damaged
   * file.
   */
  readonly digest: string
  readonly stamp: FileStamp
}

export const DAMAGED = 'damaged'

const formatDigest = (sum: number): string => sum.toString(16).padStart(8, '0')

/** The digests of the outputs that a run writes. Outside a run nothing is recorded. */
export interface DigestLog {
  readonly open: () => Promise<void>
  /**
   * Digests the content of an output while it is written. `base`: the stored content that it continues, which
   * may be damaged.
   */
  readonly watch: (file: string, base?: Uint8Array) => ContentWatcher | undefined
  /**
   * Digests an output that the run accepts as it is, if that is not the one of its line: a power cut may have
   * lost the right line.
   */
  readonly renew: (file: string) => void
  /** When an output was last modified that this run has written, epoch milliseconds. */
  readonly timeOf: (file: string) => number | undefined
  readonly close: () => void
}

/**
 * Appends a line for each written output before the rename, so that a kill leaves no output without its
 * digest. The line of the content before stays until the run ends: the one whose size and time are those of
 * the file counts.
 */
export const createDigestLog = (root: string): DigestLog => {
  let fd: number | undefined
  let recorded = new Map<string, OutputDigest>()
  const isDamaged = (file: string, base: Uint8Array) => {
    const wanted = recorded.get(file)
    if (
      wanted === undefined ||
      (base.length === wanted.stamp[0] && formatDigest(crc32(base)) === wanted.digest)
    )
      return false
    return hasStamp(readStamp(join(root, file)), wanted.stamp)
  }
  const add = (file: string, entry: OutputDigest) => {
    recorded.set(file, entry)
    if (fd !== undefined) writeWhole(fd, Buffer.from(formatDigestLine(file, entry)))
  }
  return {
    open: async () => {
      recorded = await readOutputDigests(root)
      fd ??= disk.openSync(statePaths(root).digests, 'a')
      // Ends a line that a kill has cut. After the lines of runs that ended, an empty line.
      disk.writeSync(fd, '\n')
    },
    watch: (file, base) => {
      if (fd === undefined || file.startsWith('.')) return undefined
      const wasDamaged = base !== undefined && isDamaged(file, base)
      let sum = 0
      return {
        add: (chunk) => {
          sum = crc32(chunk, sum)
        },
        end: (stamp) => {
          add(file, { digest: wasDamaged ? DAMAGED : formatDigest(sum), stamp })
        },
      }
    },
    renew: (file) => {
      const path = join(root, file)
      const found = readStamp(path)
      const known = recorded.get(file)
      if (found && !(known && hasStamp(found, known.stamp))) add(file, digestFile(path))
    },
    timeOf: (file) => recorded.get(file)?.stamp[1],
    close: () => {
      if (fd !== undefined) disk.closeSync(fd)
      fd = undefined
      recorded = new Map()
    },
  }
}

const formatDigestLine = (file: string, { digest, stamp }: OutputDigest): string =>
  `${digest} ${stamp.join(' ')} ${file}\n`

const LINE = /^([\da-f]{8}|damaged) (\d+) (\S+) (.+)$/

/**
 * The digests of the outputs, by path relative to the folder. `hasUnwritten`: with
 * missing files that are new since a run began, of which a kill or a failure may have prevented the rename.
 */
export const readOutputDigests = async (
  root: string,
  { hasUnwritten = true }: { readonly hasUnwritten?: boolean } = {},
): Promise<Map<string, OutputDigest>> => {
  const text = (await readTextFile(statePaths(root).digests)) ?? ''
  const digests = new Map<string, OutputDigest>()
  let hasRunEnded = true
  await forEachYielding(text.slice(0, text.lastIndexOf('\n') + 1).split('\n'), (line) => {
    if (line === '') hasRunEnded = false
    const [, digest, bytes, modifiedAt, file] = LINE.exec(line) ?? []
    if (digest === undefined || file === undefined) return
    const entry = { digest, stamp: [Number(bytes), Number(modifiedAt)] as const }
    const earlier = digests.get(file)
    const found = earlier || !(hasRunEnded || hasUnwritten) ? readStamp(join(root, file)) : undefined
    if (earlier === undefined && found === undefined && !(hasRunEnded || hasUnwritten)) return
    if (earlier === undefined || !hasStamp(found, earlier.stamp) || hasStamp(found, entry.stamp))
      digests.set(file, entry)
  })
  return digests
}

/**
 * Call at the end of a run, after the log is closed: leaves one line for each output. One that does not exist
 * any more stays, so that `verify` names it; those of `forgotten` do not.
 */
export const compactOutputDigests = async (
  root: string,
  forgotten: readonly string[] = [],
): Promise<void> => {
  const isForgotten = createOutputMatcher(forgotten)
  const digests = [...(await readOutputDigests(root, { hasUnwritten: false }))].filter(
    ([file]) => !isForgotten(file) || statFile(join(root, file)) !== undefined,
  )
  await writeFileAtomically(
    statePaths(root).digests,
    digests.map(([file, entry]) => formatDigestLine(file, entry)),
  )
}

const READ_BYTES = 1 << 20

/** Reads a file and digests its content. A file that is replaced meanwhile is read as it was. */
export const digestFile = (path: string): OutputDigest =>
  withFileSync(path, (fd) => {
    const { size, mtimeMs } = disk.fstatSync(fd)
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size + 1))
    let sum = 0
    for (let bytes = disk.readSync(fd, buffer); bytes > 0; bytes = disk.readSync(fd, buffer))
      sum = crc32(buffer.subarray(0, bytes), sum)
    return { digest: formatDigest(sum), stamp: [size, mtimeMs] }
  })
