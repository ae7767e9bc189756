import { UsageError } from '../model/errors.js'
import { type Day, readDay } from '../model/trading-day.js'
import { disk } from './disk.js'
import { describeFileError } from './file-system.js'

/**
 * Reads a file of weekdays without a session: one `YYYY-MM-DD` a line; `#` starts a comment. Without a path, there are none.
 *
 * @throws UsageError that names the file, and the line that is no day
 */
export const readHolidays = (path: string | undefined): ReadonlySet<Day> => {
  if (path === undefined) return new Set()
  const lines = readText(path).split('\n')
  return new Set(
    lines
      .map((line) => line.replace(/#.*/s, '').trim())
      .flatMap((text, index) => (text === '' ? [] : [parseDay(text, `${path}:${index + 1}`)])),
  )
}

const parseDay = (text: string, place: string): Day => {
  if (readDay(text) === text) return text
  throw usageError(`holidays: ${place}: invalid date ${JSON.stringify(text)}; use YYYY-MM-DD, one a line`)
}

const readText = (path: string): string => {
  try {
    return disk.readFileSync(path, 'utf8').replace(/^\ufeff/, '')
  } catch (error) {
    throw usageError(`holidays: the file ${JSON.stringify(path)} cannot be read: ${describeFileError(error, 'read')}`)
  }
}

const usageError = (message: string): UsageError => new UsageError(message, { issues: [{ path: 'holidays', message }] })
