import { basename, dirname, join } from 'node:path'
import { DAYS, MASTER, type Output, type StreamDefinition, toFilePath } from '../engine/define-stream.js'
import { MASTER_MAP } from '../market/listings.js'
import { formatNumber, formatQuantity } from '../model/format.js'
import type { Item } from '../model/outcome.js'
import { isRow } from '../model/row.js'
import {
  describeFileError,
  hasStamp,
  isTemporaryName,
  listNames,
  readStateDocument,
  statFile,
} from '../storage/file-system.js'
import { findLockHolder } from '../storage/lock.js'
import {
  createOutputMatcher,
  DAMAGED,
  digestFile,
  forEachYielding,
  listOutputFiles,
  type OutputDigest,
  readOutputDigests,
} from '../storage/output-files.js'
import { readRepaired } from '../storage/repaired-files.js'
import { statePaths } from '../storage/run-state.js'
import { checkNames, type Finding, type MissingInput } from './finding.js'

export interface OutputFile {
  readonly output: Output
  readonly file: string
  readonly bytes: number
  /** Its stock or index; absent if that is not listed, and for files over all items. */
  readonly item?: Item
}

export interface StreamFiles {
  readonly stream: StreamDefinition
  readonly files: readonly OutputFile[]
  /** Whether a path is one of the stream's outputs, existing or not. */
  readonly owns: (file: string) => boolean
}

export const findStreamFiles = async (
  root: string,
  streams: readonly StreamDefinition[],
  { exchange, items }: { readonly exchange: string; readonly items: readonly Item[] },
): Promise<readonly StreamFiles[]> => {
  const offered = new Map<string, readonly Item[]>([
    [MASTER, items],
    [DAYS, []],
  ])
  const all: StreamFiles[] = []
  for (const stream of streams) {
    const { of } = stream.work
    if (of !== undefined && !offered.has(of)) offered.set(of, await readItems(root, of, streams))
    all.push(await findOutputs(root, stream, { exchange, items: offered.get(of ?? '') ?? [] }))
  }
  return all
}

/** The items that a stream offers to its followers, from its stored list. */
const readItems = async (
  root: string,
  name: string,
  streams: readonly StreamDefinition[],
): Promise<readonly Item[]> => {
  const stream = streams.find((one) => one.name === name)
  const rows = await readStateDocument(join(root, stream?.outputs[0].file ?? ''))
  return Array.isArray(rows) ? (stream?.offers?.(rows.filter(isRow), () => undefined) ?? []) : []
}

const findOutputs = async (
  root: string,
  stream: StreamDefinition,
  { exchange, items }: { readonly exchange: string; readonly items: readonly Item[] },
): Promise<StreamFiles> => {
  const files: OutputFile[] = []
  const patterns: string[] = []
  const { work } = stream
  for (const output of stream.outputs) {
    const parts = work.of === undefined ? work.parts : [{ fileName: '*' }]
    for (const pattern of new Set(parts.map((part) => toFilePath(output, exchange, part)))) {
      patterns.push(pattern)
      const itemOf = new Map(
        pattern.includes('*') ? items.map((item) => [toFilePath(output, exchange, item), item]) : [],
      )
      await forEachYielding([...(await listOutputFiles(root, pattern))].sort(), (file) => {
        const [found, item] = [statFile(join(root, file)), itemOf.get(file)]
        if (found) files.push({ output, file, bytes: found.size, ...(item === undefined ? {} : { item }) })
      })
    }
  }
  return { stream, files, owns: createOutputMatcher(patterns) }
}

type RecordedFiles = Awaited<ReturnType<typeof readRecordedFiles>>

/** What the runs recorded about their files: the content of each output that was written last, by path. */
export const readRecordedFiles = async (root: string) => {
  const holder = findLockHolder(statePaths(root).lock)
  return { isRunning: holder !== undefined && holder !== 'stale', digests: await readOutputDigests(root) }
}

/**
 * Compares the files of a stream with the recorded sizes. While a run replaces files, only missing ones are
 * reported.
 */
const checkFileSizes = (
  { files, owns }: StreamFiles,
  { digests, isRunning }: RecordedFiles,
  left: readonly string[],
): readonly Finding[] => {
  const sizes = new Map(files.map(({ file, bytes }) => [file, bytes]))
  return [...digests].flatMap(([file, { stamp }]): Finding[] => {
    const [size, [bytes]] = [sizes.get(file), stamp]
    if (!owns(file) || size === bytes) return []
    // A kill came between the record and the rename.
    if (size === undefined && left.some((path) => path.startsWith(nameTemporary(file)))) return []
    if (size === undefined)
      return [createFinding(`it is missing; the last run wrote ${formatQuantity(bytes, 'byte')}`, file)]
    return isRunning
      ? []
      : [
          createFinding(
            `it has ${formatQuantity(size, 'byte')}; the last run wrote ${formatNumber(bytes)}`,
            file,
          ),
        ]
  })
}

const nameTemporary = (file: string): string => join(dirname(file), `.${basename(file).slice(0, 50)}.`)

const createFinding = (detail: string, file: string): Finding => ({
  check: 'files',
  severity: 'error',
  file,
  detail,
})

export const LIST_DAMAGED = createFinding('the master list is damaged', MASTER_MAP)

const WAY_OUT = 'restore it, or delete it and fetch it again'

/** Reads every output and compares it with the digest of what a run wrote. */
export const checkDigests = async (
  root: string,
  all: readonly StreamFiles[],
  { digests, isRunning }: RecordedFiles,
): Promise<readonly Finding[]> => {
  const findings: Finding[] = []
  await forEachYielding(
    all.flatMap((stream) => stream.files.map(({ file }) => file)),
    (file) => {
      const found = compareContent(join(root, file), digests.get(file), isRunning)
      if (found !== undefined) findings.push({ check: 'files', file, ...found })
    },
  )
  return findings
}

const compareContent = (
  path: string,
  wanted: OutputDigest | undefined,
  isRunning: boolean,
): Pick<Finding, 'severity' | 'detail'> | undefined => {
  if (wanted === undefined)
    return { severity: 'info', detail: 'it has no digest; the next run that writes it adds one' }
  try {
    const { digest, stamp } = digestFile(path)
    if (digest === wanted.digest && stamp[0] === wanted.stamp[0]) return undefined
    if (wanted.digest === DAMAGED)
      return { severity: 'error', detail: `it was damaged before a run added to it; ${WAY_OUT}` }
    if (hasStamp(stamp, wanted.stamp))
      return {
        severity: 'error',
        detail: `it is damaged: its content changed, but not its size and time; ${WAY_OUT}`,
      }
    // An active run replaces files that had another digest when the list was read.
    return isRunning
      ? undefined
      : { severity: 'error', detail: `it was changed after a run wrote it; ${WAY_OUT}` }
  } catch (error) {
    return { severity: 'error', detail: `it cannot be read: ${describeFileError(error, 'read')}; ${WAY_OUT}` }
  }
}

/** The temporary files of interrupted writes. The next run removes them. */
const listInterrupted = async (root: string, all: readonly StreamFiles[]): Promise<readonly string[]> => {
  const folders = new Set(all.flatMap(({ stream }) => stream.outputs.map(({ file }) => dirname(file))))
  const names = [...folders].map(async (folder) =>
    (await listNames(join(root, folder))).filter(isTemporaryName).map((name) => join(folder, name)),
  )
  return (await Promise.all(names)).flat().sort()
}

const LEFTOVER = 'a leftover of an interrupted write; the next run removes it'

/**
 * Finds files of items that are no longer listed. None if no file matches the list: then the list itself is
 * wrong.
 */
const findLeftovers = (all: readonly StreamFiles[]): readonly Finding[] =>
  all
    .filter(({ files }) => files.some(({ item }) => item !== undefined))
    .flatMap(({ stream, files }): readonly Finding[] => {
      const detail = `its ${stream.work.of === MASTER ? 'stock' : 'index'} is no longer in the list of ${stream.name}`
      return files.flatMap(({ item, file }) =>
        item === undefined ? { check: 'leftovers', severity: 'info', file, detail } : [],
      )
    })

/** Merges the `files` findings of each file: a truncated file is also shorter than recorded. */
export const mergePerFile = (findings: readonly Finding[]): readonly Finding[] => {
  const first = new Map<string, Finding>()
  for (const finding of findings) {
    if (finding.check !== 'files' || finding.file === undefined) continue
    const known = first.get(finding.file)
    first.set(
      finding.file,
      known === undefined ? finding : { ...finding, ...known, detail: `${known.detail}; ${finding.detail}` },
    )
  }
  return [...findings.filter(({ check, file }) => check !== 'files' || file === undefined), ...first.values()]
}

interface FilesContext {
  readonly root: string
  readonly files: readonly StreamFiles[]
  readonly written: RecordedFiles
}

/**
 * Files that are missing or have another size than the last run wrote, leftovers of interrupted writes, and
 * files of what is no longer listed.
 */
export const checkFiles = async ({ root, files, written }: FilesContext): Promise<readonly Finding[]> => {
  const left = written.isRunning ? [] : await listInterrupted(root, files)
  return [
    ...files.flatMap((stream) => checkFileSizes(stream, written, left)),
    ...left.map((file): Finding => ({ check: 'files', severity: 'warning', file, detail: LEFTOVER })),
    ...findLeftovers(files),
  ]
}

export const listMissingFiles = ({ root, files, written }: FilesContext): readonly MissingInput[] => {
  const empty = files
    .filter(({ stream, files: own }) => own.length === 0 && !stream.optional)
    .map(({ stream }) => stream.name)
  const isUnfinished = statFile(statePaths(root).run.record) !== undefined
  return [
    [['files'], written.digests.size === 0 && 'file sizes: no run has recorded them; the next one does'],
    [
      ['stray-records', 'files'],
      empty.length > 0 && `streams without files: ${empty.join(', ')}; fetch them`,
    ],
    [
      checkNames,
      isUnfinished &&
        'one day: a run is active, was interrupted or is incomplete, so files may be of different days; wait, or run again',
    ],
  ]
}

const BROKEN_TEXTS =
  'a text in it has half of a surrogate pair, or NUL; it is read with U+FFFD instead, and stored so when it is fetched again'

/** A file of an earlier version with texts that DuckDB refuses. */
export const findBrokenTexts = (root: string, output: OutputFile): readonly Finding[] =>
  output.output.shape === 'text' || readRepaired(join(root, output.file)) === undefined
    ? []
    : [
        {
          check: 'files',
          severity: 'warning',
          ...(output.item && { symbol: output.item.key }),
          file: output.file,
          detail: BROKEN_TEXTS,
        },
      ]
