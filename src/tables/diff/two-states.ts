import { join } from 'node:path'
import type { Stock } from '../../model/stock.js'
import { repairJson } from '../../model/text.js'
import type { Day } from '../../model/trading-day.js'
import { disk } from '../../storage/disk.js'
import { isSameFile, statFile } from '../../storage/file-system.js'
import { createOutputMatcher } from '../../storage/output-files.js'
import type { PreviousOutputs } from '../../storage/previous-outputs.js'

/** The contents of a file in two states; `before` is undefined if it did not exist. */
export interface FileVersions {
  readonly before: unknown
  readonly after: unknown
}

/** A folder in two states. */
export interface TwoStates {
  readonly before: readonly Stock[]
  readonly after: readonly Stock[]
  readonly beforeDay: Day | undefined
  /**
   * Undefined if the file does not exist now, or has no earlier state to compare with. `earlier` is its name
   * before.
   */
  readonly read: (file: string, earlier?: string) => Promise<FileVersions | undefined>
  readonly isSame: (file: string, earlier: string) => boolean
  /** What could not be compared, and why. */
  readonly notes: string[]
}

/**
 * The files of a folder, and those of before the last run. One that was no output of the last run has no
 * earlier state.
 */
export const comparePreviousFiles = (
  root: string,
  { root: earlierRoot, outputs }: PreviousOutputs,
): Pick<TwoStates, 'read' | 'isSame' | 'notes'> => {
  const isOutput = createOutputMatcher(outputs)
  const notes: string[] = []
  return {
    isSame: (file, earlier) => isSameFile(join(root, file), join(earlierRoot, earlier)),
    read: async (file, earlier = file) => {
      if (!isOutput(file)) return undefined
      return noteDamage(file, notes, () => {
        const after = readRepairedJson(join(root, file))
        return after === undefined
          ? undefined
          : { before: readRepairedJson(join(earlierRoot, earlier)), after }
      })
    },
    notes,
  }
}

/** A JSON file, its broken texts repaired; undefined without one. */
export const readRepairedJson = (path: string): unknown =>
  statFile(path) === undefined ? undefined : JSON.parse(repairJson(disk.readFileSync(path, 'utf8')))

/** The result, or undefined with a note if the file is not valid JSON. */
export const noteDamage = <T>(file: string, notes: string[], read: () => T): T | undefined => {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    notes.push(`${file} was not compared: it is not valid JSON; move it away and run again`)
    return undefined
  }
}
