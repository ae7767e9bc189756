import { join } from 'node:path'
import { REPORT_FILE, toStatePath } from '../engine/storage.js'
import type { RunReport } from '../model/report.js'
import { parseReport, parseRunLog, RUN_LOG, type RunLogEntry, toRunReport } from '../model/run-log.js'
import { readTextFile } from './file-system.js'
import { checkFolderFormat, statePaths } from './run-state.js'

export { readIsSimulated } from './run-state.js'

/** What a folder knows of its runs. */
export interface RunRecords {
  /** The last run; taken from the log of runs while its report is damaged. Undefined before the first. */
  readonly report: RunReport | undefined
  /** Oldest first, without what is damaged. */
  readonly runs: readonly RunLogEntry[]
  /** The damaged files, a sentence each. */
  readonly damage: readonly string[]
}

/**
 * Reads the report of the last run and the log of all runs.
 *
 * @throws UsageError if a newer version wrote the folder
 * @throws StorageError if a file cannot be read
 */
export const readRunRecords = async (root: string): Promise<RunRecords> => {
  await checkFolderFormat(root)
  const { report: path, folder } = statePaths(root)
  const [text, logText = ''] = [await readTextFile(path), await readTextFile(join(folder, RUN_LOG))]
  const { runs, badLines } = parseRunLog(logText)
  const report = text === undefined ? undefined : parseReport(text)
  const isDamaged = text !== undefined && report === undefined
  const last = runs.at(-1)
  const damage: string[] = []
  const instead = last ? 'the last run is that of the log of runs' : 'the log of runs has no run either'
  if (isDamaged) damage.push(`${REPORT_FILE} is damaged; ${instead}; the next run replaces it`)
  const lines = `${badLines.length === 1 ? 'line' : 'lines'} ${badLines.join(', ')}`
  if (badLines.length > 0)
    damage.push(`${toStatePath(RUN_LOG)} is damaged; left out: ${lines}, which can be deleted`)
  return { runs, report: isDamaged && last ? toRunReport(last) : report, damage }
}
