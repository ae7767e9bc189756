import { type LevelWithSilent, pino } from 'pino'
import type { Log } from '../../engine/event-bus.js'
import { UsageError } from '../../model/errors.js'
import { disk } from '../../storage/disk.js'
import { describeFileError } from '../../storage/file-system.js'
import type { ProcessIo } from '../dependencies.js'

/** The log on the terminal: lines as pino writes them, for its viewers. */
export const createLog = (
  write: (line: string) => void,
  level: LevelWithSilent,
  { scheduler }: Pick<ProcessIo, 'scheduler'>,
): Log => pino({ level, timestamp: () => `,"time":${scheduler.now()}` }, { write })

const toLog = (at: (level: keyof Log) => Log[keyof Log]): Log => ({
  debug: at('debug'),
  info: at('info'),
  warn: at('warn'),
  error: at('error'),
})

export const combineLogs = (logs: readonly Log[]): Log =>
  toLog((level) => (fields, message) => {
    for (const log of logs) log[level](fields, message)
  })

/** The log file of a run. It has the same level as the log on the terminal, or else `info`. */
export const openRunLog = (
  path: string,
  level: LevelWithSilent = 'silent',
  { wall }: Pick<ProcessIo, 'wall'>,
): Log => wall.guard(`the log file ${path}`, openLogFile(path, level === 'silent' ? 'info' : level))

/**
 * Opens the log of runs in a file, to which lines are appended. Each line carries the id of the run, once it
 * is known. Every line opens the file again: none is lost when the process ends, and another program may
 * rename the file at any time.
 *
 * @throws UsageError if the file cannot be written
 */
export const openLogFile = (path: string, level: LevelWithSilent): Log => {
  const write = (line: string): void => disk.writeFileSync(path, line, { flag: 'a' })
  try {
    write('')
  } catch (error) {
    throw new UsageError(`the log file ${path} cannot be written: ${describeFileError(error)}`)
  }
  let run: unknown
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => (run === undefined ? {} : { run }),
    },
    { write },
  )
  return toLog((at) => (fields, message) => {
    if ('run' in fields) run = fields.run
    logger[at](fields, message)
  })
}
