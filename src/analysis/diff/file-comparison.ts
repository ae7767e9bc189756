import { join } from 'node:path'
import { repairJson } from '../../model/text.js'
import { disk } from '../../storage/disk.js'
import { isSameFile, statFile } from '../../storage/file-system.js'
import { createOutputMatcher } from '../../storage/output-files.js'
import type { PreviousOutputs } from '../../storage/previous-outputs.js'

/** A file before the last run and now. */
export interface FileVersions {
  readonly before: unknown
  readonly after: unknown
}

export interface FileComparison {
  /** Undefined if the file does not exist, or was no output of the last run. */
  readonly readVersions: (file: string, earlier?: string) => FileVersions | undefined
  /** Whether the last run did not change the file. */
  readonly isSame: (file: string, earlier: string) => boolean
}

/** Compares the files of a folder with earlier ones; notes those that cannot be read. */
export const createFileComparison = (root: string, { root: earlierRoot, outputs }: PreviousOutputs, notes: string[]): FileComparison => {
  const isOutput = createOutputMatcher(outputs)
  return {
    isSame: (file, earlier) => isSameFile(join(root, file), join(earlierRoot, earlier)),
    readVersions: (file, earlier = file) => {
      if (!isOutput(file)) return undefined
      return noteDamage(file, notes, () => {
        const after = readDocument(join(root, file))
        return after === undefined ? undefined : { before: readDocument(join(earlierRoot, earlier)), after }
      })
    },
  }
}

/** The versions of a list; notes that there is no earlier one, so that what changed in it is not known. */
export const readListVersions = (files: FileComparison, file: string, notes: string[]): FileVersions | undefined => {
  const versions = files.readVersions(file)
  if (versions !== undefined && versions.before === undefined) notes.push(`there was no ${file} before to compare with`)
  return versions
}

export const readDocument = (path: string): unknown =>
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
