import { groupBy } from '../../model/map.js'
import { formatMinute } from '../../model/trading-day.js'
import type { HistoryDay, HistorySummary } from '../../tables/history/describe-history.js'
import { type AnswerLine, fitTable, type TextColumn } from '../terminal/terminal.js'
import { formatBytes, formatQuantity } from '../terminal/text.js'

/** Days or runs that are listed; `--json` has all. */
export const MOST_LISTED = 20

export const summaryLines = ({ folder, days, baseBytes }: HistorySummary): readonly AnswerLine[] => {
  const recorded = days.filter((day) => hasRecord(day) && !day.isMisdated)
  if (recorded.length === 0)
    return [`No day is recorded in ${folder} yet; the next complete run records its day.`]
  const gaps = days.filter((day) => !hasRecord(day)).length
  const bytes = days.reduce((sum, day) => sum + day.bytes, 0)
  const bases =
    baseBytes === 0 ? '' : `, and ${formatBytes(baseBytes)} of whole lists to which days add their changes`
  const sums = [
    `${formatQuantity(recorded.length, 'day')} from ${recorded[0]?.day} to ${recorded.at(-1)?.day}`,
    `${formatBytes(bytes + baseBytes)} (${formatBytes(bytes / recorded.length)} a day${bases})`,
    `${gaps === 0 ? 'no session' : formatQuantity(gaps, 'session')} without a record`,
  ]
  const shown = days.slice(-MOST_LISTED)
  return [
    ...listLast(fitTable(HISTORY_COLUMNS, shown), days.length - MOST_LISTED, 'day'),
    ...earlyLines(shown),
    '',
    `${sums.join('; ')}.`,
  ]
}

/** A table of the newest days or runs, and how many earlier ones there are. */
export const listLast = (table: AnswerLine, earlier: number, noun: string): readonly AnswerLine[] => [
  table,
  ...(earlier > 0 ? [`and ${formatQuantity(earlier, `earlier ${noun}`)} (--json has all)`] : []),
]

const earlyLines = (days: readonly HistoryDay[]): readonly string[] =>
  [...groupBy(days, ({ early }) => early.join(', '))].flatMap(
    ([lists, [{ day } = { day: '' }, ...others]]) => {
      const amount = others.length === 0 ? day : formatQuantity(others.length + 1, 'day')
      return lists === ''
        ? []
        : [`early: ${lists} of ${amount} were collected too early; query --as-of says why`]
    },
  )

const describeKnown = ({ knownAt, timing = 'final', isMisdated }: HistoryDay): string => {
  const marks = { final: '', early: ' (early)', late: ' (late)', session: ' (during the session)' }
  const mark = isMisdated ? ' (wrong clock)' : marks[timing]
  return knownAt === undefined ? '-' : `${formatMinute(Date.parse(knownAt))}${mark}`
}

const hasRecord = ({ streams, damage }: HistoryDay): boolean => streams.length > 0 || damage !== undefined

const describeLists = (day: HistoryDay): string => {
  if (day.damage !== undefined) return 'damaged'
  if (!hasRecord(day)) return 'no record'
  const { missing } = day
  if (missing.length === 0) return 'all'
  return `without ${missing.length === 1 ? missing.join('') : `the lists of ${missing.length} streams`}`
}

const HISTORY_COLUMNS: readonly TextColumn<HistoryDay>[] = [
  { title: 'day', cell: ({ day }) => day },
  {
    title: 'collected',
    drop: 1,
    cell: describeKnown,
    style: ({ timing = 'final', isMisdated }) => (timing !== 'final' || isMisdated ? 'yellow' : undefined),
  },
  { title: 'size', align: 'right', cell: (day) => (hasRecord(day) ? formatBytes(day.bytes) : '-') },
  {
    title: 'lists',
    drop: 2,
    cell: describeLists,
    style: (day) => (describeLists(day) === 'all' ? undefined : 'yellow'),
  },
]
