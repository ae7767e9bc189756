import { join } from 'node:path'
import { findFileFault, numberToDay, readCandleFile } from '../market/candle-file.js'
import { countDays, createDaySet, type DaySet, findMarketDay, isSessionOf } from '../market/series-days.js'
import { UsageError } from '../model/errors.js'
import type { SessionEvidence } from '../model/history.js'
import type { Settings } from '../model/settings.js'
import type { Table } from '../model/table.js'
import { type Day, isWeekday, lastWeekday, type MarketCalendar, readDay } from '../model/trading-day.js'
import { disk } from './disk.js'
import { describeFileError } from './file-system.js'
import { listOutputFiles } from './output-files.js'
import { parseRecords } from './record-file.js'

/** Series that are read to find the sessions: one alone may have gaps. */
const MAX_SERIES = 20

/**
 * The days with a session as a folder shows them, ascending: at least half of the first candle series between
 * their ends have a candle, or a deal is stored. Files that are damaged or cannot be read are left out.
 *
 * @example await readSessionDays('./data', listSessionEvidence(streams, 'NSE')) // ['1994-11-03', …]
 */
export const readSessionDays = async (
  root: string,
  { candles, trades, days: files }: SessionEvidence,
): Promise<readonly Day[]> => {
  const days = new Set(await readCandleDays(root, candles))
  for (const pattern of files)
    for (const file of await listFilesOf(root, pattern))
      days.add(readDay(file.slice(pattern.indexOf('*'))) ?? '')
  days.delete('')
  for (const { pattern, key } of trades)
    for (const file of await listFilesOf(root, pattern))
      for (const day of await readTradeDays(root, { file, key })) days.add(day)
  return [...days].sort()
}

const readCandleDays = async (root: string, patterns: readonly string[]): Promise<readonly Day[]> => {
  const counts = await countCandleDays(root, patterns)
  return [...counts.days()].filter((day) => isSessionOf(counts.on(day))).map(numberToDay)
}

const countCandleDays = async (root: string, patterns: readonly string[]) => {
  const files = (await Promise.all(patterns.map((pattern) => listFilesOf(root, pattern)))).flat()
  const series: DaySet[] = []
  for (const file of files.slice(0, MAX_SERIES)) series.push(...(await readDaySet(join(root, file))))
  return countDays(series)
}

/**
 * Reads what the candles of stocks show of weekends. The result turns a day into the session that it is
 * about: see `findMarketDay`. Reads nothing unless `days` has a weekend.
 */
export const readMarketDays = async (
  root: string,
  tables: readonly Table[],
  days: readonly (Day | undefined)[],
): Promise<(day: Day) => Day> => {
  if (days.every((day) => day === undefined || isWeekday(day))) return lastWeekday
  const ofStocks = tables.filter(({ shape, items }) => shape === 'candles' && items === 'stocks')
  const patterns = ofStocks.flatMap(({ files }) => files.map(({ path }) => path.replace(/\{\w+\}/, '*')))
  const counts = await countCandleDays(root, patterns)
  return (day) => findMarketDay(counts, day)
}

const readDaySet = (path: string): Promise<readonly DaySet[]> =>
  orNothing(async () => {
    const file = readCandleFile(await disk.readFile(path))
    const days = findFileFault(file) === undefined ? createDaySet(file.candles) : undefined
    return days === undefined ? [] : [days]
  })

const readTradeDays = (
  root: string,
  { file, key }: { readonly file: string; readonly key: string },
): Promise<readonly Day[]> =>
  orNothing(async () =>
    parseRecords(await disk.readFile(join(root, file), 'utf8'), file).flatMap(
      (record) => readDay(record[key]) ?? [],
    ),
  )

const listFilesOf = (root: string, pattern: string): Promise<readonly string[]> =>
  orNothing(() => listOutputFiles(root, pattern))

/** What cannot be read shows no session. */
const orNothing = <T>(read: () => Promise<readonly T[]>): Promise<readonly T[]> => read().catch(() => [])

/** What the settings say about sessions. @throws UsageError if the file of holidays cannot be read */
export const readCalendar = ({
  holidays,
  sessions,
}: Pick<Settings, 'holidays' | 'sessions'>): MarketCalendar => ({
  holidays: readHolidays(holidays),
  sessions,
})

/**
 * Reads a file of weekdays without a session: one `YYYY-MM-DD` a line; `#` starts a comment. Without a path,
 * there are none.
 *
 * @throws UsageError that names the file, and the line that is no day
 */
export const readHolidays = (path: string | undefined): ReadonlySet<Day> => {
  if (path === undefined) return new Set()
  const days = new Set<Day>()
  for (const [index, line] of readHolidayFile(path).split('\n').entries()) {
    const day = line.replace(/#.*/s, '').trim()
    if (day !== '' && readDay(day) !== day)
      throw usageError(
        `holidays: ${path}:${index + 1}: invalid date ${JSON.stringify(day)}; use YYYY-MM-DD, one a line`,
      )
    if (day !== '') days.add(day)
  }
  return days
}

const readHolidayFile = (path: string): string => {
  try {
    return disk.readFileSync(path, 'utf8').replace(/^\ufeff/, '')
  } catch (error) {
    throw usageError(
      `holidays: the file ${JSON.stringify(path)} cannot be read: ${describeFileError(error, 'read')}`,
    )
  }
}

const usageError = (message: string): UsageError =>
  new UsageError(message, { issues: [{ path: 'holidays', message }] })
