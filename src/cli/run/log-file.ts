import { defer, map, type Observable, of } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import type { Settings } from '../../model/settings.js'
import type { Log } from '../../pipeline/event-bus.js'
import { disk } from '../../storage/disk.js'
import { describeFileError } from '../../storage/file-system.js'
import type { ProcessIo } from '../dependencies.js'
import type { RunFlags } from './flags.js'

/** How large a file becomes before it is rotated, and how many files are kept: `run.log`, `run.log.1` … `run.log.4`. */
const MAX_BYTES = 10_000_000
const MAX_FILES = 5

/** The log file of a run, if the settings name one. It has the same level as the log on the terminal, or else `info`. */
export const openRunLog = (
  { logFile }: Settings,
  { logLevel }: Pick<RunFlags, 'logLevel'>,
  { wall }: Pick<ProcessIo, 'wall'>,
): Observable<Log | undefined> =>
  logFile === undefined
    ? of(undefined)
    : openLogFile(logFile, { level: logLevel === 'silent' ? 'info' : logLevel }).pipe(
        map((log) => wall.guard(`the log file ${logFile}`, log)),
      )

/** Opens the log of runs in a file. Each line carries the id of the run, once it is known. It throws where the file cannot be written. */
export const openLogFile = (
  path: string,
  { level, maxBytes = MAX_BYTES }: { readonly level: string; readonly maxBytes?: number },
): Observable<Log> =>
  defer(() => {
    const write = createRotatingWriter(path, maxBytes)
    // Loaded only if something is logged: that takes 8 ms.
    return import('pino').then(({ pino }) => {
      const options = {
        level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label: string) => ({ level: label }) },
      }
      return withRunId(pino(options, { write }))
    })
  })

/**
 * Appends lines to a file; a full file is renamed. Synchronous: a run logs few lines, and none may be lost when the process ends.
 *
 * @throws UsageError if the file cannot be written
 */
const createRotatingWriter = (path: string, maxBytes: number): ((line: string) => void) => {
  try {
    disk.writeFileSync(path, '', { flag: 'a' })
  } catch (error) {
    throw new UsageError(`the log file ${path} cannot be written: ${describeFileError(error)}`)
  }
  let size = disk.statSync(path).size
  return (line) => {
    const bytes = Buffer.byteLength(line)
    if (size > 0 && size + bytes > maxBytes) {
      rotate(path)
      size = 0
    }
    disk.writeFileSync(path, line, { flag: 'a' })
    size += bytes
  }
}

const rotate = (path: string): void => {
  for (let index = MAX_FILES - 1; index > 0; index--) {
    const from = index === 1 ? path : `${path}.${index - 1}`
    if (disk.existsSync(from)) disk.renameSync(from, `${path}.${index}`)
  }
}

/** The first event of a run has its id. */
const withRunId = (log: Log): Log => {
  let run: unknown
  const add = (fields: object): object => {
    if ('run' in fields) run = fields.run
    return run === undefined ? fields : { run, ...fields }
  }
  return {
    debug: (fields, message) => log.debug(add(fields), message),
    info: (fields, message) => log.info(add(fields), message),
    warn: (fields, message) => log.warn(add(fields), message),
    error: (fields, message) => log.error(add(fields), message),
  }
}

/** Writes to all of the given logs. */
export const combineLogs = (logs: readonly Log[]): Log => {
  const writeTo =
    (level: keyof Log): Log[keyof Log] =>
    (fields, message) => {
      for (const log of logs) log[level](fields, message)
    }
  return { debug: writeTo('debug'), info: writeTo('info'), warn: writeTo('warn'), error: writeTo('error') }
}
