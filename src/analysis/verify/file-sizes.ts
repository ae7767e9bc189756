import type { RunReport } from '../../model/report.js'
import type { OutputSizes } from '../../storage/output-sizes.js'
import type { StreamFiles } from './find-outputs.js'
import type { Finding } from './finding.js'

/** What the last runs recorded about their files. */
export interface RecordedFiles {
  /** Of the last run. */
  readonly report?: Pick<RunReport, 'scripts'>
  /** Whether that run was complete, so that it recorded each of its files. */
  readonly isComplete: boolean
  readonly sizes: OutputSizes
}

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

const createFinding = (detail: string, file?: string): Finding => ({
  check: 'files',
  severity: 'error',
  ...(file === undefined ? {} : { file }),
  detail,
})
