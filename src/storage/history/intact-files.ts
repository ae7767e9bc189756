import { DamagedFileError } from '../../model/errors.js'
import { disk } from '../disk.js'
import { ignoreMissing } from '../file-system.js'
import {
  digestOf,
  type FileFacts,
  type History,
  listRecordFiles,
  nameHistoryFile,
  toHistoryPath,
  type Warn,
} from './record.js'

/** The bytes of a file, or what is wrong with it. */
export const readIntact = (
  { root }: Pick<History, 'root'>,
  { name, digest }: FileFacts,
): Buffer | 'is missing' | 'is damaged' => {
  try {
    const bytes = disk.readFileSync(toHistoryPath(root, name))
    return digestOf(bytes) === digest ? bytes : 'is damaged'
  } catch (error) {
    return ignoreMissing(error) ?? 'is missing'
  }
}

/** What helps where no copy of a file is left. */
export const RESTORE = 'restore it from a backup, or delete its day from the history'

/** @throws DamagedFileError */
export const readVerified = (history: Pick<History, 'root'>, file: FileFacts): Buffer => {
  const found = readIntact(history, file)
  if (typeof found === 'string')
    throw new DamagedFileError(`${nameHistoryFile(file.name)} ${found}; ${RESTORE}`)
  return found
}

/** Another file that is the same. */
export const findCopy = (
  { records, deleted }: Pick<History, 'records' | 'deleted'>,
  file: FileFacts,
): FileFacts | undefined =>
  [...records, ...deleted]
    .flatMap(listRecordFiles)
    .find(({ name, digest }) => digest === file.digest && name !== file.name)

/** The name and bytes of a file, or else of its copy. @throws DamagedFileError if neither can be read */
export const findFile = (
  history: History,
  file: FileFacts,
  warn: Warn,
): { readonly name: string; readonly bytes: Buffer } => {
  const found = readIntact(history, file)
  const copy = typeof found === 'string' ? findCopy(history, file) : undefined
  if (copy === undefined)
    return { name: file.name, bytes: typeof found === 'string' ? readVerified(history, file) : found }
  const bytes = readVerified(history, copy)
  warn(
    `${nameHistoryFile(file.name)} ${String(found)}; ${nameHistoryFile(copy.name)} is the same file, and is read instead`,
  )
  return { name: copy.name, bytes }
}
