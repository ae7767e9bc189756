import type { FilesLeft } from '../../sinks/files-left.js'
import type { RunReport } from '../model/report.js'
import type { Finding } from './finding.js'
import type { StreamFiles } from './outputs-in.js'

/** What runs said of the files that they left. */
export interface Noted {
  /** Of the last run. */
  readonly report?: Pick<RunReport, 'scripts'>
  /** Whether that run was complete, and so has noted each file that it left. */
  readonly isComplete: boolean
  readonly left: FilesLeft
}

/**
 * Compares the files of a stream with what was said of them, file by file. After a run of the stream that was broken off, sizes may have
 * changed: then only files that are gone are known by name. Where nothing is found and the last run was not complete, the sums of its
 * report decide.
 */
export const filesAsNoted = (found: StreamFiles, { report, isComplete, left }: Noted): readonly Finding[] => {
  const script = report?.scripts[found.stream.name]
  const isTouched = script !== undefined && script.outcome !== 'disabled' && script.outcome !== 'skipped'
  const named = eachAsNoted(found, left)
  return named.length > 0 || !isTouched || isComplete ? named : sumsAsReported(found, script)
}

const eachAsNoted = ({ files, owns }: StreamFiles, left: FilesLeft): readonly Finding[] => {
  const sizes = new Map(files.map(({ file, bytes }) => [file, bytes]))
  return Object.entries(left).flatMap(([file, bytes]): Finding[] => {
    const size = sizes.get(file)
    if (!owns(file) || size === bytes || (size !== undefined && bytes === null)) return []
    if (size !== undefined) return [finding(`it holds ${size} bytes; the last run left ${bytes}`, file)]
    return [finding(bytes === null ? 'it is gone; an earlier run left it' : `it is gone; the last run left ${bytes} bytes`, file)]
  })
}

const sumsAsReported = (
  { stream, files, isPerItem }: StreamFiles,
  { files: count, bytes }: { readonly files: number; readonly bytes: number },
): readonly Finding[] => {
  const size = files.reduce((sum, file) => sum + file.bytes, 0)
  if (files.length < count) return [finding(`${files.length} files of ${stream.name} are there; the last run left ${count}`)]
  // Files that the run had no need to write are in none of its sums, so that there may be more.
  const isAll = files.length === count
  const isShort = isAll && !isPerItem ? size !== bytes : size < bytes
  if (!isShort) return []
  const [file] = files.length === 1 ? files : []
  return [
    finding(
      `${stream.name} holds ${size} bytes in ${files.length} ${isAll ? 'files' : 'files and more'}; the last run left ${bytes}`,
      file?.file,
    ),
  ]
}

const finding = (detail: string, file?: string): Finding => ({
  check: 'files',
  severity: 'error',
  ...(file === undefined ? {} : { file }),
  detail,
})
