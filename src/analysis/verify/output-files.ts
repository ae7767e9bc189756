import { join } from 'node:path'
import type { Item } from '../../model/outcome.js'
import type { RunReport } from '../../model/report.js'
import { omitUndefined } from '../../model/row.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { type Output, toFilePath } from '../../pipeline/output.js'
import { describeFileError, statFile } from '../../storage/file-system.js'
import { readCompleteRun } from '../../storage/full-run.js'
import { findLockHolder } from '../../storage/lock.js'
import { DAMAGED, digestFile, type OutputDigest, readOutputDigests } from '../../storage/output-digests.js'
import { createOutputMatcher, forEachYielding, isSameStamp, listOutputFiles } from '../../storage/output-files.js'
import { type OutputSizes, readOutputSizes } from '../../storage/output-sizes.js'
import { statePaths } from '../../storage/run-state.js'
import type { Finding } from './finding.js'

/** A file of an output. */
export interface OutputFile {
  readonly output: Output
  /** Relative to the output folder. */
  readonly file: string
  readonly bytes: number
  /** Its stock or index; absent if that is not listed, and for files over all items. */
  readonly item?: Item
}

export interface StreamFiles {
  readonly stream: StreamDefinition
  /** Sorted by name. */
  readonly files: readonly OutputFile[]
  /** Whether the stream writes a file per item. */
  readonly isPerItem: boolean
  /** Whether a path is one of the stream's outputs, existing or not. */
  readonly owns: (file: string) => boolean
}

/** The files of a stream in a folder. `items` are its known items. */
export const findOutputs = async (
  root: string,
  stream: StreamDefinition,
  { exchange, items }: { readonly exchange: string; readonly items: readonly Item[] },
): Promise<StreamFiles> => {
  const files: OutputFile[] = []
  const owns: ((file: string) => boolean)[] = []
  let isPerItem = false
  for (const output of stream.outputs) {
    const pattern = toFilePath(output, exchange, { fileName: '*' })
    if (stream.work.of !== undefined && pattern.includes('*')) {
      isPerItem = true
      owns.push(createOutputMatcher([pattern]))
      const itemOf = new Map(items.map((item) => [toFilePath(output, exchange, item), item]))
      for (const file of [...(await listOutputFiles(root, pattern))].sort())
        files.push(...toOutputFile(root, file, output, itemOf.get(file)))
    } else {
      const names = stream.work.of === undefined ? stream.work.parts.map((part) => toFilePath(output, exchange, part)) : [pattern]
      const own = new Set(names)
      owns.push((file) => own.has(file))
      for (const file of own) files.push(...toOutputFile(root, file, output))
    }
  }
  return { stream, files, isPerItem, owns: (file) => owns.some((isOwn) => isOwn(file)) }
}

const toOutputFile = (root: string, file: string, output: Output, item?: Item): readonly OutputFile[] => {
  const found = statFile(join(root, file))
  return found ? [{ output, file, bytes: found.size, ...(item === undefined ? {} : { item }) }] : []
}

/** What the last runs recorded about their files. */
export interface RecordedFiles {
  /** The report of the last run. */
  readonly report?: Pick<RunReport, 'scripts'>
  /** Whether that run was complete, so that it recorded each of its files. */
  readonly isComplete: boolean
  readonly sizes: OutputSizes
}

export const readRecordedFiles = async (root: string, report: RunReport | undefined): Promise<RecordedFiles> => ({
  ...(report === undefined ? {} : { report }),
  isComplete: (await readCompleteRun(root)) !== undefined,
  sizes: await readOutputSizes(root),
})

/**
 * Compares the files of a stream with the recorded sizes. After an interrupted run of the stream, sizes may have changed: then only missing
 * files are reported. If there is no finding and the last run was not complete, the totals of its report decide.
 */
export const checkFileSizes = (found: StreamFiles, { report, isComplete, sizes: left }: RecordedFiles): readonly Finding[] => {
  const script = report?.scripts[found.stream.name]
  const isTouched = script !== undefined && script.outcome !== 'disabled' && script.outcome !== 'skipped'
  const named = compareEach(found, left)
  return named.length > 0 || !isTouched || isComplete ? named : compareTotals(found, script)
}

const compareEach = ({ files, owns }: StreamFiles, left: OutputSizes): readonly Finding[] => {
  const sizes = new Map(files.map(({ file, bytes }) => [file, bytes]))
  return Object.entries(left).flatMap(([file, bytes]): Finding[] => {
    const size = sizes.get(file)
    if (!owns(file) || size === bytes || (size !== undefined && bytes === null)) return []
    if (size !== undefined) return [createFinding(`it has ${size} bytes; the last run wrote ${bytes}`, file)]
    return [
      createFinding(bytes === null ? 'it is missing; an earlier run wrote it' : `it is missing; the last run wrote ${bytes} bytes`, file),
    ]
  })
}

const compareTotals = (
  { stream, files, isPerItem }: StreamFiles,
  { files: count, bytes }: { readonly files: number; readonly bytes: number },
): readonly Finding[] => {
  const size = files.reduce((sum, file) => sum + file.bytes, 0)
  if (files.length < count) return [createFinding(`${stream.name} has ${files.length} files; the last run wrote ${count}`)]
  // The totals exclude files that the run did not need to write, so there may be more.
  const isAll = files.length === count
  const isShort = isAll && !isPerItem ? size !== bytes : size < bytes
  if (!isShort) return []
  const [file] = files.length === 1 ? files : []
  return [
    createFinding(
      `${stream.name} has ${size} bytes in ${files.length} files${isAll ? '' : ' or more'}; the last run wrote ${bytes}`,
      file?.file,
    ),
  ]
}

const createFinding = (detail: string, file?: string): Finding => omitUndefined({ check: 'files', severity: 'error', file, detail })

const WAY_OUT = 'restore it, or delete it and fetch it again'

/** Reads every output and compares it with the digest of what a run wrote. Recorded outputs that do not exist are added to `noted`. */
export const checkDigests = async (
  root: string,
  all: readonly StreamFiles[],
  noted: RecordedFiles,
): Promise<{ readonly findings: readonly Finding[]; readonly noted: RecordedFiles }> => {
  const digests = await readOutputDigests(root)
  const holder = findLockHolder(statePaths(root).lock)
  const isRunning = holder !== undefined && holder !== 'stale'
  const files = all.flatMap((stream) => stream.files.map(({ file }) => file))
  const findings: Finding[] = []
  await forEachYielding(files, (file) => {
    const found = compareContent(join(root, file), digests.get(file), isRunning)
    if (found !== undefined) findings.push({ check: 'files', file, ...found })
  })
  const unknown = Object.fromEntries(Array.from(digests.keys(), (file) => [file, null]))
  return { findings, noted: { ...noted, sizes: { ...unknown, ...noted.sizes } } }
}

const compareContent = (
  path: string,
  wanted: OutputDigest | undefined,
  isRunning: boolean,
): Pick<Finding, 'severity' | 'detail'> | undefined => {
  if (wanted === undefined)
    return { severity: 'info', detail: 'it has no digest: an earlier version wrote it; the next run that writes it adds one' }
  try {
    const { digest, stamp } = digestFile(path)
    if (digest === wanted.digest) return undefined
    if (wanted.digest === DAMAGED) return { severity: 'error', detail: `it was damaged before a run added to it; ${WAY_OUT}` }
    if (isSameStamp(wanted.stamp, stamp))
      return { severity: 'error', detail: `it is damaged: its content changed, but not its size and time; ${WAY_OUT}` }
    // An active run replaces files that had another digest when the list was read.
    return isRunning ? undefined : { severity: 'error', detail: `it was changed after a run wrote it; ${WAY_OUT}` }
  } catch (error) {
    return { severity: 'error', detail: `it cannot be read: ${describeFileError(error, 'read')}; ${WAY_OUT}` }
  }
}
