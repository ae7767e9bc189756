import { addDays, type Day, SESSION_END, toDay, toInstant } from '../model/trading-day.js'

/** The last weekday whose session has ended at an instant (epoch milliseconds). Ignores holidays and special sessions on weekends. */
export const findLastWeekday = (now: number): Day => {
  const today = toDay(now)
  const toWeekday = (day: Day): Day => (isWeekend(day) ? toWeekday(addDays(day, -1)) : day)
  return toWeekday(now < toInstant(today, SESSION_END) ? addDays(today, -1) : today)
}

const isWeekend = (day: Day): boolean => [0, 6].includes(new Date(day).getUTCDay())

/** A market is current if half of its series are: some stocks are suspended, and some do not trade every day. */
const CURRENT_SHARE = 0.5

/** A text if candles end before the last session, else undefined. `newest` counts series by the day of their newest candle. */
export const describeLag = (newest: ReadonlyMap<Day, number>, now: number): string | undefined => {
  const expected = findLastWeekday(now)
  const all = [...newest.values()].reduce((sum, count) => sum + count, 0)
  const behind = [...newest].reduce((sum, [day, count]) => sum + (day < expected ? count : 0), 0)
  if (all === 0 || behind <= all * CURRENT_SHARE) return undefined
  const last = [...newest.keys()].reduce((one, other) => (one > other ? one : other))
  const which = behind === all ? 'all' : `${formatThousands(behind)} of`
  return `${which} ${formatThousands(all)} series end before ${expected}, the last weekday: the newest candle is of ${last} (a holiday, or the provider is late)`
}

const formatThousands = (count: number): string => count.toLocaleString('en-US')
