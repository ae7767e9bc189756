import { hostname } from 'node:os'
import type { Log } from '../../engine/event-bus.js'
import { UsageError } from '../../model/errors.js'
import type { Settings } from '../../model/settings.js'
import { disk } from '../../storage/disk.js'
import { describeFileError } from '../../storage/file-system.js'
import type { ProcessIo } from '../dependencies.js'

/** The levels with the numbers of pino, whose viewers read these lines. */
const LEVELS = { silent: 99, error: 50, warn: 40, info: 30, debug: 20, trace: 10 } as const
export type LogLevel = keyof typeof LEVELS
export const logLevels = Object.keys(LEVELS) as LogLevel[]

const writeLines = (write: (line: string) => void, least: LogLevel, toHead: (level: keyof Log, fields: object) => object): Log => {
  const at =
    (level: keyof Log): Log[keyof Log] =>
    (fields, msg) => {
      const head = toHead(level, fields)
      if (LEVELS[level] >= LEVELS[least]) write(`${JSON.stringify({ ...head, ...fields, msg })}\n`)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export const createLog = (write: (line: string) => void, level: LogLevel, { scheduler }: Pick<ProcessIo, 'scheduler'>): Log => {
  const base = { pid: process.pid, hostname: hostname() }
  return writeLines(write, level, (one) => ({ level: LEVELS[one], time: scheduler.now(), ...base }))
}

export const combineLogs = (logs: readonly Log[]): Log => {
  const to =
    (level: keyof Log): Log[keyof Log] =>
    (fields, message) => {
      for (const log of logs) log[level](fields, message)
    }
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') }
}

/** The log file of a run, if the settings name one. It has the same level as the log on the terminal, or else `info`. */
export const openRunLog = ({ logFile }: Settings, level: LogLevel = 'silent', { wall }: Pick<ProcessIo, 'wall'>): Log | undefined =>
  logFile === undefined ? undefined : wall.guard(`the log file ${logFile}`, openLogFile(logFile, level === 'silent' ? 'info' : level))

/** How large a file becomes before it is rotated, and how many files are kept: `run.log`, `run.log.1` … `run.log.4`. */
const MAX_LOG_BYTES = 10_000_000
const MAX_FILES = 5

/**
 * Opens the log of runs in a file, to which lines are appended; a full file is renamed. Each line carries the id of the run, once it is known.
 * Synchronous: a run logs few lines, and none may be lost when the process ends.
 *
 * @throws UsageError if the file cannot be written
 */
export const openLogFile = (path: string, level: LogLevel, maxBytes = MAX_LOG_BYTES): Log => {
  try {
    disk.writeFileSync(path, '', { flag: 'a' })
  } catch (error) {
    throw new UsageError(`the log file ${path} cannot be written: ${describeFileError(error)}`)
  }
  let size = disk.statSync(path).size
  const write = (line: string): void => {
    const bytes = Buffer.byteLength(line)
    if (size > 0 && size + bytes > maxBytes) {
      rotate(path)
      size = 0
    }
    disk.writeFileSync(path, line, { flag: 'a' })
    size += bytes
  }
  let run: unknown
  return writeLines(write, level, (one, fields) => {
    if ('run' in fields) run = fields.run
    return { level: one, time: new Date().toISOString(), ...(run === undefined ? {} : { run }) }
  })
}

const rotate = (path: string): void => {
  for (let index = MAX_FILES - 1; index > 0; index--) {
    const from = index === 1 ? path : `${path}.${index - 1}`
    if (disk.existsSync(from)) disk.renameSync(from, `${path}.${index}`)
  }
}
