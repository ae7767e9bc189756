import type { NotedRun } from '../../sinks/complete-run.js'
import type { RunReport } from '../model/report.js'
import type { Finding } from './finding.js'
import type { StreamFiles } from './outputs-in.js'

/** What the last run said of the files that it left. */
export interface Noted {
  readonly report?: Pick<RunReport, 'scripts'>
  /** The note of a complete run, which knows each file; a run that was not complete leaves the sums of its report only. */
  readonly complete?: Pick<NotedRun, 'files'>
}

/** Compares the files of a stream with what the last run said of them. */
export const filesAsNoted = (found: StreamFiles, noted: Noted): readonly Finding[] => {
  const script = noted.report?.scripts[found.stream.name]
  if (script === undefined || script.outcome === 'disabled' || script.outcome === 'skipped') return []
  return noted.complete ? eachAsNoted(found, noted.complete.files) : sumsAsReported(found, script)
}

const eachAsNoted = ({ files, owns }: StreamFiles, noted: NotedRun['files']): readonly Finding[] => {
  const sizes = new Map(files.map(({ file, bytes }) => [file, bytes]))
  return Object.entries(noted).flatMap(([file, [bytes]]): Finding[] => {
    const size = sizes.get(file)
    if (size === bytes || !owns(file)) return []
    const now = size === undefined ? 'it is gone' : `it holds ${size} bytes`
    return [finding(`${now}; the last run left ${bytes}${size === undefined ? ' bytes' : ''}`, file)]
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
